"""Planning of a pool whose pods the cluster's own queue and scheduler place."""

from __future__ import annotations

from determined_master.domain.schedule.jobs import active_slots
from determined_master.domain.schedule.kubernetes import split
from determined_master.domain.schedule.ordering import queue_key
from determined_master.domain.schedule.plan import (
    HandedOver,
    Impossible,
    OverLimit,
    Plan,
    Start,
    Wait,
)
from determined_master.domain.schedule.view import PoolView, RequestView

MAX_WAITING = 200
"""Pods of one pool that wait in the cluster's own queue at a time."""


def hand_over(view: PoolView) -> Plan:
    """Grant the requests of a pool in the order of its queue.

    The planner knows no nodes here: every request that can be split into pods is granted in the
    order of the queue, and its pods wait in the cluster. A job's own limit holds. So does a bound
    on waiting pods, because each of them is an object of the API server, and because the order of
    pods that were handed over cannot be changed here any more.

    A request that must wait holds back those after it, unless its job's limit is the reason. A
    larger one than the bound starts when no other pod waits.

    Cost: O(n log n) in requests.
    """
    queue = _ClusterQueue(view)
    waits: list[Wait] = []
    for request in sorted(view.pending, key=lambda r: queue_key(r, view.rules)):
        wait = queue.add(request)
        if wait is not None:
            waits.append(wait)
    return Plan(tuple(queue.starts), (), tuple(waits))


class _ClusterQueue:
    def __init__(self, view: PoolView) -> None:
        self.starts: list[Start] = []
        self._rules = view.rules
        self._active = active_slots(view.running)
        self._waiting = sum(len(r.slots_by_agent) for r in view.running if r.is_waiting)
        """Pods in the cluster's queue."""
        self._is_full = False

    def add(self, request: RequestView) -> Wait | None:
        """Grant a request; returns why not."""
        most, is_single_node = self._rules.max_slots_per_pod, request.is_single_node
        pods = split(request.slots, most, is_single_node=is_single_node)
        if pods is None:
            return Impossible(request.allocation_id)
        if self._is_over_limit(request):
            return OverLimit(request.allocation_id)
        self._is_full |= self._waiting > 0 and self._waiting + len(pods) > MAX_WAITING
        if self._is_full:
            return HandedOver(request.allocation_id)
        self._waiting += len(pods)
        self._active[request.job_id] += request.slots
        placement = tuple((self._rules.queue, tuple(range(slots))) for slots in pods)
        self.starts.append(Start(request.allocation_id, placement))
        return None

    def _is_over_limit(self, request: RequestView) -> bool:
        if request.max_slots is None or not request.slots:
            return False
        return self._active[request.job_id] + request.slots > request.max_slots

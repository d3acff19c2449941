"""The nodes that a growing cluster of Kubernetes is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from determined_master.domain.pods.placement import shortage
from determined_master.domain.pods.quantities import Amounts, total
from determined_master.domain.schedule.kubernetes import as_agents, node_of, split
from determined_master.domain.schedule.placing.pods_view import PodsView, with_slots
from determined_master.domain.schedule.plan import (
    Behind,
    Draining,
    Full,
    Impossible,
    LacksResources,
    OverShare,
    Plan,
    Start,
    Wait,
)
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView

ASKED_AFTER = timedelta(seconds=10)
"""A request waits this long before nodes are asked for: slots often become free at once."""
ROOM_HELPS = Full, Draining, Behind, OverShare, Impossible, LacksResources
"""Waits that more nodes could end. Slots that are reserved (`Leaving`) need none; a quota and a
job's own limit stay."""


class PodDemand(msgspec.Struct, frozen=True):
    """The pods of one request that waits for nodes."""

    allocation_id: str
    slots: tuple[int, ...]
    """Of each pod."""
    housed: int = 0
    """How many of its pods have room on the nodes that exist; the request waits for the others."""


def unmet_demand(
    view: PoolView, plan: Plan, most_pods: int, given: PodsView | None = None
) -> tuple[PodDemand, ...]:
    """The requests for which nodes are asked, in the order of the queue.

    A task gets all of its pods or none, as it would start. Free room counts once: for the first
    requests of the queue that can use it.

    Args:
        view: a pool.
        plan: the decision on it.
        most_pods: of all requests together.
        given: the pods of the requests, and the use of the nodes; None for a pool without a
            request.
    """
    if given is None:
        return ()
    requests = {r.allocation_id: r for r in view.pending}
    asking: dict[str, tuple[int, ...]] = {}
    left = most_pods
    for wait in plan.waits:
        slots = _pods_to_ask(wait, requests, view)
        if slots is not None and len(slots) <= left:
            left -= len(slots)
            asking[wait.allocation_id] = slots
    if not asking:
        return ()
    pending = tuple(requests[allocation_id] for allocation_id in asking)
    room = _Room(view.with_pending(pending), plan.starts, given)
    return tuple(PodDemand(id, slots, room.take(id, slots)) for id, slots in asking.items())


def _pods_to_ask(
    wait: Wait, requests: Mapping[str, RequestView], view: PoolView
) -> tuple[int, ...] | None:
    """The slots of each pod of a request that waits for nodes for long enough."""
    request = requests.get(wait.allocation_id)
    if request is None or not isinstance(wait, ROOM_HELPS):
        return None
    if view.now - request.requested_at < ASKED_AFTER:
        return None
    most = view.rules.max_slots_per_pod
    return split(request.slots, most, is_single_node=request.is_single_node)


class _Room:
    """Free slots and resources of the nodes of a pool after a plan's starts."""

    def __init__(self, view: PoolView, starts: Iterable[Start], given: PodsView) -> None:
        self._given = given
        self._used: dict[str, Amounts] = {}
        """Resources that waiting requests take, by node."""
        cut = as_agents(replace(_without_started(view, starts), running=()))
        self._excluded = {r.allocation_id: r.excluded_agents for r in cut.pending}
        self._slots = {a.id: len(a.free_slots) for a in cut.agents if _has_room(a)}
        self._places = {
            a.id: a.max_zero_slot_tasks - a.zero_slot_tasks for a in cut.agents if _has_room(a)
        }
        started = [(given.pods.get(s.allocation_id), s) for s in starts]
        for pods, start in started:
            if pods is not None:
                for agent_id, numbers in start.placement:
                    self._use(agent_id, with_slots(pods.needs, len(numbers), given.loads))

    def take(self, allocation_id: str, slots: tuple[int, ...]) -> int:
        """Take the room for as many pods of a request as have some; returns their number.

        Cost: O(free nodes).
        """
        pods = self._given.pods.get(allocation_id)
        if pods is None:
            return 0
        size, count = slots[0], 0
        amounts = with_slots(pods.needs, size, self._given.loads)
        room = self._slots if size else self._places
        for agent_id in room:
            if agent_id in self._excluded[allocation_id]:
                continue
            while (
                count < len(slots)
                and room[agent_id] >= (size or 1)
                and self._holds(node_of(agent_id), amounts)
            ):
                room[agent_id] -= size or 1
                self._use(node_of(agent_id), amounts)
                count += 1
        return count

    def _holds(self, node: str, amounts: Amounts) -> bool:
        load = self._given.loads.nodes.get(node)
        if load is None:
            return False
        used = [load.foreign, self._given.used().get(node, {}), self._used.get(node, {})]
        return shortage(amounts, load.facts, total(used)) is None

    def _use(self, node: str, amounts: Amounts) -> None:
        self._used[node] = total([self._used.get(node, {}), amounts])


def _has_room(agent: AgentView) -> bool:
    return agent.is_accepting and bool(
        agent.free_slots or agent.zero_slot_tasks < agent.max_zero_slot_tasks
    )


def _without_started(view: PoolView, starts: Iterable[Start]) -> PoolView:
    """The view after these starts."""
    taken: dict[str, set[int]] = {}
    without: dict[str, int] = {}
    for start in starts:
        for agent_id, numbers in start.placement:
            taken.setdefault(agent_id, set()).update(numbers)
            without[agent_id] = without.get(agent_id, 0) + (not numbers)
    if not taken:
        return view
    return replace(
        view,
        agents=tuple(
            replace(
                a,
                free_slots=tuple(n for n in a.free_slots if n not in taken[a.id]),
                zero_slot_tasks=a.zero_slot_tasks + without[a.id],
            )
            if a.id in taken
            else a
            for a in view.agents
        ),
    )

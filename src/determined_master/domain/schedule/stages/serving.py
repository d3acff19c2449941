"""Serves the turns of a queue: each request fits, or others are preempted or agents reserved.

Slots freed by preemption are reserved for the request that caused it, so no lower-priority request
takes them: otherwise the same task could be started and preempted again and again. A job can
preempt only jobs behind it in the queue, so two jobs never preempt each other in turn. An aged
request that started before equal ones ahead of it is not preempted for them.

Source: scheduling-and-provisioning b.3, b.4.
"""

from __future__ import annotations

from determined_master.domain.schedule.capacity import ALWAYS
from determined_master.domain.schedule.fitting import Demand
from determined_master.domain.schedule.jobs import active_slots
from determined_master.domain.schedule.plan import (
    Behind,
    Draining,
    Full,
    Impossible,
    Leaving,
    OverLimit,
    OverShare,
    Preempt,
    Wait,
)
from determined_master.domain.schedule.seats import SlotCounts
from determined_master.domain.schedule.stages.planning import PREEMPTED, Planning, Turn, agents_of
from determined_master.domain.schedule.stages.victims import Victims
from determined_master.domain.schedule.view import RequestView, RunningView


def serve(planning: Planning) -> Planning:
    """Decide about each request of each turn, in order.

    Cost: O(log agents) a start, O(1) a request like one that did not fit.
    """
    if planning.turns:
        _Server(planning).serve_all()
    return planning


class _Server:
    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._capacity = planning.capacity
        self._waits = planning.waits
        self._victims = Victims(planning) if planning.preempts else None
        self._active = active_slots(planning.view.running) if planning.has_priorities else None
        """Slots of each job's tasks; None where jobs have shares in place of limits."""
        self._ahead = ""
        """The first waiting request of the turns before; empty if none holds this turn back."""
        self._unservable: set[Demand] = set()
        """Demands for which neither a reservation nor preemption makes room."""

    def serve_all(self) -> None:
        overdue, served = self._planning.overdue, ""
        if overdue is not None and self._serve_overdue(overdue):
            served = overdue.allocation_id
        for turn in self._planning.turns:
            self._preempt_first(turn)
            if turn.slots is not None:
                self._serve_share(turn, turn.slots, served)
            elif self._ahead and self._victims is None:
                # Most requests of a long queue can only wait and are not examined one by one.
                self._waits += [Behind(r.allocation_id, self._ahead) for r in turn.requests]
            else:
                self._serve_turn(turn)

    def _preempt_first(self, turn: Turn) -> None:
        for one in turn.preempted:
            self._planning.preemptions.append(Preempt(one.allocation_id, PREEMPTED))
            self._capacity.add_preempted(one)

    def _serve_overdue(self, request: RequestView) -> bool:
        """Start, or reserve or drain agents for, the request that its share does not serve."""
        demand = Demand.of(request)
        parts = self._capacity.fit(demand, request.allocation_id)
        if parts is not None:
            self._planning.start(request, parts, is_long_awaited=True)
            return True
        wait = self._reserve(request, demand) or self._drain(request, demand)
        if wait is not None:
            self._waits.append(wait)
        return wait is not None

    def _serve_share(self, turn: Turn, left: int, served: str) -> None:
        """Start the requests of a turn until its slots are used; nothing is reserved for them."""
        requests = [r for r in turn.requests if r.allocation_id != served]
        if left < turn.smallest:  # the common case
            self._waits += [OverShare(r.allocation_id) for r in requests]
            return
        for request in requests:
            if request.slots > left:
                self._waits.append(OverShare(request.allocation_id))
                continue
            parts = self._capacity.fit(Demand.of(request), request.allocation_id)
            if parts is None:
                self._waits.append(Full(request.allocation_id))
                continue
            self._planning.start(request, parts)
            left -= request.slots

    def _serve_turn(self, turn: Turn) -> None:
        """Serve each request; those that get nothing hold back the turns after this one."""
        first = self._ahead
        for request in self._capacity.unsettled(turn.requests, self._waits):
            if self._holds_back(request, turn):
                first = first or request.allocation_id
        self._ahead = first

    def _holds_back(self, request: RequestView, turn: Turn) -> bool:
        """Serve one request; whether lower-priority ones must wait because it got nothing."""
        returning = self._planning.returning.get(request.allocation_id)
        if returning is not None:
            return self._keep_place(returning, request)
        if self._is_over_limit(request):
            self._waits.append(OverLimit(request.allocation_id))
            return False
        if self._capacity.is_settled(request):
            self._waits.append(Full(request.allocation_id))
            return True
        demand = Demand.of(request)
        parts = self._capacity.fit(demand, request.allocation_id)
        if parts is not None:
            self._use(parts, request, is_aged=request.allocation_id in turn.is_aged)
            return False
        wait = self._make_room(request, demand)
        self._waits.append(wait)
        return not isinstance(wait, Impossible)

    def _use(self, parts: SlotCounts, request: RequestView, *, is_aged: bool) -> None:
        """Start it, or reserve the places where it could not be preempted for those ahead."""
        if self._ahead and not request.is_preemptible:
            self._capacity.reserve(parts)
            self._waits.append(Behind(request.allocation_id, self._ahead))
        else:
            is_backfill = bool(self._ahead)
            self._planning.start(request, parts, is_backfill=is_backfill, is_long_awaited=is_aged)
        self._count(request)

    def _keep_place(self, one: RunningView, request: RequestView) -> bool:
        """Reserve slots for a task that will ask again; returns the same as `_holds_back`.

        Its job's limit counts it until it has exited.
        """
        if one.is_gone and self._is_over_limit(request):
            return False
        # Its own slots where nobody else waits for them: the place stays the same from plan to
        # plan, whatever starts elsewhere.
        demand = Demand.of(request)
        parts: SlotCounts | None = self._capacity.held(one)
        if not parts or not self._capacity.can_reserve(parts):
            parts = self._capacity.fit_later(demand, request.allocation_id)
        if parts is None:
            return self._capacity.could_hold(demand)
        self._capacity.reserve(parts)
        if one.is_gone:
            self._count(request)
        return False

    def _make_room(self, request: RequestView, demand: Demand) -> Wait:
        """Preempt or reserve for a request that does not fit now; returns why it waits.

        A request that these agents cannot hold at all waits for other agents.
        """
        if not self._capacity.could_hold(demand):
            return Impossible(request.allocation_id)
        is_starving = self._planning.is_starving(request)
        wait: Wait | None = None
        if self._victims is not None or is_starving:
            wait = self._reserve(request, demand) or self._preempt(request, demand)
        if wait is None and is_starving:
            wait = self._drain(request, demand)
        return wait or self._settle(request, demand)

    def _reserve(self, request: RequestView, demand: Demand) -> Wait | None:
        """Reserve places that are free, or become free when the exiting tasks have left."""
        if demand in self._unservable:
            return None
        parts = self._capacity.fit_later(demand, request.allocation_id)
        return None if parts is None else self._reserved(request, parts)

    def _preempt(self, request: RequestView, demand: Demand) -> Wait | None:
        """Preempt tasks of jobs behind it, and reserve their places for it."""
        if demand in self._unservable:
            return None
        parts: SlotCounts | None = None
        if self._victims is not None:
            if self._victims.has_served_enough:
                # No other task exits in this pass, so reservable slots only decrease.
                self._capacity.settle(demand)
                return Full(request.allocation_id)
            parts = self._victims.make_room(request, demand)
        if parts is None:
            self._unservable.add(demand)
            return None
        return self._reserved(request, parts)

    def _reserved(self, request: RequestView, parts: SlotCounts) -> Wait:
        self._capacity.reserve(parts)
        self._count(request)
        return Leaving(request.allocation_id, agents_of(parts))

    def _drain(self, request: RequestView, demand: Demand) -> Wait | None:
        """Reserve agents on which nothing new starts until they can hold it."""
        parts = self._capacity.drain_for(demand, request.allocation_id)
        if parts is None:
            return None
        self._count(request)
        return Draining(request.allocation_id, agents_of(parts))

    def _settle(self, request: RequestView, demand: Demand) -> Wait:
        """Let it wait, and with it all equal requests that have not starved."""
        # A single slot never starves, see `is_starving`.
        can_only_wait = demand.slots <= 1 or self._capacity.is_undrainable(demand)
        self._capacity.settle(demand, ALWAYS if can_only_wait else self._planning.starving_at)
        return Full(request.allocation_id)

    def _is_over_limit(self, request: RequestView) -> bool:
        if self._active is None or request.max_slots is None:
            return False
        return self._active[request.job_id] + request.slots > request.max_slots

    def _count(self, request: RequestView) -> None:
        """Count slots that a request has, or that are reserved for it, towards its job's limit.

        Without the reserved ones, each request of the job would preempt others, and only some of
        them could start.
        """
        if self._active is not None and request.max_slots is not None:
            self._active[request.job_id] += request.slots

"""Priority scheduling: higher-priority requests go first, and may preempt others.

Requests are served in the order of their priorities, then of their positions. A request that
cannot start lets others of its own priority pass, but not lower-priority ones: these start only
where preemption is on and they can be preempted (backfill).

Slots freed by preemption are reserved for the request that caused it, so no lower-priority request
takes them: otherwise the same task could be started and preempted again and again. A job can
preempt only jobs behind it in the queue, so two jobs never preempt each other in turn. An aged
request that started before equal ones ahead of it is not preempted for them.

A preempted task that will ask for slots again keeps its place in the queue, and slots that it
could use then are reserved for it. Otherwise a request behind it would start on them, and would be
preempted as soon as the task asks. Nobody is preempted for it before it asks.

Source: scheduling-and-provisioning b.3, b.4.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from determined_master.domain.schedule.capacity import SlotCounts, SlotKind
from determined_master.domain.schedule.fitting import Demand, demand_of, fit
from determined_master.domain.schedule.ordering import moved_ahead, queue_key
from determined_master.domain.schedule.plan import Plan, Wait
from determined_master.domain.schedule.planning_pass import PlanningPass
from determined_master.domain.schedule.victims import Victims
from determined_master.domain.schedule.view import DemandKey, PoolView, RequestView, RunningView


def plan(view: PoolView) -> Plan:
    """Decide which requests start where, which tasks are preempted, and why the others wait.

    Tasks with and without slots are two queues that neither hold back nor preempt each other.

    Cost: O(n log n) in requests, O(log agents) a start, O(1) a request like one that did not fit.
    """
    requests = [r for r in view.pending if r.slots > 0]
    has_aux = len(requests) < len(view.pending)
    slots = _served(view, requests, "slots")
    aux = _served(view, [r for r in view.pending if r.slots < 1] if has_aux else [], "aux")
    return Plan(
        starts=(*slots.starts, *aux.starts),
        preemptions=(*slots.preemptions, *aux.preemptions),
        waits=(*slots.waits, *aux.waits),
    )


def _served(view: PoolView, requests: Sequence[RequestView], kind: SlotKind) -> Plan:
    """The decisions on the requests of one kind; cheap when none of it waits."""
    if not requests:
        return Plan()
    queue = _Queue(view, kind)
    queue.serve(requests)
    planning, waits = queue.planning, queue.planning.waits
    if queue.returning:
        waits = [w for w in waits if w.allocation_id not in queue.returning]
    return Plan(tuple(planning.starts), tuple(planning.preemptions), tuple(waits))


_terms_of = attrgetter("slots", "is_single_node", "excluded_agents", "max_slots")
_Terms = tuple[int, bool, frozenset[str], int | None]


class _Queue:
    def __init__(self, view: PoolView, kind: SlotKind) -> None:
        self.planning = PlanningPass(view, kind)
        self._preempts = view.rules.preemption
        self._active = _active_slots(view)
        self._victims = Victims(self.planning) if self._preempts else None
        self._unservable: set[Demand] = set()
        self._settled: dict[DemandKey, bool] = {}
        """Demands that cannot start or reserve anything in this pass, with the decision: False
        where agents may be drained for a request that has waited too long."""
        self._early: set[str] = set()
        """Requests that were moved ahead of others of their priority."""
        self.returning = _returning(view, kind) if self._preempts else {}
        """The preempted tasks that will ask again."""

    def serve(self, requests: Iterable[RequestView]) -> None:
        """Serve all in order, one priority after the other."""
        ordered = requests if self.planning.view.is_sorted else sorted(requests, key=queue_key)
        if self.returning:
            ordered = list(ordered)
            for one in self.returning.values():
                insort(ordered, one.next_request(self.planning.view.now), key=queue_key)
        waits_from = ""
        """The waiting requests of the highest priority that has any."""
        for _, equals in groupby(ordered, key=attrgetter("priority")):
            members = list(equals)
            kinds = set(map(_terms_of, members))
            members = self._in_order(members, {Demand(*kind[:3]) for kind in kinds})
            # Most requests of a long queue can only wait and are not examined one by one.
            if waits_from and not self._preempts:
                waits = [Wait(r.allocation_id, "behind", waits_from) for r in members]
                self.planning.waits += waits
            elif self._all_can_only_wait(kinds):
                self.planning.waits += [Wait(r.allocation_id, "full") for r in members]
                waits_from = waits_from or members[0].allocation_id
            else:
                waits_from = self._serve_equals(members, waits_from)

    def _serve_equals(self, members: Sequence[RequestView], ahead: str) -> str:
        """Serve all of one priority; returns the first that waits, else `ahead`."""
        waits, first = self.planning.waits, ahead
        settled, starving_at = self._settled, self.planning.starving_at
        for request in members:
            # The check of `_is_settled`, without a call for each request of a long queue.
            is_for_all = settled.get(demand_of(request))
            if request.max_slots is None and (
                is_for_all or (is_for_all is False and request.requested_at > starving_at)
            ):
                waits.append(Wait(request.allocation_id, "full"))
                first = first or request.allocation_id
                continue
            is_served, is_blocking = self._serve(request, ahead)
            if not is_served and is_blocking:
                first = first or request.allocation_id
        return first

    def _all_can_only_wait(self, kinds: Iterable[_Terms]) -> bool:
        """Whether none of these demands can get anything in this pass, starving or not."""
        settled = self._settled
        return all(
            limit is None and settled.get((slots, is_single_node, excluded))
            for slots, is_single_node, excluded, limit in kinds
        )

    def _is_settled(self, request: RequestView) -> bool:
        """Whether an equal request has shown that it can only wait."""
        is_for_all = self._settled.get(demand_of(request))
        return is_for_all or (is_for_all is False and not self.planning.is_starving(request))

    def _in_order(
        self, members: list[RequestView], demands: Iterable[Demand]
    ) -> list[RequestView]:
        """Requests of one priority, with starving ones moved ahead of those that came later.

        A search that was submitted earlier may request trials for days. They are ahead of a
        waiting gang in the queue, and would pass it forever. A request that these agents could
        never hold comes last, so that it does not change the order of the others.
        """
        at = self.planning.starving_at
        # The check of `is_starving`, without a call for each request of a long queue.
        waiting = [r for r in members if r.slots > 1 and r.requested_at <= at]
        if not waiting:
            return members
        unservable = {d for d in demands if not self.planning.is_possible(d)}
        if not unservable:
            return self._drawn(members, waiting)
        never = [r for r in members if demand_of(r) in unservable]
        members = [r for r in members if demand_of(r) not in unservable]
        waiting = [r for r in waiting if demand_of(r) not in unservable]
        return self._drawn(members, waiting) + never

    def _drawn(self, members: list[RequestView], waiting: list[RequestView]) -> list[RequestView]:
        order, early = moved_ahead(members, waiting)
        self._early |= early
        return order

    def _serve(self, request: RequestView, ahead: str) -> tuple[bool, bool]:
        """Whether it was served, and whether less urgent ones must wait because it was not.

        Args:
            request: the next one.
            ahead: a waiting request of higher priority; empty if none waits.
        """
        planning = self.planning
        if request.allocation_id in self.returning:
            return self._keep_for(self.returning[request.allocation_id], request)
        if request.max_slots is not None and self._is_over_limit(request):
            planning.wait(request, "limit")
            return False, False
        if self._is_settled(request):
            planning.wait(request, "full")
            return False, True
        demand = Demand.of(request)
        parts = planning.fit(request, demand)
        if parts is None:
            return False, self._wait(request, demand)
        if ahead and not request.is_preemptible:
            planning.capacity.reserve(parts)
            self._count(request)
            planning.wait(request, "behind", ahead)
            return False, False
        is_early = request.allocation_id in self._early
        planning.start(request, parts, is_backfill=bool(ahead), is_long_awaited=is_early)
        self._count(request)
        return True, False

    def _keep_for(self, one: RunningView, request: RequestView) -> tuple[bool, bool]:
        """Reserve slots for a task that will ask again; returns the same as `_serve`.

        Its job's limit counts it until it has exited.
        """
        if one.is_gone and request.max_slots is not None and self._is_over_limit(request):
            return False, False
        demand = Demand.of(request)
        capacity = self.planning.capacity
        # Its own slots where nobody else waits for them: the place stays the same from plan to
        # plan, whatever starts elsewhere.
        parts: SlotCounts | None = capacity.held(one)
        if not parts or any(
            a not in capacity.seats or capacity.seats[a].reservable < n for a, n in parts
        ):
            parts = fit(demand, request.allocation_id, capacity, is_reservation=True)
        if parts is None:
            return False, self.planning.is_possible(demand)
        capacity.reserve(parts)
        if one.is_gone:
            self._count(request)
        return True, False

    def _wait(self, request: RequestView, demand: Demand) -> bool:
        """Let it wait, with a reservation where that helps; return whether it holds others back.

        A request that these agents cannot hold at all waits for other agents, and holds back
        nobody.
        """
        planning = self.planning
        if not planning.is_possible(demand):
            planning.wait(request, "impossible")
            return False
        is_starving = planning.is_starving(request)
        if (self._preempts or is_starving) and demand not in self._unservable:
            parts = fit(demand, request.allocation_id, planning.capacity, is_reservation=True)
            if parts is None and self._victims is not None:
                if self._victims.has_served_enough:
                    # No other task exits in this pass, so reservable slots only decrease.
                    self._settled[demand] = True
                    planning.wait(request, "full")
                    return True
                parts = self._victims.make_room(request, demand)
            if parts is not None:
                planning.capacity.reserve(parts)
                self._count(request)
                planning.wait(request, "leaving", agents=parts)
                return True
            self._unservable.add(demand)
        kept = planning.drain_for(request, demand) if is_starving else None
        if kept is not None:
            self._count(request)
            planning.wait(request, "kept", agents=kept)
            return True
        if not self._preempts or demand in self._unservable:
            # A single slot never starves, see `is_starving`.
            self._settled[demand] = demand.slots <= 1 or planning.is_undrainable(demand)
        planning.wait(request, "full")
        return True

    def _count(self, request: RequestView) -> None:
        """Count slots that a request has, or that are reserved for it, towards its job's limit.

        Without the reserved ones, each request of the job would preempt others, and only some of
        them could start.
        """
        if request.max_slots is not None:
            self._active[request.job_id] = self._active.get(request.job_id, 0) + request.slots

    def _is_over_limit(self, request: RequestView) -> bool:
        assert request.max_slots is not None
        return self._active.get(request.job_id, 0) + request.slots > request.max_slots


def _returning(view: PoolView, kind: SlotKind) -> dict[str, RunningView]:
    """The tasks of that kind that were preempted and will ask again, by allocation."""
    has_slots = kind == "slots"
    return {
        r.allocation_id: r for r in view.running if r.is_returning and (r.slots > 0) is has_slots
    }


def _active_slots(view: PoolView) -> dict[str, int]:
    active: dict[str, int] = {}
    for one in view.running:
        if not one.is_gone:
            active[one.job_id] = active.get(one.job_id, 0) + one.slots
    return active

"""Which tasks to preempt for a higher-priority request.

Source: scheduling-and-provisioning b.4. In addition, candidates that turn out not to be needed are
spared.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from itertools import islice

from determined_master.domain.schedule.capacity import Capacity
from determined_master.domain.schedule.fitting import Demand, whole_sizes
from determined_master.domain.schedule.ordering import Position, Rank, rank
from determined_master.domain.schedule.plan import Preempt
from determined_master.domain.schedule.seats import SlotCounts
from determined_master.domain.schedule.stages.planning import PREEMPTED, Planning
from determined_master.domain.schedule.view import RequestView, RunningView

_BEFORE_ALL = Decimal("-Infinity")
MAX_SERVED = 32
"""Requests that preempt others in one pass; the next pass serves the rest."""


class Victims:
    """The tasks that could be preempted in one pass."""

    def __init__(self, planning: Planning) -> None:
        self._preemptions = planning.preemptions
        self._capacity = planning.capacity
        able = [
            r
            for r in planning.view.running
            if r.is_preemptible and not (r.is_leaving or r.is_gone) and self._capacity.held(r)
        ]
        self._left = sorted(able, key=_urgency)
        """The most urgent first."""
        self._first = 0
        """Those before it have the priority of the request: they no longer count as reservable."""
        self._preempted: set[str] = set()
        """Tasks that are preempted already."""
        self._served = 0
        for one in able:
            self._capacity.add_preemptible(one)

    @property
    def has_served_enough(self) -> bool:
        """Whether the requests left out now have to wait for the next pass."""
        return self._served >= MAX_SERVED

    def make_room(self, request: RequestView, demand: Demand) -> SlotCounts | None:
        """Preempt as few as needed, the lowest priority first; returns where it then fits.

        Only jobs behind the request's are preempted, and none if all of them together are not
        enough.

        Cost: O(n) in the candidates.
        """
        self._skip(rank(request))
        if not self._capacity.could_fit_after_preemption(demand):
            return None
        useful = self._fewest(demand)
        for one in useful:
            self._capacity.add_preempted(one)
        parts = self._capacity.fit_later(demand, request.allocation_id)
        if parts is None:
            raise AssertionError(f"{request.allocation_id} should fit when they have left")
        self._served += 1
        for one in reversed(useful):  # the most urgent candidate is spared first
            self._capacity.add_preempted(one, -1)
            if not self._capacity.can_reserve(parts):
                self._capacity.add_preempted(one)
                self._preempted.add(one.allocation_id)
                self._capacity.add_preemptible(one, -1)
                preempt = Preempt(one.allocation_id, PREEMPTED, request.job_id)
                self._preemptions.append(preempt)
        return parts

    def _fewest(self, demand: Demand) -> list[RunningView]:
        """The tasks with useful slots in the shortest sufficient run of the lowest priorities.

        The least urgent comes first.
        """
        gathered, held_by = _Gathered(demand, self._capacity), self._capacity.held
        asked: list[tuple[RunningView, SlotCounts]] = []
        for one in islice(reversed(self._left), len(self._left) - self._first):
            if one.allocation_id in self._preempted:
                continue
            held = held_by(one)
            asked.append((one, held))
            if gathered.is_enough_with(held):
                break
        useful = gathered.useful_agents()
        return [one for one, held in asked if any(agent_id in useful for agent_id, _ in held)]

    def _skip(self, ahead: Rank) -> None:
        """Leave out tasks that are not behind, for all later requests too: these come in order.

        An aged request that is served early leaves out a few too many tasks for the requests of
        its priority that follow it.
        """
        while self._first < len(self._left) and _place(self._left[self._first]) <= ahead:
            one = self._left[self._first]
            if one.allocation_id not in self._preempted:
                self._capacity.add_preemptible(one, -1)
            self._first += 1


class _Gathered:
    """Reservable places of agents as tasks are preempted in turn, until a request fits."""

    def __init__(self, demand: Demand, capacity: Capacity) -> None:
        """Begin with each agent's reservable places, which are not enough."""
        self._demand = demand
        self._enough, self._may_spread = demand.places, demand.may_spread
        self._capacity = capacity
        self._places: dict[str, int] = {}
        """Of agents to which places were freed."""
        self._whole = (
            capacity.reservable.whole(demand.excluded_agents) if demand.may_spread else {}
        )
        """Idle agents of each size."""

    def is_enough_with(self, held: SlotCounts) -> bool:
        """Whether the request would fit after these places are freed too. Cost: O(its agents)."""
        seats, places, excluded = self._capacity.seats, self._places, self._demand.excluded_agents
        is_enough = is_new_whole = False
        for agent_id, count in held:
            seat = seats.get(agent_id)
            if seat is None:
                continue
            now = places[agent_id] = places.get(agent_id, seat.reservable) + count
            if agent_id in excluded:
                continue
            is_enough |= now >= self._enough
            if self._may_spread and 0 < now == seat.total:
                self._whole[now] = self._whole.get(now, 0) + 1
                is_new_whole = True
        if is_enough or not is_new_whole:
            return is_enough
        is_heterogeneous = self._capacity.rules.is_heterogeneous
        return whole_sizes(self._demand.slots, self._whole, is_heterogeneous) is not None

    def useful_agents(self) -> set[str]:
        """The agents whose freed places make room for the request, or for a part of it."""
        seats = self._capacity.seats
        return {
            agent_id
            for agent_id, now in self._places.items()
            if now >= self._enough or (self._may_spread and now == seats[agent_id].total)
        }


def _urgency(one: RunningView) -> tuple[int, Position, datetime, str]:
    """The order of running tasks, the most urgent first."""
    return *_place(one), one.started_at, one.allocation_id


def _place(one: RunningView) -> Rank:
    """Its place among the tasks that may be preempted for it.

    An aged request started before equal ones that are ahead of it in the queue. By its job's place
    they would preempt it at once, and the next request of its job would start the same way.
    """
    return (one.priority, _BEFORE_ALL) if one.is_long_awaited else rank(one)

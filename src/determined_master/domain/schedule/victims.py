"""Which tasks to preempt for a higher-priority request.

Source: scheduling-and-provisioning b.4. In addition, candidates that turn out not to be needed are
spared.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from itertools import islice

from determined_master.domain.schedule.capacity import SlotCounts
from determined_master.domain.schedule.fitting import Demand, Gathered, could_fit, fit
from determined_master.domain.schedule.ordering import Position, Rank, rank
from determined_master.domain.schedule.plan import Preempt
from determined_master.domain.schedule.planning_pass import PREEMPTED, PlanningPass
from determined_master.domain.schedule.view import RequestView, RunningView

_BEFORE_ALL = Decimal("-Infinity")
MAX_SERVED = 32
"""Most requests that preempt others in one pass; the next pass serves the rest."""


class Victims:
    """The tasks that could be preempted in one pass."""

    def __init__(self, line: PlanningPass) -> None:
        self._line = line
        self._capacity = line.capacity
        able = [
            r
            for r in line.view.running
            if r.is_preemptible and not (r.is_leaving or r.is_gone) and line.capacity.held(r)
        ]
        self._left = sorted(able, key=_urgency)
        """The most urgent first."""
        self._first = 0
        """Those before it have the priority of the request: they no longer count as reservable."""
        self._taken: set[str] = set()
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
        if not could_fit(
            demand,
            self._capacity.preemptible,
            is_heterogeneous=self._capacity.rules.is_heterogeneous,
        ):
            return None
        useful = self._fewest(demand)
        for one in useful:
            self._capacity.add_preempted(one)
        parts = fit(demand, request.allocation_id, self._capacity, is_reservation=True)
        if parts is None:
            raise AssertionError(f"{request.allocation_id} should fit when they have left")
        self._served += 1
        wanted = dict(parts)
        for one in reversed(useful):  # the most urgent candidate is spared first
            self._capacity.add_preempted(one, -1)
            if any(self._capacity.seats[a].reservable < n for a, n in wanted.items()):
                self._capacity.add_preempted(one)
                self._taken.add(one.allocation_id)
                self._capacity.add_preemptible(one, -1)
                self._line.preemptions.append(
                    Preempt(one.allocation_id, PREEMPTED, request.job_id)
                )
        return parts

    def _fewest(self, demand: Demand) -> list[RunningView]:
        """The tasks with useful slots in the shortest sufficient run of the lowest priorities.

        The least urgent comes first.
        """
        gathered, held_by = Gathered(demand, self._capacity), self._capacity.held
        asked: list[tuple[RunningView, SlotCounts]] = []
        for one in islice(reversed(self._left), len(self._left) - self._first):
            if one.allocation_id in self._taken:
                continue
            held = held_by(one)
            asked.append((one, held))
            if gathered.is_enough_with(held):
                break
        useful = gathered.useful_agents()
        return [one for one, held in asked if any(agent_id in useful for agent_id, _ in held)]

    def _skip(self, ahead: Rank) -> None:
        """Leave out tasks that are not behind; for good, because requests come in their order.

        An aged request that is served early leaves out a few too many tasks for the requests of
        its priority that follow it.
        """
        while self._first < len(self._left) and _place(self._left[self._first]) <= ahead:
            one = self._left[self._first]
            if one.allocation_id not in self._taken:
                self._capacity.add_preemptible(one, -1)
            self._first += 1


def _urgency(one: RunningView) -> tuple[int, Position, datetime, str]:
    """The order of running tasks, the most urgent first."""
    return *_place(one), one.started_at, one.allocation_id


def _place(one: RunningView) -> Rank:
    """Its place among the tasks that may be preempted for it.

    An aged request started before equal ones that are ahead of it in the queue. By its job's place
    they would preempt it at once, and the next request of its job would start the same way.
    """
    return (one.priority, _BEFORE_ALL) if one.is_long_awaited else rank(one)

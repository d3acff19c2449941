"""Shared by both schedulers: one pass over the requests of one kind on one pool."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from determined_master.domain.schedule.capacity import Capacity, SlotCounts, SlotKind, drained
from determined_master.domain.schedule.fitting import Demand, could_hold, fit, fit_drained
from determined_master.domain.schedule.plan import Preempt, Start, Wait, WaitCode
from determined_master.domain.schedule.view import PoolView, RequestView

MAX_DRAINED_FOR = 16
"""Most requests that agents are drained for at a time: the first in the queue."""
PREEMPTED = "preempted by the scheduler"


class PlanningPass:
    """One pass: the capacity, and the decisions so far."""

    def __init__(self, view: PoolView, kind: SlotKind) -> None:
        self.view = view
        self.kind = kind
        self.capacity = Capacity(view.agents, view.running, view.rules, kind)
        self.starts: list[Start] = []
        self.preemptions: list[Preempt] = []
        self.waits: list[Wait] = []
        self.starving_at = view.now - timedelta(seconds=view.rules.gang_patience_s)
        self._drained: Capacity | None = None
        self._sizes: Counter[int] | None = None
        self._possible: dict[Demand, bool] = {}
        self._full: set[Demand] = set()
        self._drained_for = 0
        self._undrainable: set[Demand] = set()

    def fit(self, request: RequestView, demand: Demand) -> SlotCounts | None:
        """Where it can start now; a full agent stays full, because a pass only uses up slots."""
        if demand in self._full:
            return None
        parts = fit(demand, request.allocation_id, self.capacity)
        if parts is None:
            self._full.add(demand)
        return parts

    def start(
        self,
        request: RequestView,
        parts: SlotCounts,
        *,
        is_backfill: bool = False,
        is_long_awaited: bool = False,
    ) -> None:
        placement = self.capacity.take(parts)
        self.starts.append(Start(request.allocation_id, placement, is_backfill, is_long_awaited))

    def wait(
        self, request: RequestView, code: WaitCode, behind: str = "", agents: SlotCounts = ()
    ) -> None:
        names = tuple(sorted(agent_id for agent_id, _ in agents)) if agents else ()
        self.waits.append(Wait(request.allocation_id, code, behind, names))

    def is_possible(self, demand: Demand) -> bool:
        """Whether these agents would hold it if they were empty."""
        known = self._possible.get(demand)
        if known is None:
            known = self._possible[demand] = self._would_fit(demand)
        return known

    def _would_fit(self, demand: Demand) -> bool:
        rules = self.view.rules
        if not demand.excluded_agents:
            if self._sizes is None:
                totals = (seat.total for seat in self.capacity.seats.values())
                self._sizes = Counter(total for total in totals if total > 0)
            return could_hold(demand, self._sizes, is_heterogeneous=rules.is_heterogeneous)
        if self._drained is None:
            self._drained = drained(self.view.agents, rules, self.kind)
        return fit(demand, "", self._drained) is not None

    def is_starving(self, request: RequestView) -> bool:
        """Whether it has waited so long that others may not pass it any more.

        Only a request for several slots can be passed: a single free slot goes to the first
        request that can use it.
        """
        return request.slots > 1 and request.requested_at <= self.starving_at

    @property
    def can_drain(self) -> bool:
        """Whether agents may be drained for one more request."""
        return self._drained_for < MAX_DRAINED_FOR

    def is_undrainable(self, demand: Demand) -> bool:
        """Whether all agents that could be drained for it are reserved for others already."""
        return not self.can_drain or demand in self._undrainable

    def drain_for(self, request: RequestView, demand: Demand) -> SlotCounts | None:
        """Reserve agents for a request until they can hold it; None when enough are drained."""
        if not self.can_drain or demand in self._undrainable:
            return None
        parts = fit_drained(demand, request.allocation_id, self.capacity)
        if parts is None or not self._is_new_reservation(parts):
            self._undrainable.add(demand)
            return None
        self._drained_for += 1
        self.capacity.reserve(parts)
        return parts

    def _is_new_reservation(self, parts: SlotCounts) -> bool:
        """Whether none of these agents is reserved for others as a whole already."""
        return all(
            self.capacity.seats[a].total + self.capacity.seats[a].reservable >= n for a, n in parts
        )

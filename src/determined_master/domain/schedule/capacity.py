"""Capacity of a pool during one plan: what fits now, what fits later, and what can only wait.

A plan starts requests, preempts tasks, and reserves the slots that these free for requests ahead
in the queue. The capacity remembers which demands got nothing, so that thousands of equal
requests cost one answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter

from msgspec.structs import replace

from determined_master.domain.schedule import fitting
from determined_master.domain.schedule.fitting import Demand, demand_of
from determined_master.domain.schedule.plan import Full, Wait
from determined_master.domain.schedule.seats import (
    AgentCapacity,
    CapacityIndex,
    SlotCounts,
    SlotKind,
    seat_of,
)
from determined_master.domain.schedule.view import (
    AgentView,
    DemandKey,
    RequestView,
    Rules,
    RunningView,
)

MAX_DRAINED_FOR = 16
"""Requests that agents are drained for at a time: the first in the queue."""
ALWAYS = datetime.min.replace(tzinfo=UTC)


class Capacity:
    """The agents of one pool that accept work, as one kind of places: slots, or aux places."""

    def __init__(
        self,
        agents: Sequence[AgentView],
        running: Sequence[RunningView],
        rules: Rules,
        kind: SlotKind,
    ) -> None:
        self.kind = kind
        if kind == "aux" and rules.spreads_aux:
            rules = replace(rules, fitting="worst")
        self.rules = rules
        self._agents = agents
        self._shut = {(a.id, holder): count for a in agents for holder, count in a.shut}
        leaving = self._leaving(running)
        seats = [seat_of(a, kind, rules, leaving[a.id]) for a in agents if a.is_accepting]
        seats.sort(key=attrgetter("member"))
        self.seats = {seat.id: seat for seat in seats}
        self.now = CapacityIndex(self.seats.values(), "open")
        self._reservable: CapacityIndex | None = None
        self._preemptible: CapacityIndex | None = None
        self._empty: Capacity | None = None
        self._sizes: Counter[int] | None = None
        self._possible: dict[Demand, bool] = {}
        self._full: set[Demand] = set()
        self._undrainable: set[Demand] = set()
        self._drained_for = 0
        self._settled: dict[DemandKey, datetime] = {}
        """Demands that got nothing: their requests that were made after this only wait."""

    @property
    def reservable(self) -> CapacityIndex:
        """Agents by reservable places; built on the first use."""
        if self._reservable is None:
            self._reservable = CapacityIndex(self.seats.values(), "reservable")
        return self._reservable

    @property
    def preemptible(self) -> CapacityIndex:
        """Agents by places that are reservable after every possible preemption."""
        if self._preemptible is None:
            self._preemptible = CapacityIndex(self.seats.values(), "preemptible")
        return self._preemptible

    def fit(self, demand: Demand, allocation_id: str) -> SlotCounts | None:
        """Where it can start now; a full agent stays full, because a plan only uses up slots."""
        if demand in self._full:
            return None
        parts = fitting.fit(demand, allocation_id, self.now, self.rules)
        if parts is None:
            self._full.add(demand)
        return parts

    def fit_later(self, demand: Demand, allocation_id: str) -> SlotCounts | None:
        """Where it can start when the exiting tasks have left."""
        return fitting.fit(demand, allocation_id, self.reservable, self.rules)

    def could_hold(self, demand: Demand) -> bool:
        """Whether these agents would hold it if they were empty."""
        answer = self._possible.get(demand)
        if answer is None:
            answer = self._possible[demand] = self._could_hold(demand)
        return answer

    def could_fit_after_preemption(self, demand: Demand) -> bool:
        """Whether it would fit if every task that can be preempted were."""
        return fitting.could_fit(demand, self.preemptible, self.rules)

    def drain_for(self, demand: Demand, allocation_id: str) -> SlotCounts | None:
        """Reserve agents for a request until they can hold it; None when enough are drained."""
        if self.is_undrainable(demand):
            return None
        parts = fitting.fit_drained(demand, allocation_id, self.reservable, self.seats)
        if parts is None or not self._is_new_reservation(parts):
            self._undrainable.add(demand)
            return None
        self._drained_for += 1
        self.reserve(parts)
        return parts

    def is_undrainable(self, demand: Demand) -> bool:
        """Whether all agents that could be drained for it are reserved for others already."""
        return self._drained_for >= MAX_DRAINED_FOR or demand in self._undrainable

    def settle(self, demand: Demand, since: datetime = ALWAYS) -> None:
        """Note that requests of this demand that were made after `since` can only wait."""
        self._settled[demand] = since

    def is_settled(self, request: RequestView) -> bool:
        """Whether an equal request has shown that it can only wait."""
        since = self._settled.get(demand_of(request))
        return since is not None and request.requested_at > since

    def unsettled(
        self, requests: Iterable[RequestView], waits: list[Wait]
    ) -> Iterator[RequestView]:
        """The requests that may get something; the others are added to the waits.

        Most requests of a long queue can only wait, so this spares a call for each of them. A
        job's own limit comes before the capacity: a request with one is always returned.
        """
        settled = self._settled
        for request in requests:
            since = settled.get(demand_of(request))
            if since is None or request.requested_at <= since or request.max_slots is not None:
                yield request
            else:
                waits.append(Full(request.allocation_id))

    def add_preemptible(self, one: RunningView, sign: int = 1) -> None:
        """Count a task among those that can be preempted; remove it with sign -1."""
        for agent_id, places in self.held(one):
            seat = self.seats.get(agent_id)
            if seat is not None:
                seat.held += sign * places
                if self._preemptible is not None:
                    self._preemptible.moved(seat)

    def held(self, one: RunningView) -> SlotCounts:
        """The places of this kind that a running allocation would free, by agent."""
        if self.kind == "slots":
            held = one.slots_by_agent if one.slots else ()
            return self._without_shut(one.allocation_id, held) if self._shut else held
        return tuple((agent_id, 1) for agent_id, slots in one.slots_by_agent if not slots)

    def can_reserve(self, parts: SlotCounts) -> bool:
        """Whether exactly these places can be reserved."""
        seats = self.seats
        return all(agent_id in seats and seats[agent_id].reservable >= n for agent_id, n in parts)

    def take(self, parts: SlotCounts) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Use places now; return the numbers of the slots by agent id."""
        placement = []
        for agent_id, places in sorted(parts):
            seat = self.seats[agent_id]
            numbers = tuple(seat.free[:places])
            del seat.free[:places]
            seat.reservable -= places
            self._moved(seat)
            placement.append((agent_id, numbers if self.kind == "slots" else ()))
        return tuple(placement)

    def reserve(self, parts: SlotCounts) -> None:
        """Reserve places; those in use are reserved for the time when they are free."""
        for agent_id, places in parts:
            seat = self.seats[agent_id]
            seat.reservable -= places
            self._moved(seat)

    def add_preempted(self, one: RunningView, sign: int = 1) -> None:
        """Count the places of a preempted task as reservable; undo it with sign -1."""
        for agent_id, places in self.held(one):
            seat = self.seats.get(agent_id)
            if seat is not None:
                seat.reservable += sign * places
                self._moved(seat)

    def _leaving(self, running: Iterable[RunningView]) -> Counter[str]:
        """Places of exiting tasks, by agent."""
        leaving: Counter[str] = Counter()
        for one in running:
            if one.is_leaving and not one.is_gone:
                for agent_id, places in self.held(one):
                    leaving[agent_id] += places
        return leaving

    def _could_hold(self, demand: Demand) -> bool:
        if not demand.excluded_agents:
            if self._sizes is None:
                totals = (seat.total for seat in self.seats.values())
                self._sizes = Counter(total for total in totals if total > 0)
            return fitting.could_hold(demand, self._sizes, self.rules)
        if self._empty is None:
            self._empty = drained(self._agents, self.rules, self.kind)
        return self._empty.fit(demand, "") is not None

    def _is_new_reservation(self, parts: SlotCounts) -> bool:
        """Whether none of these agents is reserved for others as a whole already."""
        return all(self.seats[a].total + self.seats[a].reservable >= n for a, n in parts)

    def _without_shut(self, allocation_id: str, held: SlotCounts) -> SlotCounts:
        left = ((a, n - self._shut.get((a, allocation_id), 0)) for a, n in held)
        return tuple((agent_id, places) for agent_id, places in left if places > 0)

    def _moved(self, seat: AgentCapacity) -> None:
        self.now.moved(seat)
        if self._reservable is not None:
            self._reservable.moved(seat)
        if self._preemptible is not None:
            self._preemptible.moved(seat)


def drained(agents: Sequence[AgentView], rules: Rules, kind: SlotKind) -> Capacity:
    """The capacity if nothing ran on these agents."""
    idle = [
        AgentView(
            id=a.id,
            slots=a.slots,
            free_slots=tuple(range(a.slots)),
            max_zero_slot_tasks=a.max_zero_slot_tasks,
        )
        for a in agents
        if a.is_accepting
    ]
    return Capacity(idle, (), rules, kind)

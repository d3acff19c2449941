"""Capacity of a pool's agents: free slots, slots that become free, and reservations, in one pass.

A pass starts requests, preempts tasks, and reserves the slots that these free for requests ahead
in the queue. For each agent, `free` counts the slots that can be used now, and `soon` those that
can be reserved: the free slots and those of exiting tasks, less existing reservations. Reserved
slots cannot be used now, so at most the smaller of the two is open.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Literal

import msgspec
from msgspec.structs import replace

from determined_master.domain.schedule.hash_ring import HashRing, member_of
from determined_master.domain.schedule.view import AgentView, Rules, RunningView

SlotKind = Literal["slots", "aux"]
Measure = Literal["open", "reservable", "preemptible"]
"""Which of an agent's places count: usable now, reservable, or reservable after preemption of
every task that can be preempted."""
SlotCounts = tuple[tuple[str, int], ...]
"""The numbers of slots on agents that together satisfy a demand."""
CapacityGroup = tuple[int, int, float | None]
"""Open places, all places, and the score when places do not decide it: equal agents share one.

For reservable places, the first is negative where reservations exceed the places that become free.
"""


class AgentCapacity(msgspec.Struct, gc=False):
    """The places of one agent during a pass."""

    id: str
    member: tuple[int, str]
    """Its hash and its id, for hash rings."""
    total: int
    free: list[int]
    """Numbers of the free slots, ascending; for tasks without slots only their count matters."""
    reservable: int
    """Places that can be reserved. Using more of the free ones would break a reservation."""
    fixed: float | None
    """A score that does not depend on its places."""
    held: int = 0
    """Slots of preemptible tasks."""


class CapacityIndex:
    """Agents by number of places: finds the best for a request in O(log agents)."""

    def __init__(self, seats: Iterable[AgentCapacity], measure: Measure) -> None:
        """
        Args:
            seats: in the order of their hashes.
            measure: which of their places count.
        """
        self._measure = measure
        self.groups: dict[CapacityGroup, HashRing] = {}
        self._of: dict[str, CapacityGroup] = {}
        group_of, groups = self._group, self.groups
        for seat in seats:
            group = self._of[seat.id] = group_of(seat)
            if group in groups:
                groups[group].append(seat.member)
            else:
                groups[group] = [seat.member]

    def count(self, group: CapacityGroup, excluded: frozenset[str] = frozenset()) -> int:
        """How many agents a group has, excluded ones not counted."""
        ring = self.groups[group]
        return len(ring) - sum(self._of.get(agent_id) == group for agent_id in excluded)

    def whole(self, excluded: frozenset[str] = frozenset()) -> dict[int, int]:
        """The number of agents without any use, by their number of places."""
        sizes: dict[int, int] = {}
        for group in self.groups:
            places, total, _ = group
            if 0 < places == total:
                sizes[total] = sizes.get(total, 0) + self.count(group, excluded)
        return sizes

    def moved(self, seat: AgentCapacity) -> None:
        """Update the index after a change of a seat."""
        before, after = self._of[seat.id], self._group(seat)
        if before == after:
            return
        ring = self.groups[before]
        del ring[bisect_left(ring, seat.member)]
        if not ring:
            del self.groups[before]
        insort(self.groups.setdefault(after, []), seat.member)
        self._of[seat.id] = after

    def _group(self, seat: AgentCapacity) -> CapacityGroup:
        reservable = seat.reservable
        if self._measure == "open":
            free = len(seat.free)
            places = max(0, free if free < reservable else reservable)
        else:
            places = reservable + seat.held if self._measure == "preemptible" else reservable
        return places, seat.total, seat.fixed


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
        self._shut = {(a.id, holder): count for a in agents for holder, count in a.shut}
        leaving: dict[str, int] = {}
        for one in running:
            if one.is_leaving and not one.is_gone:
                for agent_id, places in self.held(one):
                    leaving[agent_id] = leaving.get(agent_id, 0) + places
        seats = [_seat(a, kind, rules, leaving.get(a.id, 0)) for a in agents if a.is_accepting]
        seats.sort(key=attrgetter("member"))
        self.seats = {seat.id: seat for seat in seats}
        self.now = CapacityIndex(self.seats.values(), "open")
        self._reservable: CapacityIndex | None = None
        self._preemptible: CapacityIndex | None = None

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

    def take(self, parts: SlotCounts) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Use places now; return the numbers of the slots by agent id."""
        taken = []
        for agent_id, places in sorted(parts):
            seat = self.seats[agent_id]
            numbers = tuple(seat.free[:places])
            del seat.free[:places]
            seat.reservable -= places
            self._moved(seat)
            taken.append((agent_id, numbers if self.kind == "slots" else ()))
        return tuple(taken)

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


def _seat(agent: AgentView, kind: SlotKind, rules: Rules, leaving: int) -> AgentCapacity:
    member = member_of(agent.id)
    if kind == "slots":
        free = sorted(agent.free_slots)
        return AgentCapacity(agent.id, member, agent.slots, free, len(free) + leaving, None)
    total = agent.max_zero_slot_tasks
    places = max(0, total - agent.zero_slot_tasks)
    fixed = None
    if not rules.spreads_aux and (len(agent.free_slots) < agent.slots or agent.shut):
        # Its slots decide, so that agents with idle slots stay idle.
        fixed = score(len(agent.free_slots), agent.slots, rules)
    return AgentCapacity(agent.id, member, total, list(range(places)), places + leaving, fixed)


def score(free: int, total: int, rules: Rules) -> float:
    """The score of an agent for a request that it can hold; higher is better."""
    if rules.fitting == "best":
        return 1.0 / (1 + free)
    return free / total if total else 0.0

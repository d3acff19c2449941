"""The seats of a pool's agents, indexed by the number of places.

For each agent, `free` counts the places that can be used now, and `reservable` those that can be
reserved: the free ones and those of exiting tasks, less existing reservations. Reserved places
cannot be used now, so at most the smaller of the two is open.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Literal

import msgspec

from determined_master.domain.schedule.hash_ring import HashRing, member_of
from determined_master.domain.schedule.view import AgentView, Rules

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


def seat_of(agent: AgentView, kind: SlotKind, rules: Rules, leaving: int) -> AgentCapacity:
    """An agent's places of one kind; those of exiting tasks (`leaving`) can be reserved."""
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

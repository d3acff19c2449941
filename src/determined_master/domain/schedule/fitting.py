"""Which agents hold a request: a gang is placed all or nothing.

Source: scheduling-and-provisioning b.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

from determined_master.domain.schedule.capacity import (
    Capacity,
    CapacityGroup,
    CapacityIndex,
    SlotCounts,
    score,
)
from determined_master.domain.schedule.hash_ring import distance, hash_of, nearest
from determined_master.domain.schedule.view import RequestView


class Demand(NamedTuple):
    """The properties of a request that decide where it fits: equal demands fit the same agents."""

    slots: int
    is_single_node: bool
    excluded_agents: frozenset[str]

    @classmethod
    def of(cls, request: RequestView) -> Demand:
        return cls(request.slots, request.is_single_node, request.excluded_agents)

    @property
    def places(self) -> int:
        """How many places of its kind it takes: a task without slots takes one aux place."""
        return self.slots or 1

    @property
    def may_spread(self) -> bool:
        """Whether it may use several agents."""
        return self.slots > 1 and not self.is_single_node


demand_of = attrgetter("slots", "is_single_node", "excluded_agents")
"""A key that equals a request's Demand, at a fraction of the cost."""


def fit(
    demand: Demand, allocation_id: str, capacity: Capacity, *, is_reservation: bool = False
) -> SlotCounts | None:
    """Choose agents for one request.

    A request that one agent can hold gets the best one: with `best` the agent that it fills most,
    which keeps large holes large; with `worst` the emptiest agent. A larger request gets whole
    idle agents of a single size, the largest first, since ranks of unequal width wait for each
    other at every all-reduce. It gets agents of several sizes only where the pool allows it.

    Args:
        demand: of the request.
        allocation_id: decides between equally good agents.
        capacity: of the demand's kind.
        is_reservation: use reservable places instead of open ones.

    Returns:
        Places on each agent; None when nothing fits.

    Cost: O(log agents), when few agents are excluded.
    """
    index = capacity.reservable if is_reservation else capacity.now
    hashed: int | None = None
    for tied in _by_score(index, demand.places, capacity):
        hashed = hash_of(allocation_id) if hashed is None else hashed
        chosen = _nearest_of(index, tied, hashed, demand.excluded_agents)
        if chosen is not None:
            return ((chosen, demand.places),)
    if not demand.may_spread:
        return None
    return _fit_whole(demand, allocation_id, index, capacity.rules.is_heterogeneous)


def fit_drained(demand: Demand, allocation_id: str, capacity: Capacity) -> SlotCounts | None:
    """Choose the agents that would hold a request soonest if nothing new started on them.

    The agents with the fewest slots in use or reserved, because these free up first; None if not
    even idle agents would hold it. The choice moves only to agents with less in use, so a request
    that waits for them is served once their tasks end.
    """
    index = capacity.reservable
    hashed = hash_of(allocation_id)
    # Sorted by reservable slots, most first: for each size of agents, the slots that they lack in
    # total.
    by_size: dict[int, list[CapacityGroup]] = {}
    for group in sorted(index.groups, key=lambda g: (-g[0], -g[1])):
        by_size.setdefault(group[1], []).append(group)
    best: tuple[int, SlotCounts] | None = None
    for size in sorted((s for s in by_size if s), reverse=True):
        if size >= demand.places:
            count, each = 1, demand.places
        else:
            count, rest = divmod(demand.slots, size)
            each = size
            if rest or not demand.may_spread:
                continue
        members = _first_of(index, by_size[size], hashed, demand.excluded_agents)
        chosen = list(islice(members, count))
        if len(chosen) < count:
            continue
        missing = sum(max(0, each - capacity.seats[a].reservable) for a in chosen)
        if best is None or missing < best[0]:
            best = missing, tuple((a, each) for a in chosen)
    return best[1] if best else None


def could_fit(demand: Demand, index: CapacityIndex, *, is_heterogeneous: bool) -> bool:
    """Whether the request would fit into the slots by which agents are indexed.

    Cost: O(groups), and O(1) for each excluded agent.
    """
    wanted, excluded = demand.places, demand.excluded_agents
    if any(g[0] >= wanted and index.count(g, excluded) for g in index.groups):
        return True
    if not demand.may_spread:
        return False
    return _whole_sizes(demand.slots, index.whole(excluded), is_heterogeneous) is not None


class Gathered:
    """Reservable places of agents as tasks are preempted in turn, until a request fits."""

    def __init__(self, demand: Demand, capacity: Capacity) -> None:
        """Begin with each agent's reservable places, which are not enough."""
        self._demand = demand
        self._wanted, self._may_spread = demand.places, demand.may_spread
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
            is_enough |= now >= self._wanted
            if self._may_spread and 0 < now == seat.total:
                self._whole[now] = self._whole.get(now, 0) + 1
                is_new_whole = True
        if is_enough or not is_new_whole:
            return is_enough
        is_heterogeneous = self._capacity.rules.is_heterogeneous
        return _whole_sizes(self._demand.slots, self._whole, is_heterogeneous) is not None

    def useful_agents(self) -> set[str]:
        """The agents whose freed places make room for the request, or for a part of it."""
        seats = self._capacity.seats
        return {
            agent_id
            for agent_id, now in self._places.items()
            if now >= self._wanted or (self._may_spread and now == seats[agent_id].total)
        }


def could_hold(demand: Demand, sizes: dict[int, int], *, is_heterogeneous: bool) -> bool:
    """Whether idle agents would hold the request; `sizes` counts agents of each size above 0.

    The agents are unknown, so this does not hold for a demand that excludes some.
    """
    if any(size >= demand.places for size in sizes):
        return True
    if not demand.may_spread:
        return False
    return _whole_sizes(demand.slots, sizes, is_heterogeneous) is not None


def _first_of(
    index: CapacityIndex, groups: list[CapacityGroup], hashed: int, excluded: frozenset[str]
) -> Iterator[str]:
    """Agents of these groups in order; within a group by distance on the ring."""
    for group in groups:
        for _, agent_id in nearest(index.groups[group], hashed):
            if agent_id not in excluded:
                yield agent_id


def _by_score(
    index: CapacityIndex, places: int, capacity: Capacity
) -> Iterator[list[CapacityGroup]]:
    """Groups of agents that can hold so many places, merged by score, best first."""
    able = [
        (group[2] if group[2] is not None else score(group[0], group[1], capacity.rules), group)
        for group in index.groups
        if group[0] >= places
    ]
    able.sort(key=lambda item: -item[0])
    for _, tied in groupby(able, key=lambda item: item[0]):
        yield [group for _, group in tied]


def _nearest_of(
    index: CapacityIndex, groups: list[CapacityGroup], hashed: int, excluded: frozenset[str]
) -> str | None:
    found = [
        next((m for m in nearest(index.groups[g], hashed) if m[1] not in excluded), None)
        for g in groups
    ]
    members = [m for m in found if m is not None]
    if not members:
        return None
    return min(members, key=lambda m: (distance(hashed, m[0]), m[1]))[1]


def _fit_whole(
    demand: Demand, allocation_id: str, index: CapacityIndex, is_heterogeneous: bool
) -> SlotCounts | None:
    excluded = demand.excluded_agents
    idle = {g[0]: ring for g, ring in index.groups.items() if 0 < g[0] == g[1]}
    wanted = _whole_sizes(demand.slots, index.whole(excluded), is_heterogeneous)
    if wanted is None:
        return None
    hashed = hash_of(allocation_id)
    parts: list[tuple[str, int]] = []
    for size, count in wanted.items():
        members = (m for m in nearest(idle[size], hashed) if m[1] not in excluded)
        parts += [(m[1], size) for m in islice(members, count)]
    return tuple(parts)


def _whole_sizes(
    slots: int, sizes: dict[int, int], is_heterogeneous: bool
) -> dict[int, int] | None:
    largest_first = sorted((s for s in sizes if sizes[s] > 0), reverse=True)
    for size in largest_first:
        if slots % size == 0 and sizes[size] * size >= slots:
            return {size: slots // size}
    if not is_heterogeneous:
        return None
    wanted: dict[int, int] = {}
    for size in largest_first:
        count = min(slots // size, sizes[size])
        if count:
            wanted[size] = count
            slots -= count * size
    return wanted if slots == 0 else None

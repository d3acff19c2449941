"""Which agents hold a request: a gang is placed all or nothing.

Source: scheduling-and-provisioning b.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

from determined_master.domain.schedule.hash_ring import distance, hash_of, nearest
from determined_master.domain.schedule.seats import (
    AgentCapacity,
    CapacityGroup,
    CapacityIndex,
    SlotCounts,
    score,
)
from determined_master.domain.schedule.view import RequestView, Rules


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
    demand: Demand, allocation_id: str, index: CapacityIndex, rules: Rules
) -> SlotCounts | None:
    """Choose agents for one request.

    A request that one agent can hold gets the best one: with `best` the agent that it fills most,
    which keeps large holes large; with `worst` the emptiest agent. A larger request gets whole
    idle agents of a single size, the largest first, since ranks of unequal width wait for each
    other at every all-reduce. It gets agents of several sizes only where the pool allows it.

    Args:
        demand: of the request.
        allocation_id: decides between equally good agents.
        index: the agents by places of the demand's kind, open or reservable.
        rules: of the pool.

    Returns:
        Places on each agent; None when nothing fits.

    Cost: O(log agents), when few agents are excluded.
    """
    hashed: int | None = None
    for tied in _by_score(index, demand.places, rules):
        hashed = hash_of(allocation_id) if hashed is None else hashed
        agent_id = _nearest_of(index, tied, hashed, demand.excluded_agents)
        if agent_id is not None:
            return ((agent_id, demand.places),)
    if not demand.may_spread:
        return None
    return _fit_whole(demand, allocation_id, index, rules.is_heterogeneous)


def fit_drained(
    demand: Demand, allocation_id: str, index: CapacityIndex, seats: Mapping[str, AgentCapacity]
) -> SlotCounts | None:
    """Choose the agents that would hold a request soonest if nothing new started on them.

    The agents with the fewest slots in use or reserved, because these free up first; None if not
    even idle agents would hold it. The choice moves only to agents with less in use, so a request
    that waits for them is served once their tasks end.

    Args:
        demand: of the request.
        allocation_id: decides between equally good agents.
        index: the agents by reservable places.
        seats: of these agents.
    """
    hashed = hash_of(allocation_id)
    by_size = _groups_by_size(index)
    best: tuple[int, SlotCounts] | None = None
    for size in sorted(by_size, reverse=True):
        count, each = _equal_parts(demand, size)
        members = _first_of(index, by_size[size], hashed, demand.excluded_agents)
        agents = list(islice(members, count))
        if not count or len(agents) < count:
            continue
        missing = sum(max(0, each - seats[a].reservable) for a in agents)
        if best is None or missing < best[0]:
            best = missing, tuple((a, each) for a in agents)
    return best[1] if best else None


def could_fit(demand: Demand, index: CapacityIndex, rules: Rules) -> bool:
    """Whether the request would fit into the slots by which agents are indexed.

    Cost: O(groups), and O(1) for each excluded agent.
    """
    places, excluded = demand.places, demand.excluded_agents
    if any(g[0] >= places and index.count(g, excluded) for g in index.groups):
        return True
    if not demand.may_spread:
        return False
    sizes = index.whole(excluded)
    return whole_sizes(demand.slots, sizes, rules.is_heterogeneous) is not None


def could_hold(demand: Demand, sizes: Mapping[int, int], rules: Rules) -> bool:
    """Whether idle agents would hold the request; `sizes` counts agents of each size above 0.

    The agents are unknown, so this does not hold for a demand that excludes some.
    """
    if any(size >= demand.places for size in sizes):
        return True
    if not demand.may_spread:
        return False
    return whole_sizes(demand.slots, sizes, rules.is_heterogeneous) is not None


def _groups_by_size(index: CapacityIndex) -> dict[int, list[CapacityGroup]]:
    """For each size of agents above 0 their groups, the one with the most places first."""
    by_size: dict[int, list[CapacityGroup]] = {}
    for group in sorted(index.groups, key=lambda g: (-g[0], -g[1])):
        if group[1]:
            by_size.setdefault(group[1], []).append(group)
    return by_size


def _equal_parts(demand: Demand, size: int) -> tuple[int, int]:
    """How many agents of one size hold the demand, and the places on each; 0 for none."""
    if size >= demand.places:
        return 1, demand.places
    count, rest = divmod(demand.slots, size)
    return (0, 0) if rest or not demand.may_spread else (count, size)


def _first_of(
    index: CapacityIndex, groups: list[CapacityGroup], hashed: int, excluded: frozenset[str]
) -> Iterator[str]:
    """Agents of these groups in order; within a group by distance on the ring."""
    for group in groups:
        for _, agent_id in nearest(index.groups[group], hashed):
            if agent_id not in excluded:
                yield agent_id


def _by_score(index: CapacityIndex, places: int, rules: Rules) -> Iterator[list[CapacityGroup]]:
    """Groups of agents that can hold so many places, merged by score, best first."""
    able = [
        (group[2] if group[2] is not None else score(group[0], group[1], rules), group)
        for group in index.groups
        if group[0] >= places
    ]
    able.sort(key=lambda item: -item[0])
    for _, tied in groupby(able, key=lambda item: item[0]):
        yield [group for _, group in tied]


def _nearest_of(
    index: CapacityIndex, groups: list[CapacityGroup], hashed: int, excluded: frozenset[str]
) -> str | None:
    firsts = [
        next((m for m in nearest(index.groups[g], hashed) if m[1] not in excluded), None)
        for g in groups
    ]
    members = [m for m in firsts if m is not None]
    if not members:
        return None
    return min(members, key=lambda m: (distance(hashed, m[0]), m[1]))[1]


def _fit_whole(
    demand: Demand, allocation_id: str, index: CapacityIndex, is_heterogeneous: bool
) -> SlotCounts | None:
    excluded = demand.excluded_agents
    idle = {g[0]: ring for g, ring in index.groups.items() if 0 < g[0] == g[1]}
    counts = whole_sizes(demand.slots, index.whole(excluded), is_heterogeneous)
    if counts is None:
        return None
    hashed = hash_of(allocation_id)
    parts: list[tuple[str, int]] = []
    for size, count in counts.items():
        members = (m for m in nearest(idle[size], hashed) if m[1] not in excluded)
        parts += [(m[1], size) for m in islice(members, count)]
    return tuple(parts)


def whole_sizes(
    slots: int, sizes: Mapping[int, int], is_heterogeneous: bool
) -> dict[int, int] | None:
    """How many idle agents of each size a request gets; None when they do not hold it."""
    largest_first = sorted((s for s in sizes if sizes[s] > 0), reverse=True)
    for size in largest_first:
        if slots % size == 0 and sizes[size] * size >= slots:
            return {size: slots // size}
    if not is_heterogeneous:
        return None
    counts: dict[int, int] = {}
    for size in largest_first:
        count = min(slots // size, sizes[size])
        if count:
            counts[size] = count
            slots -= count * size
    return counts if slots == 0 else None

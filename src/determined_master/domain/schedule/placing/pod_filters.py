"""Filters that exclude nodes for a request's pods, or hold the request back, before a plan.

Each filter takes the requests and returns them with the nodes that are left to each, and the
reasons of those that no node can take. All filters see all requests: a request that one of them
holds back still has its place before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from determined_master.domain.pods.placement import Misfit, misfit, pods_that_fit, summary
from determined_master.domain.schedule.kubernetes import parts_beyond
from determined_master.domain.schedule.placing.pods_view import Misfits, PodsView, with_requests
from determined_master.domain.schedule.placing.topology import (
    CandidateNodes,
    Topology,
    Wish,
    dropped_preferences,
    inside,
    narrow_all,
    required_ones,
    wait_texts,
    wish_of,
)
from determined_master.domain.schedule.plan import NoDomain, OverQuota, Plan, Wait
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView

Requests = tuple[RequestView, ...]
Reasons = Mapping[str, Wait]
"""Why requests are not planned, by allocation."""
PodKind = tuple[str, bool]
"""The key of pods, and whether their requests have slots."""


class Filtered(NamedTuple):
    """What a filter leaves."""

    requests: Requests
    reasons: Reasons


class ClosedNodes(msgspec.Struct, frozen=True):
    """What excludes nodes for pods of one key."""

    agents: frozenset[str]
    misfits: Misfits
    text: str


Filter = Callable[[Requests, PoolView, PodsView], Filtered]


def filtered(
    filters: Iterable[Filter], requests: Requests, view: PoolView, side: PodsView
) -> Filtered:
    """The requests after all filters; a later reason replaces an earlier one."""
    reasons: dict[str, Wait] = {}
    for apply in filters:
        requests, more = apply(requests, view, side)
        reasons.update(more)
    return Filtered(requests, reasons)


def kind_of(request: RequestView, side: PodsView) -> PodKind:
    return side.pods[request.allocation_id].key, request.slots > 0


class NodeFilter:
    """Excludes the nodes that can never run a request's pods, or do not take them now.

    The answer for a kind of pods lasts until the nodes change.
    """

    def __init__(self) -> None:
        self._nodes: tuple[object, tuple[tuple[str, int], ...]] = None, ()
        self._previous: dict[PodKind, ClosedNodes] = {}
        """Of the plan before, for the same nodes."""
        self.closed: dict[PodKind, ClosedNodes] = {}

    def apply(self, requests: Requests, view: PoolView, side: PodsView) -> Filtered:
        """Exclude nodes for each request; none is held back here."""
        nodes = side.loads.nodes, tuple((a.id, a.slots) for a in view.agents)
        is_same = nodes[0] is self._nodes[0] and nodes[1] == self._nodes[1]
        self._previous = self.closed if is_same else {}
        self._nodes, self.closed = nodes, {}
        return Filtered(tuple(self._without_closed(r, view, side) for r in requests), {})

    def _without_closed(self, request: RequestView, view: PoolView, side: PodsView) -> RequestView:
        nodes = self._closed_for(request, view, side)
        if not nodes.agents and not nodes.text:
            return request
        excluded = request.excluded_agents | nodes.agents
        return replace(request, excluded_agents=excluded, unfit=nodes.text)

    def _closed_for(self, request: RequestView, view: PoolView, side: PodsView) -> ClosedNodes:
        kind = kind_of(request, side)
        nodes = self.closed.get(kind)
        if nodes is None:
            is_fixed = not side.pods[request.allocation_id].avoided
            nodes = self._previous.get(kind) if is_fixed else None
            nodes = self.closed[kind] = nodes or _closed(request, view, side)
        return nodes


class TopologyFilter:
    """Leaves to a request one domain of nodes, where it prefers or requires one."""

    def __init__(self) -> None:
        self._requests: Requests = ()
        self._preferences: dict[str, Wish] = {}
        self._candidates: dict[str, CandidateNodes] = {}

    def apply(self, requests: Requests, view: PoolView, side: PodsView) -> Filtered:
        """Exclude the nodes outside of the domain; without a possible one, hold it back."""
        self._requests, self._preferences = requests, _preferences(requests, view, side)
        if self._preferences:
            pool = with_requests(view, requests)
            self._candidates = narrow_all(pool, self._preferences)
        texts = ((id, one.impossible) for id, one in self._candidates.items())
        return Filtered(self.narrowed(), {id: NoDomain(id, text) for id, text in texts if text})

    def narrowed(self) -> Requests:
        """The requests without the nodes outside of their domains."""
        return inside(self._requests, self._candidates)

    def drop_lost(self, plan: Plan) -> bool:
        """Drop preferences whose domain has gone to others; whether there are any."""
        dropped = dropped_preferences(plan, self._preferences, self._candidates)
        self._candidates = {id: one for id, one in self._candidates.items() if id not in dropped}
        return bool(dropped)

    def shown(self) -> tuple[Requests, Mapping[str, str]]:
        """The requests with what requirements exclude, and what these add to reasons of waits."""
        required = required_ones(self._candidates, self._preferences)
        texts = wait_texts(self._requests, self._preferences, self._candidates)
        return inside(self._requests, required), texts


def over_quota(requests: Requests, view: PoolView, side: PodsView) -> Filtered:
    """Hold back requests that the quotas of their namespaces do not admit."""
    texts = ((r.allocation_id, side.quota(r.allocation_id)) for r in requests)
    return Filtered(requests, {id: OverQuota(id, text) for id, text in texts if text})


def _closed(request: RequestView, view: PoolView, side: PodsView) -> ClosedNodes:
    agents: set[str] = set()
    misfits: dict[str, Misfit] = {}
    for agent in view.agents:
        obstacle = _misfit(request, agent, side)
        if obstacle is not None:
            misfits[agent.id] = obstacle
            agents.add(agent.id)
        else:
            agents |= _parts_beyond(request, agent, view, side)
    return ClosedNodes(frozenset(agents), misfits, summary(misfits.values(), len(view.agents)))


def _misfit(request: RequestView, agent: AgentView, side: PodsView) -> Misfit | None:
    pods, load = side.pods[request.allocation_id], side.loads.nodes.get(agent.id)
    if load is None:
        return None
    return pods.avoided.get(agent.id) or misfit(pods.needs, load.facts, load.foreign)


def _parts_beyond(
    request: RequestView, agent: AgentView, view: PoolView, side: PodsView
) -> frozenset[str]:
    """The parts of a node for which it has too little beside their slots."""
    most, load = view.rules.max_slots_per_pod, side.loads.nodes.get(agent.id)
    if load is None or most is None or not request.slots:
        return frozenset()
    requests = side.pods[request.allocation_id].needs.requests
    pods = pods_that_fit(requests, load.facts, load.foreign)
    return frozenset() if pods is None else parts_beyond(agent, most, pods)


def _preferences(
    requests: Iterable[RequestView], view: PoolView, side: PodsView
) -> dict[str, Wish]:
    """The domains that requests ask for; requests of one kind of wish share its value."""
    wishes: dict[Topology, Wish] = {}
    preferences = {}
    for request in requests:
        topology = side.pods[request.allocation_id].topology
        if topology is not None:
            if topology not in wishes:
                wishes[topology] = wish_of(topology, view.agents, side.loads)
            preferences[request.allocation_id] = wishes[topology]
    return preferences

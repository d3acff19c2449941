"""Which node, rack or zone the pods of one task share.

The ranks of a gang exchange gradients at every step, so a slow link between two of them slows all
of them. A request may prefer one domain of the cluster for all of its pods, or require it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from determined_master.domain.pods.placement import ClusterLoads
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.ordering import queue_key
from determined_master.domain.schedule.plan import Plan, Start
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView

MAX_COMPARED = 50
"""Requests of one plan that each get a comparison of domains. A later one gets the domain of an
equal one before it, and its own comparison in a later plan."""


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """The section `resources.topology` of a configuration."""

    domain: str
    """hostname, rack or zone."""
    is_required: bool = False


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """One domain for all pods of a task."""

    kind: str
    """For people: node, rack or zone."""
    is_required: bool
    domains: Mapping[str, str]
    """The name of each agent's domain; agents without one are absent."""
    fault: str = ""
    """Why there are no domains of that kind, and the remedy."""


class CandidateNodes(msgspec.Struct, frozen=True, kw_only=True):
    """The agents that a request gets because of its wish."""

    excluded: frozenset[str] = frozenset()
    domain: str = ""
    """The chosen one; empty for none."""
    fits_now: bool = False
    impossible: str = ""
    """Why no domain can ever hold the request, and the remedy."""


ANYWHERE = CandidateNodes()


_NOUNS = {"hostname": "node"}
"""Of domains, for people, where it is not their own name."""


def wish_of(topology: Topology, agents: Sequence[AgentView], loads: ClusterLoads) -> Wish:
    """The domains of a pool's nodes, by their labels."""
    kind, label = topology.domain, loads.domain_labels.get(topology.domain, "")
    domains = {}
    for agent in agents:
        load = loads.nodes.get(agent.id)
        name = "" if load is None else load.facts.labels.get(label, "")
        if kind == "hostname":
            name = agent.id
        if name:
            domains[agent.id] = name
    fault = (
        ""
        if label or kind == "hostname"
        else (
            f"all of its pods must be in one {kind}, and resource_manager.{kind}_label names no "
            "label of nodes: let an admin set it, or set resources.topology.required to false"
        )
    )
    return Wish(
        kind=_NOUNS.get(kind, kind),
        is_required=topology.is_required,
        domains=domains,
        fault=fault,
    )


def narrow_all(view: PoolView, preferences: Mapping[str, Wish]) -> dict[str, CandidateNodes]:
    """Choose a domain for each request that has a wish and more than one pod.

    In the order of the queue: a later request does not count on slots that an earlier one gets.

    Args:
        view: a pool.
        wishes: by allocation.
    """
    candidates: dict[str, CandidateNodes] = {}
    agents = {a.id: a for a in view.agents}
    spread = [r for r in view.pending if r.allocation_id in preferences and _is_spread(r, view)]
    equal: dict[tuple[int, frozenset[str], int], CandidateNodes] = {}
    for number, request in enumerate(sorted(spread, key=lambda r: queue_key(r, view.rules))):
        wish = preferences[request.allocation_id]
        kind = request.slots, request.excluded_agents, id(wish)
        if number >= MAX_COMPARED and kind in equal:
            candidates[request.allocation_id] = equal[kind]
            continue
        now = replace(view, agents=tuple(agents.values()))
        nodes = candidates[request.allocation_id] = equal[kind] = narrow(now, request, wish)
        if nodes.fits_now:
            _take(agents, _start(now, request, nodes.excluded))
    return candidates


def _take(agents: dict[str, AgentView], start: Start | None) -> None:
    """Count the slots of a start as used."""
    for agent_id, slots in start.placement if start else ():
        free = tuple(s for s in agents[agent_id].free_slots if s not in slots)
        agents[agent_id] = replace(agents[agent_id], free_slots=free)


def narrow(view: PoolView, request: RequestView, wish: Wish) -> CandidateNodes:
    """Choose a domain for one request.

    Of the domains that hold it now, the one with the fewest free slots: large holes stay large.
    If none does, a preference is dropped; a requirement takes the domain with the most free slots
    of those that hold it when they are empty, and waits for it.

    Args:
        view: a pool.
        request: one with several pods.
        wish: of the request.
    """
    if wish.fault:
        return CandidateNodes(impossible=wish.fault) if wish.is_required else ANYWHERE
    groups = _groups([a for a in view.agents if a.id not in request.excluded_agents], wish)
    now = [name for name, own in groups.items() if _fits(view, request, own)]
    if now:
        best = min(now, key=lambda name: (_free(groups[name]), name))
        return _only(best, groups, view, fits_now=True)
    return _later(view, request, wish, groups) if wish.is_required else ANYWHERE


def _later(
    view: PoolView, request: RequestView, wish: Wish, groups: Mapping[str, list[AgentView]]
) -> CandidateNodes:
    """The domain for which a request waits."""
    able = [name for name, own in groups.items() if _fits(view, request, map(_emptied, own))]
    if not able:
        return CandidateNodes(impossible=_too_small(request, view, wish, groups))
    return _only(min(able, key=lambda name: (-_free(groups[name]), name)), groups, view)


def inside(
    requests: tuple[RequestView, ...], candidates: Mapping[str, CandidateNodes]
) -> tuple[RequestView, ...]:
    """The requests without the nodes outside of their domain."""
    if not candidates:
        return requests
    return tuple(
        replace(r, excluded_agents=r.excluded_agents | candidates[r.allocation_id].excluded)
        if r.allocation_id in candidates and candidates[r.allocation_id].excluded
        else r
        for r in requests
    )


def dropped_preferences(
    plan: Plan, preferences: Mapping[str, Wish], candidates: Mapping[str, CandidateNodes]
) -> set[str]:
    """Preferences whose domain has gone to others: they start elsewhere rather than wait."""
    started = {start.allocation_id for start in plan.starts}
    return {
        id
        for id, one in candidates.items()
        if one.fits_now and not preferences[id].is_required and id not in started
    }


def wait_texts(
    requests: Iterable[RequestView],
    preferences: Mapping[str, Wish],
    candidates: Mapping[str, CandidateNodes],
) -> dict[str, str]:
    """What requirements add to the reasons of waits."""
    texts = {}
    for request in requests:
        id = request.allocation_id
        if id in candidates and preferences[id].is_required and candidates[id].domain:
            domain = f"{preferences[id].kind}, {candidates[id].domain}"
            text = f"all of its pods must be in one {domain} is next"
            texts[id] = f"{request.unfit}; {text}" if request.unfit else text
    return texts


def required_ones(
    candidates: Mapping[str, CandidateNodes], preferences: Mapping[str, Wish]
) -> dict[str, CandidateNodes]:
    """Those of requirements: preferences exclude nothing permanently."""
    return {id: one for id, one in candidates.items() if preferences[id].is_required}


def _is_spread(request: RequestView, view: PoolView) -> bool:
    """Whether it may get several pods, or several nodes."""
    most = view.rules.max_slots_per_pod
    if request.is_single_node:
        return False
    largest = max((a.slots for a in view.agents), default=0)
    return request.slots > (largest if most is None else min(most, largest))


def _groups(agents: Sequence[AgentView], wish: Wish) -> dict[str, list[AgentView]]:
    groups: dict[str, list[AgentView]] = {}
    for agent in agents:
        name = wish.domains.get(agent.id)
        if name is not None:
            groups.setdefault(name, []).append(agent)
    return groups


def _only(
    name: str, groups: Mapping[str, list[AgentView]], view: PoolView, *, fits_now: bool = False
) -> CandidateNodes:
    inside = {a.id for a in groups[name]}
    excluded = frozenset(a.id for a in view.agents if a.id not in inside)
    return CandidateNodes(excluded=excluded, domain=name, fits_now=fits_now)


def _fits(view: PoolView, request: RequestView, agents: Iterable[AgentView]) -> bool:
    own = replace(view, agents=tuple(agents))
    return _start(own, request, frozenset()) is not None


def _start(view: PoolView, request: RequestView, excluded: frozenset[str]) -> Start | None:
    """The start of a request that is alone in the pool."""
    alone = replace(request, excluded_agents=request.excluded_agents | excluded, max_slots=None)
    own = replace(view, running=(), pending=(alone,), is_sorted=False, jobs=None)
    return next(iter(planner.plan(own).starts), None)


def _emptied(agent: AgentView) -> AgentView:
    """The agent as it is when nothing runs there and it accepts work."""
    slots = tuple(range(agent.slots))
    return replace(agent, free_slots=slots, zero_slot_tasks=0, is_accepting=True, is_resting=False)


def _free(agents: Sequence[AgentView]) -> int:
    return sum(len(a.free_slots) for a in agents if a.is_accepting)


def _too_small(
    request: RequestView, view: PoolView, wish: Wish, groups: Mapping[str, list[AgentView]]
) -> str:
    remedy = "ask for less, or set resources.topology.required to false"
    if not groups:
        return (
            f"all of its pods must be in one {wish.kind}, and no node of pool {view.pool!r} that "
            f"can run them has one: {remedy}"
        )
    sizes = {name: sum(a.slots for a in own) for name, own in groups.items()}
    largest = max(sizes, key=lambda name: (sizes[name], name))
    return (
        f"no {wish.kind} of pool {view.pool!r} holds {request.slots} slots in whole pods of one "
        f"size (the largest, {largest}, has {sizes[largest]}): {remedy}"
    )

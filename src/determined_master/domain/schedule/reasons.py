"""Formats why a request waits, for its user."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from determined_master.domain.schedule import kubernetes
from determined_master.domain.schedule.fitting import Demand
from determined_master.domain.schedule.handover import MAX_WAITING
from determined_master.domain.schedule.plan import (
    Behind,
    Draining,
    Full,
    HandedOver,
    Impossible,
    LacksResources,
    Leaving,
    NoDomain,
    OverLimit,
    OverQuota,
    OverShare,
    Wait,
)
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView


def reason(view: PoolView, request: RequestView, wait: Wait) -> str:
    """One sentence: what it waits for, and the remedy if there is one."""
    match wait:
        case OverQuota():
            return f"waits for the quota of its namespace: {wait.detail}"
        case LacksResources():
            return f"waits for resources of its pod: {wait.detail}"
        case NoDomain():
            return wait.detail
        case Impossible():
            return _impossible(view, request)
        case _:
            return _with_nodes(_for_slots(view, request, wait), request)


def reason_without_ids(view: PoolView, request: RequestView, wait: Wait) -> str:
    """The same without the id of another request, which its reader may not see."""
    return reason(view, request, replace(wait, behind="") if isinstance(wait, Behind) else wait)


def named_request(wait: Wait) -> str:
    """The allocation of another request that the sentence names; empty for none."""
    return wait.behind if isinstance(wait, Behind) else ""


def _with_nodes(text: str, request: RequestView) -> str:
    """The text with what excludes nodes for the request."""
    return f"{text}; {request.unfit}" if request.unfit else text


def free_slots(agents: Sequence[AgentView]) -> tuple[int, int]:
    """Free slots on all agents that accept work, and the most on one of them."""
    free = [len(a.free_slots) for a in agents if a.is_accepting]
    return sum(free), max(free, default=0)


def open_to(demand: Demand, agents: Sequence[AgentView]) -> list[AgentView]:
    """The agents that accept work, and this request."""
    return [a for a in agents if a.is_accepting and a.id not in demand.excluded_agents]


def impossible(
    demand: Demand, pool: str, agents: Sequence[AgentView], *, noun: str = "agent"
) -> str:
    """Why not even an empty pool would hold it, and what the pool could hold.

    `noun` is what the pool's users call its agents: on Kubernetes they are nodes.
    """
    usable, slots = open_to(demand, agents), count(demand.slots)
    if not usable:
        return _none_open(demand, pool, agents, noun)
    if demand.slots < 1:
        return (
            f"pool {pool!r} takes no tasks without slots: raise its max_aux_containers_per_agent"
        )
    total, largest, shut = (
        sum(a.slots for a in usable),
        max(a.slots for a in usable),
        _shut(agents),
    )
    if largest == 0:
        return f"pool {pool!r} has {noun}s without slots only{shut}: add {noun}s with slots"
    if demand.is_single_node:
        return (
            f"needs {slots} on one {noun}, and the largest of pool {pool!r} has "
            f"{largest}{shut}: ask for at most {largest}, or add a larger {noun}; experiments and "
            "generic tasks can turn resources.is_single_node off"
        )
    if demand.slots > total:
        return f"needs {slots}, and pool {pool!r} has {total}{shut}: ask for less, or add {noun}s"
    choices = [str(size) for size in nearest_sizes(demand.slots, usable) if size is not None]
    return (
        f"{slots} cannot be split over whole {noun}s of one size in pool {pool!r}, "
        f"whose {noun}s have {_sizes(usable)}{shut}: ask for {' or '.join(choices)}, or any other "
        f"number up to {largest} or multiple of one of these sizes"
    )


def nearest_sizes(slots: int, agents: Sequence[AgentView]) -> tuple[int, int | None]:
    """The next smaller and the next larger number of slots that these agents could hold."""
    counts = _counts(agents)
    can = {n for size, number in counts.items() for n in range(size, size * number + 1, size)}
    can |= set(range(1, max(counts, default=0) + 1))
    lower = max((n for n in can if n < slots), default=0)
    return lower, min((n for n in can if n > slots), default=None)


def count(slots: int) -> str:
    """`1 slot`, `2 slots`."""
    return f"{slots} slot" if slots == 1 else f"{slots} slots"


def names(ids: Sequence[str]) -> str:
    """At most five names, and the number of others."""
    shown = ", ".join(ids[:5])
    return f"{shown} and {len(ids) - 5} more" if len(ids) > 5 else shown


def _for_slots(
    view: PoolView,
    request: RequestView,
    wait: Full | Leaving | Draining | Behind | OverLimit | OverShare | HandedOver,
) -> str:
    slots = count(request.slots)
    match wait:
        case Full():
            return _full(Demand.of(request), view.agents, _noun(view))
        case Leaving():
            return (
                f"is next; waits for {slots} on {names(wait.agents)}, where others were preempted"
            )
        case Draining():
            return (
                f"waits for {slots}; others had passed it for {view.rules.gang_patience_s:.0f} s "
                f"(gang_patience), so nothing new starts on {names(wait.agents)} until it does"
            )
        case Behind():
            return (
                f"waits for {slots} behind more urgent requests"
                + (f", of which {wait.behind} is next" if wait.behind else "")
                + _no_backfill(view, request)
            )
        case OverLimit():
            return (
                f"its job may use {count(request.max_slots or 0)} at a time (resources.max_slots) "
                "and uses them: raise that, or wait for its other tasks"
            )
        case OverShare():
            return "its job has its fair share of the pool: raise its weight, or wait for others"
        case HandedOver():
            return (
                f"waits until fewer than {MAX_WAITING} pods of pool {view.pool!r} "
                "wait in the cluster's own queue; tasks go there in the order of this queue"
            )


def _none_open(demand: Demand, pool: str, agents: Sequence[AgentView], noun: str) -> str:
    """Why no agent takes the request at present."""
    shut = _shut(agents)
    if demand.excluded_agents and any(a.is_accepting for a in agents):
        return (
            f"log policies exclude every {noun} of pool {pool!r} "
            f"({names(sorted(demand.excluded_agents))}) for this task: repair or replace "
            "them, or start a new trial"
        )
    if agents and all(a.is_resting for a in agents):
        return f"pool {pool!r} has no {noun} that takes work{shut}: repair or replace them"
    start = "start" if noun == "agent" else "add"
    return f"pool {pool!r} has no {noun} that takes work{shut}: {start} or enable one"


def _impossible(view: PoolView, request: RequestView) -> str:
    demand, machines = Demand.of(request), view.rules.machines
    if view.rules.queue:
        return kubernetes.impossible(request, view) or "cannot be split into pods"
    if request.unfit and not open_to(demand, view.agents):
        return (
            f"no node of pool {view.pool!r} can run its pod{_shut(view.agents)}: "
            f"{request.unfit}; change environment.pod_spec, or the nodes"
        )
    if machines and machines.may_hold(demand.slots, is_single_node=demand.is_single_node):
        places = count(demand.slots) if demand.slots else "a place"
        text = f"waits for {places} on machines that pool {view.pool!r} starts on demand"
        return _with_nodes(text, request)
    text = kubernetes.impossible(request, view) or impossible(
        demand, view.pool, view.agents, noun=_noun(view)
    )
    return _with_nodes(text, request)


def _noun(view: PoolView) -> str:
    """What users call the pool's agents."""
    rules = view.rules
    is_kubernetes = rules.type == "kubernetes" or rules.max_slots_per_pod is not None
    return "node" if is_kubernetes else "agent"


def _full(demand: Demand, agents: Sequence[AgentView], noun: str) -> str:
    usable = open_to(demand, agents)
    if demand.slots < 1:
        return (
            f"waits for a place: every {noun} runs as many tasks without slots as the pool allows "
            "(max_aux_containers_per_agent)"
        )
    free, hole = free_slots(usable)
    verb = "is" if free == 1 else "are"
    text = f"waits for {count(demand.slots)}, of which {free} {verb} free now"
    if free < demand.slots:
        return text
    if demand.is_single_node or demand.slots <= max(a.slots for a in usable):
        if hole >= demand.slots:
            return f"{text}, but kept for requests ahead of it"
        return f"{text}, but at most {hole} on one {noun}"
    return f"{text}, but not on {noun}s that are wholly free and equally large"


def _no_backfill(view: PoolView, request: RequestView) -> str:
    if not view.rules.preemption:
        return "; the pool starts nothing less urgent while they wait (preemption is off)"
    if not request.is_preemptible:
        return "; it could not be preempted for them, so it does not start before them"
    return ""


def _shut(agents: Sequence[AgentView]) -> str:
    """The agents that accept no work, in brackets; empty when all do."""
    away = sorted(a.id for a in agents if not a.is_accepting and not a.is_resting)
    resting = sorted(a.id for a in agents if a.is_resting)
    parts = [f"{names(away)} take no work at present"] if away else []
    if resting:
        parts.append(f"on {names(resting)} the last starts failed, it is tried again soon")
    return f" ({'; '.join(parts)})" if parts else ""


def _counts(agents: Sequence[AgentView]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for agent in agents:
        if agent.slots:
            counts[agent.slots] = counts.get(agent.slots, 0) + 1
    return counts


def _sizes(agents: Sequence[AgentView]) -> str:
    counts = _counts(agents)
    return ", ".join(f"{counts[size]} x {count(size)}" for size in sorted(counts, reverse=True))

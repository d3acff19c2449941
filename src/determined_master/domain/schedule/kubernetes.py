"""Planning on a Kubernetes cluster: its nodes are agents, and a higher priority is more urgent.

We place pods ourselves, so that a task of several pods starts whole or not at all, and two of them
never hold half of the cluster each. The differences to agents are the direction of priorities and
the limit on one pod's slots.

Source: helm-and-kubernetes 6, 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from determined_master.domain.schedule.plan import Draining, Leaving, Plan
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView, RunningView


def as_agents(view: PoolView) -> PoolView:
    """A pool of nodes in the form of a pool of agents; `as_nodes` converts the plan back.

    In it a lower priority is more urgent, and a node with more slots than one pod may have is
    several agents of that size. The slots are divided so that as many of these as possible are
    wholly free, which tasks of several pods need.
    """
    most = view.rules.max_slots_per_pod
    sign = -1 if view.rules.priorities == "larger_first" else 1
    parts = {} if most is None else _parts(view.agents, most)
    if sign == 1 and not parts:
        return view
    held = {id: [len(p.free_slots) for p in own] for id, own in parts.items()}

    def split_request(one: RequestView) -> RequestView:
        excluded = _excluded(one.excluded_agents, parts)
        return replace(one, priority=sign * one.priority, excluded_agents=excluded)

    def split_running(one: RunningView) -> RunningView:
        slots = tuple(p for id, n in one.slots_by_agent for p in _pieces(id, n, parts, held))
        # Which nodes its next pod could use is not known yet.
        return replace(one, priority=sign * one.priority, is_returning=False, slots_by_agent=slots)

    return replace(
        view,
        agents=tuple(part for a in view.agents for part in parts.get(a.id, (a,))),
        pending=tuple(map(split_request, view.pending)),
        running=tuple(map(split_running, view.running)),
        rules=replace(view.rules, type="priority") if sign == -1 else view.rules,
        is_sorted=False,
        jobs=None,
    )


def as_nodes(plan: Plan) -> Plan:
    """Convert a plan for the agents of `as_agents` into a plan for nodes."""
    starts = tuple(
        replace(s, placement=tuple((node_of(id), slots) for id, slots in s.placement))
        for s in plan.starts
    )
    waits = tuple(
        replace(w, agents=tuple(dict.fromkeys(map(node_of, w.agents))))
        if isinstance(w, _WITH_AGENTS)
        else w
        for w in plan.waits
    )
    return replace(plan, starts=starts, waits=waits)


def split(slots: int, most: int | None, *, is_single_node: bool = False) -> tuple[int, ...] | None:
    """Slots of each pod: one with all of them, or several with the most that one may have.

    Args:
        slots: of the request, 0 or more.
        most: of one pod (`max_slots_per_pod`); None without a limit.
        is_single_node: whether one pod must have all of them.

    Returns:
        None when that is not possible.
    """
    if most is None or slots <= most or slots == 0:
        return (slots,)
    if is_single_node or most < 1 or slots % most:
        return None
    return (most,) * (slots // most)


def impossible(request: RequestView, view: PoolView) -> str | None:
    """Why a request cannot be split into pods, and the remedy; None when it can."""
    most, is_single_node = view.rules.max_slots_per_pod, request.is_single_node
    if most is None or split(request.slots, most, is_single_node=is_single_node) is not None:
        return None
    return too_many(request.slots, most, is_single_node=is_single_node)


def too_many(slots: int, most: int, *, is_single_node: bool) -> str:
    """Why a number of slots cannot be split into pods, and which numbers can."""
    if most < 1:
        return (
            f"needs {slots} slots, and pods of this cluster get none (max_slots_per_pod is 0): "
            "ask for 0, or let an admin raise max_slots_per_pod"
        )
    if is_single_node:
        return (
            f"needs {slots} slots in one pod, and max_slots_per_pod is {most}: ask for at most "
            f"{most}, or turn resources.is_single_node off"
        )
    lower = slots // most * most
    return (
        f"{slots} slots cannot be split into pods of max_slots_per_pod {most}: ask for {lower} or "
        f"{lower + most}, or any other multiple of {most} or number up to it"
    )


def parts_beyond(node: AgentView, most: int | None, pods: int) -> frozenset[str]:
    """What to exclude so that a node gets at most so many pods of one request.

    Args:
        node: the node.
        most: slots of one pod; None without a limit, where a request has one pod on a node.
        pods: how many it can run, 0 or more.
    """
    if pods < 1:
        return frozenset((node.id,))
    if most is None or most < 1 or node.slots <= most:
        return frozenset()
    return frozenset(f"{node.id}{_MARK}{n}" for n in range(pods, -(-node.slots // most)))


def node_of(part: str) -> str:
    """The node of an agent of `as_agents`."""
    return part.partition(_MARK)[0]


_WITH_AGENTS = Leaving, Draining
AgentsByPart = dict[str, tuple[AgentView, ...]]
_MARK = "#"
"""Separates a node's name, which cannot contain it, from the number of a part."""


def _parts(nodes: Sequence[AgentView], most: int) -> AgentsByPart:
    """Cut nodes that are larger than the largest pod into parts."""
    return {node.id: tuple(_cut(node, most)) for node in nodes if node.slots > most}


def _cut(node: AgentView, most: int) -> Iterator[AgentView]:
    sizes = [most] * (node.slots // most) if most else []
    rest = node.slots - sum(sizes) if most else 0
    begin = 0
    for number, size in enumerate([*sizes, *([rest] if rest or not sizes else [])]):
        part = replace(node, slots=size, free_slots=node.free_slots[begin : begin + size])
        begin += size
        if number:  # tasks without slots, and holders of disabled slots, count once
            part = replace(
                part,
                id=f"{node.id}{_MARK}{number}",
                zero_slot_tasks=0,
                max_zero_slot_tasks=0,
                shut=(),
            )
        yield part


def _pieces(
    node: str, slots: int, parts: AgentsByPart, held: dict[str, list[int]]
) -> Iterator[tuple[str, int]]:
    """Where pods on a node are counted; `held` has the free or used amount of each resource."""
    own = parts.get(node)
    if own is None or not slots:
        yield node, slots
        return
    for number, part in enumerate(own):
        taken = min(slots, part.slots - held[node][number])
        if taken > 0:
            held[node][number] += taken
            slots -= taken
            yield part.id, taken
    if slots:  # on disabled slots
        yield node, slots


def _excluded(nodes: frozenset[str], parts: AgentsByPart) -> frozenset[str]:
    return nodes | {part.id for node in nodes for part in parts.get(node, ())}

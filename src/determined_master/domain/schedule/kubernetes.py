"""Planning on a Kubernetes cluster: its nodes are agents, and the larger priority goes first.

Placing is ours, so that a task of several pods starts whole or not at all, and two of them never
hold half of the cluster each. What differs from agents is the direction of priorities and the
bound on one pod's slots.

Source: helm-and-kubernetes 6, 9.
"""

from __future__ import annotations

from msgspec.structs import replace

from determined_master.domain.schedule.view import AgentView, PoolView, RequestView


def as_agents(view: PoolView) -> PoolView:
    """A pool of nodes as the planners of agents take it: the smaller priority goes first."""
    most = view.rules.max_slots_per_pod
    agents = view.agents if most is None else tuple(_bounded(a, most) for a in view.agents)
    if view.rules.priorities != "larger_first":
        return replace(view, agents=agents)
    return replace(
        view,
        agents=agents,
        pending=tuple(replace(r, priority=-r.priority) for r in view.pending),
        running=tuple(replace(r, priority=-r.priority) for r in view.running),
        rules=replace(view.rules, type="priority"),
    )


def _bounded(agent: AgentView, most: int) -> AgentView:
    """A node as one task sees it: at most so many of its slots go to one pod."""
    if agent.slots <= most:
        return agent
    return replace(agent, slots=most, free_slots=agent.free_slots[:most])


def split(slots: int, most: int | None, is_single_node: bool = False) -> tuple[int, ...] | None:
    """Slots of each pod: one with all of them, or several with the most that one may have.

    Args:
        slots: that a task asks for, 0 or more.
        most: that one pod may have (`max_slots_per_pod`); None where nothing says so.
        is_single_node: whether the task must have all in one.

    Returns:
        None when that is not possible.
    """
    if most is None or slots <= most or slots == 0:
        return (slots,)
    if is_single_node or most < 1 or slots % most:
        return None
    return (most,) * (slots // most)


def impossible(request: RequestView, view: PoolView) -> str | None:
    """Why a request cannot be split into pods, and what can be done; None when it can."""
    most = view.rules.max_slots_per_pod
    if most is None or split(request.slots, most, request.is_single_node) is not None:
        return None
    return too_many(request.slots, most, request.is_single_node)


def too_many(slots: int, most: int, is_single_node: bool) -> str:
    """Why a number of slots cannot be split into pods, and which could."""
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

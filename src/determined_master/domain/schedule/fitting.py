"""Which agents hold a request: one gang of slots, all or nothing.

Source: task-contract 8.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from determined_master.domain.schedule.view import AgentView, RequestView

Placement = dict[str, tuple[int, ...]]
"""Slot numbers by agent id; a task without slots has an agent with none."""


class Demand(msgspec.Struct, frozen=True):
    """What of a request matters for where it fits: equal demands fit the same agents."""

    slots: int
    is_single_node: bool
    excluded_agents: frozenset[str]

    @classmethod
    def of(cls, request: RequestView) -> Demand:
        """The demand of one request."""
        return cls(request.slots, request.is_single_node, request.excluded_agents)


def fit(demand: Demand, agents: Sequence[AgentView]) -> Placement | None:
    """Choose slots for one request on the agents as they are now.

    A request that one agent can hold goes to the agent that it fills most (best fit), which
    keeps large holes large. A larger one takes whole idle agents of one size, since ranks of
    unequal width wait for each other at every all-reduce. A task without slots goes where the
    fewest slots are free, so that idle agents stay idle.

    Args:
        demand: what is asked for.
        agents: shape (n,), in any order; the order never changes the answer.

    Returns:
        Slots on each agent, lowest numbers first; None when nothing fits now.

    Cost: O(n log n) in agents.
    Source: best fit, Johnson et al. 1974, SIAM J. Comput. 3(4) 299-325.
    """
    open_agents = open_to(demand, agents)
    if demand.slots < 1:
        return _fit_aux(open_agents)
    fitting = [a for a in open_agents if len(a.free_slots) >= demand.slots]
    if fitting:
        tightest = min(fitting, key=lambda a: (len(a.free_slots), a.id))
        return {tightest.id: tuple(sorted(tightest.free_slots)[: demand.slots])}
    if demand.is_single_node:
        return None
    return _fit_whole(demand.slots, open_agents)


def fits_when_drained(demand: Demand, agents: Sequence[AgentView]) -> bool:
    """Whether the request would fit if nothing else ran on these agents."""
    drained = [
        msgspec.structs.replace(a, free_slots=tuple(range(a.slots)), zero_slot_tasks=0)
        for a in agents
    ]
    return fit(demand, drained) is not None


def open_to(demand: Demand, agents: Sequence[AgentView]) -> list[AgentView]:
    """The agents that take work, and take this."""
    return [a for a in agents if a.is_accepting and a.id not in demand.excluded_agents]


def take(agents: Mapping[str, AgentView], placement: Placement) -> dict[str, AgentView]:
    """The agents with the placement's slots in use."""
    after = dict(agents)
    for agent_id, slots in placement.items():
        agent = after[agent_id]
        free = tuple(s for s in agent.free_slots if s not in slots)
        aux = agent.zero_slot_tasks + (not slots)
        after[agent_id] = msgspec.structs.replace(agent, free_slots=free, zero_slot_tasks=aux)
    return after


def _fit_aux(agents: Sequence[AgentView]) -> Placement | None:
    roomy = [a for a in agents if a.zero_slot_tasks < a.max_zero_slot_tasks]
    if not roomy:
        return None
    chosen = min(roomy, key=lambda a: (_is_idle(a), len(a.free_slots), a.id))
    return {chosen.id: ()}


def _is_idle(agent: AgentView) -> bool:
    has_free_slots_only = 0 < agent.slots == len(agent.free_slots)
    return has_free_slots_only and agent.zero_slot_tasks == 0


def _fit_whole(slots: int, agents: Sequence[AgentView]) -> Placement | None:
    idle = sorted((a for a in agents if 0 < a.slots == len(a.free_slots)), key=lambda a: a.id)
    for width in sorted({a.slots for a in idle}, reverse=True):
        whole = [a for a in idle if a.slots == width]
        if slots % width == 0 and len(whole) * width >= slots:
            return {a.id: tuple(sorted(a.free_slots)) for a in whole[: slots // width]}
    return None

"""Why a request waits, in words for its user."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.domain.schedule.fitting import Demand, open_to
from determined_master.domain.schedule.view import AgentView


def free_slots(agents: Sequence[AgentView]) -> tuple[int, int]:
    """Free slots on all agents that take work, and the most on one of them."""
    free = [len(a.free_slots) for a in agents if a.is_accepting]
    return sum(free), max(free, default=0)


def behind(demand: Demand, ahead: Sequence[str]) -> str:
    """It would have to overtake."""
    others = f"{len(ahead)} requests" if len(ahead) > 1 else "a request"
    return (
        f"waits for {count(demand.slots)} behind {others} submitted earlier; the pool starts "
        f"requests in the order of submission, and {ahead[0]} is next"
    )


def full(demand: Demand, agents: Sequence[AgentView]) -> str:
    """It is next, and what it needs is in use."""
    usable = open_to(demand, agents)
    if demand.slots < 1:
        return (
            "waits for a place: every agent runs as many tasks without slots as the pool allows "
            "(max_aux_containers_per_agent)"
        )
    free, hole = free_slots(usable)
    said = f"is next; waits for {count(demand.slots)}, of which {free} are free now"
    if free < demand.slots:
        return said
    if demand.is_single_node or demand.slots <= max(a.slots for a in usable):
        return f"{said}, but at most {hole} on one agent"
    return f"{said}, but not on agents that are wholly free and equally large"


def impossible(demand: Demand, pool: str, agents: Sequence[AgentView]) -> str:
    """Not even an empty pool would hold it."""
    away = sorted(a.id for a in agents if not a.is_accepting)
    shut = f" ({_names(away)} take no work at present)" if away else ""
    usable = open_to(demand, agents)
    if not usable:
        if demand.excluded_agents and any(a.is_accepting for a in agents):
            left_out = sorted(demand.excluded_agents)
            return (
                f"log policies exclude every agent of pool {pool!r} ({_names(left_out)}) for "
                "this task: repair or replace them, or start a new trial"
            )
        return f"pool {pool!r} has no agent that takes work{shut}: start or enable one"
    if demand.slots < 1:
        return (
            f"pool {pool!r} takes no tasks without slots: raise its max_aux_containers_per_agent"
        )
    total, largest = sum(a.slots for a in usable), max(a.slots for a in usable)
    if demand.is_single_node:
        return (
            f"needs {count(demand.slots)} on one agent, and the largest of pool {pool!r} has "
            f"{largest}{shut}: ask for at most {largest}, or turn resources.is_single_node off"
        )
    if demand.slots > total:
        return (
            f"needs {count(demand.slots)}, and pool {pool!r} has {total}{shut}: ask for less, or "
            "add agents"
        )
    return (
        f"{count(demand.slots)} cannot be split over whole agents of one size in pool {pool!r}, "
        f"whose agents have {_sizes(usable)}{shut}: ask for at most {largest}, or for a multiple "
        "of one of these sizes"
    )


def count(slots: int) -> str:
    """`1 slot`, `2 slots`."""
    return f"{slots} slot" if slots == 1 else f"{slots} slots"


def _names(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:5])
    return f"{shown} and {len(ids) - 5} more" if len(ids) > 5 else shown


def _sizes(agents: Sequence[AgentView]) -> str:
    counts: dict[int, int] = {}
    for agent in agents:
        counts[agent.slots] = counts.get(agent.slots, 0) + 1
    return ", ".join(f"{counts[size]} x {count(size)}" for size in sorted(counts, reverse=True))

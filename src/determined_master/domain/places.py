"""What containers are put on: an agent, or a Kubernetes cluster as a whole, its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation

PLACE = "kubernetes:"
"""How the ids of places begin, and no agent's id does."""


def place_id(manager: str) -> str:
    """What containers of a Kubernetes manager are put on."""
    return f"{PLACE}{manager}"


def is_place(agent_id: str) -> bool:
    """Whether it is a cluster as a whole, not an agent."""
    return agent_id.startswith(PLACE)


def unplaced(allocation: Allocation) -> int:
    """How many pods of an allocation have no node yet: their cluster's scheduler has to find one.

    0 for containers of agents, which are there as soon as they are assigned.
    """
    return sum(c.state == "ASSIGNED" and is_place(c.agent_id) for c in allocation.containers)


def is_scheduled(allocation: Allocation) -> bool:
    """Whether it has its resources: in Kubernetes all of its pods have nodes."""
    return allocation.state != "PENDING" and not unplaced(allocation)

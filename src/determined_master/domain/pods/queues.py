"""Names of the cluster's own queues, which stand for agents.

A pool whose pods the cluster places has no nodes to plan for: its containers are assigned to the
queue, and each pod gets its node from the cluster.
"""

from __future__ import annotations

MARK = "queue:"
"""Begins the name of a queue; names of nodes cannot contain it."""


def queue_name(pool: str) -> str:
    """The agent that stands for the cluster's own queue of a pool."""
    return f"{MARK}{pool}"


def is_queue(agent_id: str) -> bool:
    """Whether an agent stands for a cluster's own queue."""
    return agent_id.startswith(MARK)

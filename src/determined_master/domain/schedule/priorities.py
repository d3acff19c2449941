"""The order of priorities, which differs between kinds of pools."""

from __future__ import annotations

from typing import Literal

PriorityOrder = Literal["smaller_first", "larger_first", "none"]
"""Of a pool's queue. Agents: 1 is the most urgent. Kubernetes: 99 is. `none`: shares by weight."""


def urgency(priority: int, order: PriorityOrder) -> int:
    """A sort key of a priority: the most urgent first."""
    return -priority if order == "larger_first" else priority


def is_beyond(priority: int, limit: int, order: PriorityOrder) -> bool:
    """Whether a priority is more urgent than a limit; never in pools without priorities."""
    return order != "none" and urgency(priority, order) < urgency(limit, order)

"""What a scheduler sees: one pool at one instant."""

from __future__ import annotations

from datetime import datetime

import msgspec


class AgentView(msgspec.Struct, frozen=True):
    """An agent that may take work."""

    id: str
    slots: int
    """Slots that are enabled, in use or free."""
    free_slots: tuple[int, ...]
    """Numbers of the free ones, ascending."""
    zero_slot_tasks: int = 0
    max_zero_slot_tasks: int = 100
    is_accepting: bool = True
    """False while it drains, is disabled or is not connected."""


class RequestView(msgspec.Struct, frozen=True):
    """An allocation that waits."""

    allocation_id: str
    job_id: str
    slots: int
    submitted_at: datetime
    is_single_node: bool = False
    priority: int = 42
    weight: float = 1.0
    excluded_agents: frozenset[str] = frozenset()


class RunningView(msgspec.Struct, frozen=True):
    """An allocation that holds slots."""

    allocation_id: str
    job_id: str
    slots: int
    submitted_at: datetime
    is_preemptible: bool
    is_leaving: bool = False
    priority: int = 42
    weight: float = 1.0
    slots_by_agent: tuple[tuple[str, int], ...] = ()


class PoolView(msgspec.Struct, frozen=True):
    """One pool at one instant; the order of its parts never changes a decision."""

    pool: str
    agents: tuple[AgentView, ...]
    pending: tuple[RequestView, ...]
    running: tuple[RunningView, ...] = ()

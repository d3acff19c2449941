"""What a scheduler decides, with its reasons."""

from __future__ import annotations

import msgspec


class Start(msgspec.Struct, frozen=True):
    """Give a waiting allocation these slots."""

    allocation_id: str
    placement: tuple[tuple[str, tuple[int, ...]], ...]
    """Pairs of agent id and slot numbers, in the order of agent ids."""


class Preempt(msgspec.Struct, frozen=True):
    """Ask a running allocation to leave."""

    allocation_id: str
    reason: str


class Wait(msgspec.Struct, frozen=True):
    """Why an allocation waits."""

    allocation_id: str
    reason: str
    needs_slots: int
    free_slots: int
    largest_hole: int
    """Most free slots on one agent."""
    ahead: tuple[str, ...] = ()
    """Allocations that come first, nearest first, at most 10."""


class Plan(msgspec.Struct, frozen=True):
    """All decisions on one view."""

    starts: tuple[Start, ...] = ()
    preemptions: tuple[Preempt, ...] = ()
    waits: tuple[Wait, ...] = ()

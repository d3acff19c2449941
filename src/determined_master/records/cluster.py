"""Records of the use of the cluster, and its messages."""

from __future__ import annotations

from datetime import datetime

import msgspec


class UsedAllocation(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation within a window of time."""

    id: str
    task_type: str
    username: str
    workspace_name: str
    """Where it belonged when it was requested."""
    experiment_id: int | None
    slots: int
    started_at: datetime
    ended_at: datetime | None
    pulling_s: float
    slot_s: float
    """Slots times seconds within the window."""
    pool: str


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What continued in a trial from one report to the next; or an agent's or machine's stay."""

    experiment_id: int | None
    kind: str
    username: str
    """For one of kind agent or instance the id of the agent or the machine."""
    user_id: int | None
    labels: list[str]
    slots: int
    began_at: datetime
    ended_at: datetime | None
    seconds: float
    """Within the window."""


class MessageRow(msgspec.Struct, frozen=True, kw_only=True):
    """One message; it is shown from its start to its end, if it has one."""

    message: str
    created_at: datetime
    starts_at: datetime
    ends_at: datetime | None

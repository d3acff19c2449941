"""Records that the live channel shows in short: runs of a project, and tasks."""

from __future__ import annotations

from datetime import datetime

import msgspec


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a row of its project's table, without what its user has set."""

    id: int
    experiment_id: int
    project_id: int
    workspace_id: int
    archived: bool
    state: str
    progress: float
    started_at: datetime
    ended_at: datetime | None
    searcher_metric: float | None
    validation_metrics: str | None
    """JSON: the latest validation; None without one, and where it is large."""


class LiveTask(msgspec.Struct, frozen=True, kw_only=True):
    """An interactive or generic task in short."""

    id: str
    type: str
    user_id: int
    workspace_id: int | None
    state: str
    allocation_state: str | None
    """Of an interactive task; None while nothing is requested yet."""
    started_at: datetime
    ended_at: datetime | None


class LiveExperiment(msgspec.Struct, frozen=True):
    """Whose an experiment is."""

    id: int
    user_id: int
    name: str
    workspace_id: int

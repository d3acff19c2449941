"""Records of the cluster's events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.records.stories import StoryLine


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are wanted; those of `after`, included, until `before`, excluded."""

    kinds: Sequence[str] = ()
    """Kinds of aggregates; none for all."""
    user_id: int = 0
    acts_only: bool = False
    experiment_workspaces: Sequence[int] | None = None
    """The workspaces whose experiments and trials the caller sees; None for all."""
    task_workspaces: Sequence[int] | None = None
    """The same of other tasks."""
    after: datetime
    before: datetime
    cursor: tuple[datetime, str, str, int] | None = None
    """The last event that the caller has: those behind it are wanted."""
    limit: int


class EventLine(msgspec.Struct, frozen=True):
    """One line of the journal with the thing that it is about."""

    line: StoryLine
    thing_kind: str
    """`experiment`, `trial`, or the type of a task in small letters."""
    thing_id: str
    thing_name: str
    experiment_id: int
    trial_id: int
    workspace_id: int
    owner_id: int

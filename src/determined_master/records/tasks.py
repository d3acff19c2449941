"""Records of tasks and allocations, and which of them a list asks for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.domain.config.task import TaskConfig, typed_task
from determined_master.domain.task.kinds import InteractiveKind
from determined_master.records.stories import StoredCause


class ShareRow(msgspec.Struct, frozen=True, kw_only=True):
    """A user or a group (exactly one of the two) who may enter a task of somebody else."""

    username: str | None
    group_name: str | None
    shared_by: str | None
    """None once that user is gone."""
    shared_at: datetime


class ListedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One interactive task as lists show it."""

    id: str
    kind: InteractiveKind
    job_id: str
    user_id: int
    username: str
    display_name: str
    started_at: datetime
    ended_at: datetime | None
    state: str
    exit_status: str
    description: str
    resource_pool: str
    workspace_id: int | None
    experiment_ids: list[int]
    trial_ids: list[int]
    allocation_state: str | None
    """None while nothing is requested yet."""


class InteractiveRow(ListedTask, frozen=True, kw_only=True):
    """One interactive task with all that is known of it."""

    config: dict[str, Any]
    context: bytes | None
    port: int | None
    active_at: datetime | None
    """When its program last said that it is used."""
    queue_position: Decimal | None

    @property
    def typed(self) -> TaskConfig:
        """The configuration as decisions read it."""
        return typed_task(self.config)


class ListedGenericTask(msgspec.Struct, frozen=True, kw_only=True):
    """One generic task as lists show it."""

    id: str
    job_id: str
    name: str
    state: str
    reason: str
    user_id: int
    workspace_id: int | None
    project_id: int | None
    resource_pool: str
    slots: int
    parent_id: str | None
    forked_from: str | None
    no_pause: bool
    started_at: datetime
    ended_at: datetime | None
    allocation_state: str | None
    """Of its last run; None while nothing is requested yet."""


class TaskQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which of them a list shows, in which order, and which part of them."""

    kind: InteractiveKind
    ended_since: datetime
    """Those that ended before are left out."""
    users: Sequence[str] = ()
    user_ids: Sequence[int] = ()
    workspace_id: int = 0
    """0 for all."""
    among: Sequence[int] | None = None
    """The workspaces that may be looked into; None for all."""
    sort: str = "id"
    """One of `SORTS`."""
    descending: bool = False
    offset: int = 0
    limit: int = 0
    """0 for all."""


class AllocationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation as pages show it."""

    id: str
    task_id: str
    state: str
    pool: str
    slots: int
    is_ready: bool
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    exit_reason: str | None
    exit_error: str | None
    status_code: int | None
    """Of its first container that failed; 0 when none did, None when none had one."""
    ports: dict[str, int]


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a trial."""

    number: int
    """From 1."""
    total: int
    """How many starts the trial had."""
    allocation_id: str
    state: str
    pool: str
    slots: int
    agents: Sequence[str]
    """Empty before it gets slots."""
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    exit_reason: str
    failure: StoredCause | None


class ListedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a trial or an experiment failed."""

    id: int
    text: str
    trial_id: int
    """Whose log says it; 0 for none."""
    log_position: int
    """The id of a line; 0 for none."""


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One task."""

    id: str
    type: str
    job_id: str
    trial_id: int | None
    experiment_id: int | None
    user_id: int
    started_at: datetime
    ended_at: datetime | None

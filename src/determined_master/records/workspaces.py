"""Records of workspaces and projects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


class WorkspaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace as one user sees it, with its counts."""

    id: int
    name: str
    user_id: int
    username: str
    archived: bool
    immutable: bool
    state: str
    error_message: str
    agent_uid: int | None
    agent_gid: int | None
    agent_user: str | None
    agent_group: str | None
    checkpoint_storage: dict[str, Any] | None
    """As it was submitted, with its secrets."""
    default_compute_pool: str
    default_aux_pool: str
    num_projects: int
    num_experiments: int
    pinned_at: datetime | None
    made_namespace: str | None
    """The Kubernetes namespace that was made for it and that it is bound to, of the first manager
    by name."""


class ProjectRow(msgspec.Struct, frozen=True, kw_only=True):
    """One project, with its counts."""

    id: int
    workspace_id: int
    workspace_name: str
    workspace_user_id: int
    name: str
    key: str
    description: str
    notes: list[dict[str, Any]]
    user_id: int
    username: str
    archived: bool
    """Itself or with its workspace."""
    is_workspace_archived: bool
    immutable: bool
    state: str
    error_message: str
    last_experiment_started_at: datetime | None
    num_experiments: int
    num_active_experiments: int
    num_runs: int

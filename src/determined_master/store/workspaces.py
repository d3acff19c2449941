"""Rows of workspaces and of their projects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from determined_master.store.pool import Conn


class WorkspaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace, and what is counted in it."""

    id: int
    name: str
    user_id: int
    username: str
    archived: bool
    immutable: bool
    num_projects: int
    num_experiments: int


class ProjectRow(msgspec.Struct, frozen=True, kw_only=True):
    """One project, and what is counted in it."""

    id: int
    workspace_id: int
    workspace_name: str
    name: str
    key: str
    description: str
    notes: list[dict[str, Any]]
    user_id: int
    username: str
    archived: bool
    immutable: bool
    last_experiment_started_at: datetime | None
    num_experiments: int
    num_active_experiments: int
    num_runs: int


async def list_workspaces(conn: Conn) -> list[WorkspaceRow]:
    """All workspaces by id."""
    query = """
        SELECT w.id, w.name, w.user_id, u.username, w.archived, w.immutable,
               (SELECT count(*) FROM projects p WHERE p.workspace_id = w.id) AS num_projects,
               (SELECT count(*) FROM experiments e JOIN projects p ON p.id = e.project_id
                 WHERE p.workspace_id = w.id) AS num_experiments
          FROM workspaces w JOIN users u ON u.id = w.user_id
         ORDER BY w.id
    """
    return [WorkspaceRow(**row) for row in await conn.fetch(query)]


async def list_projects(
    conn: Conn, *, workspace_id: int | None = None, project_id: int | None = None
) -> list[ProjectRow]:
    """The projects of a workspace, or the one of that id, by id."""
    query = """
        SELECT p.id, p.workspace_id, w.name AS workspace_name, p.name, p.key, p.description,
               p.notes, p.user_id, u.username, p.archived OR w.archived AS archived,
               p.immutable, s.*
          FROM projects p
          JOIN workspaces w ON w.id = p.workspace_id
          JOIN users u ON u.id = p.user_id
          JOIN LATERAL (
               SELECT max(e.started_at) AS last_experiment_started_at,
                      count(*) AS num_experiments,
                      count(*) FILTER (WHERE e.ended_at IS NULL AND e.state <> 'PAUSED')
                          AS num_active_experiments,
                      coalesce(sum(e.num_trials), 0)::int AS num_runs
                 FROM experiments e WHERE e.project_id = p.id) s ON true
         WHERE ($1::int IS NULL OR p.workspace_id = $1) AND ($2::int IS NULL OR p.id = $2)
         ORDER BY p.id
    """
    return [ProjectRow(**row) for row in await conn.fetch(query, workspace_id, project_id)]

"""Rows of projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from determined_master.records.workspaces import ProjectRow
from determined_master.store.db import Conn


class NewProject(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new project's row."""

    workspace_id: int
    name: str
    description: str
    key: str
    user_id: int


class ProjectRef(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a new experiment: a project, and its workspace's settings."""

    project_id: int
    project_name: str
    workspace_id: int
    is_archived: bool
    is_leaving: bool
    checkpoint_storage: dict[str, Any] | None
    default_compute_pool: str
    default_aux_pool: str


COLUMNS = frozenset(
    {
        "workspace_id",
        "name",
        "key",
        "description",
        "notes",
        "archived",
        "state",
        "error_message",
    }
)
"""The columns that can be changed."""

_PLACE = """
    SELECT p.id AS project_id, p.name AS project_name, p.workspace_id,
           p.archived OR w.archived AS is_archived, p.state = 'DELETING' AS is_leaving,
           w.checkpoint_storage, w.default_compute_pool, w.default_aux_pool
      FROM projects p JOIN workspaces w ON w.id = p.workspace_id
"""


async def list_projects(
    conn: Conn,
    *,
    workspace_id: int | None = None,
    project_id: int | None = None,
    key: str | None = None,
    ids: Sequence[int] | None = None,
) -> list[ProjectRow]:
    """The projects of a workspace, or those of these ids, that id or that key, by id."""
    query = """
        SELECT p.id, p.workspace_id, w.name AS workspace_name, w.user_id AS workspace_user_id,
               p.name, p.key, p.description, p.notes, p.user_id, u.username,
               p.archived OR w.archived AS archived, w.archived AS is_workspace_archived,
               p.immutable, p.state, p.error_message,
               (SELECT e.started_at FROM experiments e WHERE e.project_id = p.id
                 ORDER BY e.id DESC LIMIT 1) AS last_experiment_started_at,
               (SELECT count(*) FROM experiments e WHERE e.project_id = p.id) AS num_experiments,
               coalesce(o.active, 0) AS num_active_experiments,
               coalesce(n.listed, 0) AS num_runs
          FROM projects p
          JOIN workspaces w ON w.id = p.workspace_id
          JOIN users u ON u.id = p.user_id
          LEFT JOIN run_numbers n ON n.project_id = p.id
          LEFT JOIN (SELECT project_id, count(*) AS active FROM experiments
                      WHERE ended_at IS NULL AND state <> 'PAUSED' GROUP BY project_id) o
            ON o.project_id = p.id
         WHERE ($1::int IS NULL OR p.workspace_id = $1) AND ($2::int IS NULL OR p.id = $2)
           AND ($3::text IS NULL OR p.key = $3) AND ($4::int[] IS NULL OR p.id = ANY ($4))
         ORDER BY p.id
    """
    rows = await conn.fetch(query, workspace_id, project_id, key, ids)
    return [ProjectRow(**row) for row in rows]


async def lock_project(conn: Conn, project_id: int) -> ProjectRow | None:
    """One project, locked until the transaction ends."""
    await conn.execute("SELECT FROM projects WHERE id = $1 FOR UPDATE", project_id)
    projects = await list_projects(conn, project_id=project_id)
    return projects[0] if projects else None


async def find_place(conn: Conn, project_id: int, *, is_held: bool = False) -> ProjectRef | None:
    """Where experiments of a project are put; held, it stays until the transaction ends."""
    lock = "FOR KEY SHARE OF p, w" if is_held else ""
    row = await conn.fetchrow(f"{_PLACE} WHERE p.id = $1 {lock}", project_id)
    return ProjectRef(**row) if row else None


async def find_workspace_place(
    conn: Conn, workspace_id: int, *, is_held: bool = False
) -> ProjectRef | None:
    """Where tasks of a workspace are put, which belong to no project; held as above."""
    lock = "FOR KEY SHARE" if is_held else ""
    query = f"""
        SELECT 0 AS project_id, '' AS project_name, w.id AS workspace_id,
               w.archived AS is_archived, w.state = 'DELETING' AS is_leaving,
               w.checkpoint_storage, w.default_compute_pool, w.default_aux_pool
          FROM workspaces w WHERE w.id = $1 {lock}
    """
    row = await conn.fetchrow(query, workspace_id)
    return ProjectRef(**row) if row else None


async def find_named_place(conn: Conn, workspace: str, project: str) -> ProjectRef | None:
    """The same by names, in whatever case: no two differ in that alone."""
    query = f"{_PLACE} WHERE lower(w.name) = lower($1) AND lower(p.name) = lower($2)"
    row = await conn.fetchrow(query, workspace, project)
    return ProjectRef(**row) if row else None


async def insert_project(conn: Conn, new: NewProject) -> int:
    """Store a project; its id.

    Raises:
        asyncpg.UniqueViolationError: the name is taken in its workspace, or the key.
    """
    query = """
        INSERT INTO projects (workspace_id, name, description, key, user_id)
        VALUES ($1, $2, $3, $4, $5) RETURNING id
    """
    values = (new.workspace_id, new.name, new.description, new.key, new.user_id)
    return int(await conn.fetchval(query, *values))


async def update_project(conn: Conn, project_id: int, values: Mapping[str, Any]) -> None:
    """Change columns of a project; a move takes its experiments and generic tasks along.

    Raises:
        asyncpg.UniqueViolationError: the name is taken in its workspace, or the key.
    """
    if not values:
        return
    assert values.keys() <= COLUMNS
    names = sorted(values)
    changes = ", ".join(f"{name} = ${i}" for i, name in enumerate(names, start=2))
    query = f"UPDATE projects SET {changes} WHERE id = $1"
    await conn.execute(query, project_id, *[values[n] for n in names])
    if "workspace_id" in values:
        lock = "SELECT FROM experiments WHERE project_id = $1 ORDER BY id FOR NO KEY UPDATE"
        await conn.execute(lock, project_id)
        moved = "UPDATE experiments SET workspace_id = $2 WHERE project_id = $1"
        await conn.execute(moved, project_id, values["workspace_id"])
        moved = "UPDATE generic_tasks SET workspace_id = $2 WHERE project_id = $1"
        await conn.execute(moved, project_id, values["workspace_id"])


async def delete_project(conn: Conn, project_id: int) -> None:
    """Delete a project without experiments, and the data of its lists."""
    for table in ("run_columns", "run_numbers"):
        await conn.execute(f"DELETE FROM {table} WHERE project_id = $1", project_id)
    await conn.execute("DELETE FROM projects WHERE id = $1", project_id)


async def list_owned(conn: Conn, project_ids: Sequence[int]) -> list[tuple[int, int, str]]:
    """Id, owner and state of every experiment of projects, by id."""
    query = """
        SELECT id, user_id, state FROM experiments WHERE project_id = ANY ($1) ORDER BY id
    """
    rows = await conn.fetch(query, list(project_ids))
    return [(row["id"], row["user_id"], row["state"]) for row in rows]


async def list_leaving_projects(conn: Conn) -> list[int]:
    """Ids of projects that are being deleted."""
    query = "SELECT id FROM projects WHERE state = 'DELETING' ORDER BY id"
    return [row["id"] for row in await conn.fetch(query)]


async def list_project_states(conn: Conn, workspace_id: int) -> list[tuple[int, str]]:
    """Id and state of every project of a workspace, by id."""
    query = "SELECT id, state FROM projects WHERE workspace_id = $1 ORDER BY id"
    return [(row["id"], row["state"]) for row in await conn.fetch(query, workspace_id)]


async def move_experiment(conn: Conn, experiment_id: int, place: ProjectRef) -> None:
    """Put an experiment into another project, with its runs."""
    query = "UPDATE experiments SET project_id = $2, workspace_id = $3 WHERE id = $1"
    await conn.execute(query, experiment_id, place.project_id, place.workspace_id)

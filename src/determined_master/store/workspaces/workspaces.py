"""Rows of workspaces, and who pinned them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from determined_master.records.workspaces import WorkspaceRow
from determined_master.store.db import Conn

COLUMNS = frozenset(
    {
        "name",
        "archived",
        "state",
        "error_message",
        "agent_uid",
        "agent_gid",
        "agent_user",
        "agent_group",
        "checkpoint_storage",
        "default_compute_pool",
        "default_aux_pool",
    }
)
"""The columns that can be set and changed."""

_LISTED = """
    SELECT w.id, w.name, w.user_id, u.username, w.archived, w.immutable, w.state,
           w.error_message, w.agent_uid, w.agent_gid, w.agent_user, w.agent_group,
           w.checkpoint_storage, w.default_compute_pool, w.default_aux_pool, n.pinned_at,
           (SELECT count(*) FROM projects p WHERE p.workspace_id = w.id) AS num_projects,
           (SELECT count(*) FROM experiments e WHERE e.workspace_id = w.id) AS num_experiments,
           (SELECT b.namespace FROM namespace_bindings b
              JOIN made_namespaces m USING (manager, namespace, workspace_id)
             WHERE b.workspace_id = w.id ORDER BY manager LIMIT 1) AS made_namespace
      FROM workspaces w
      JOIN users u ON u.id = w.user_id
      LEFT JOIN workspace_pins n ON n.workspace_id = w.id AND n.user_id = $1
"""


async def list_workspaces(
    conn: Conn, viewer_id: int, *, among: Sequence[int] | None = None
) -> list[WorkspaceRow]:
    """Workspaces by id, all or those among these; pins are those of the viewer."""
    if among is None:
        rows = await conn.fetch(f"{_LISTED} ORDER BY w.id", viewer_id)
    else:
        query = f"{_LISTED} WHERE w.id = ANY ($2) ORDER BY w.id"
        rows = await conn.fetch(query, viewer_id, list(among))
    return [WorkspaceRow(**row) for row in rows]


async def find_workspace(conn: Conn, workspace_id: int, viewer_id: int) -> WorkspaceRow | None:
    """The workspace of that id; the pin is that of the viewer."""
    row = await conn.fetchrow(f"{_LISTED} WHERE w.id = $2", viewer_id, workspace_id)
    return WorkspaceRow(**row) if row else None


async def lock_workspace(conn: Conn, workspace_id: int, viewer_id: int) -> WorkspaceRow | None:
    """The same, locked until the transaction ends."""
    await conn.execute("SELECT FROM workspaces WHERE id = $1 FOR UPDATE", workspace_id)
    return await find_workspace(conn, workspace_id, viewer_id)


async def insert_workspace(conn: Conn, user_id: int, values: Mapping[str, Any]) -> int:
    """Store a workspace; its id.

    Raises:
        asyncpg.UniqueViolationError: the name is taken, in whatever case.
    """
    names = ["user_id", *sorted(values)]
    assert values.keys() <= COLUMNS
    marks = ", ".join(f"${i}" for i in range(1, len(names) + 1))
    query = f"INSERT INTO workspaces ({', '.join(names)}) VALUES ({marks}) RETURNING id"
    return int(await conn.fetchval(query, user_id, *[values[n] for n in names[1:]]))


async def update_workspace(conn: Conn, workspace_id: int, values: Mapping[str, Any]) -> None:
    """Change columns of a workspace.

    Raises:
        asyncpg.UniqueViolationError: the name is taken, in whatever case.
    """
    if not values:
        return
    assert values.keys() <= COLUMNS
    names = sorted(values)
    changes = ", ".join(f"{name} = ${i}" for i, name in enumerate(names, start=2))
    query = f"UPDATE workspaces SET {changes} WHERE id = $1"
    await conn.execute(query, workspace_id, *[values[n] for n in names])


async def delete_workspace(conn: Conn, workspace_id: int) -> None:
    """Delete an empty workspace, its templates and its pins; its models go to the first one."""
    await conn.execute("UPDATE models SET workspace_id = 1 WHERE workspace_id = $1", workspace_id)
    await conn.execute("DELETE FROM templates WHERE workspace_id = $1", workspace_id)
    await conn.execute("DELETE FROM workspaces WHERE id = $1", workspace_id)


async def insert_pin(conn: Conn, workspace_id: int, user_id: int, at: datetime) -> None:
    """Pin a workspace for a user; repeating it changes nothing."""
    query = """
        INSERT INTO workspace_pins (workspace_id, user_id, pinned_at) VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING
    """
    await conn.execute(query, workspace_id, user_id, at)


async def delete_pin(conn: Conn, workspace_id: int, user_id: int) -> None:
    """Take a pin away."""
    query = "DELETE FROM workspace_pins WHERE workspace_id = $1 AND user_id = $2"
    await conn.execute(query, workspace_id, user_id)


async def list_leaving_workspaces(conn: Conn) -> list[int]:
    """Ids of workspaces that are being deleted."""
    query = "SELECT id FROM workspaces WHERE state = 'DELETING' ORDER BY id"
    return [row["id"] for row in await conn.fetch(query)]


async def find_agent_user(conn: Conn, user_id: int, workspace_id: int) -> dict[str, Any]:
    """Whom a user's tasks in a workspace run as on agents: the user's own link, and over it the
    workspace's, field by field; a name without a value stays with the cluster's default."""
    query = """
        SELECT coalesce(w.agent_user, u.agent_user) AS "user",
               coalesce(w.agent_uid, u.agent_uid) AS uid,
               coalesce(w.agent_group, u.agent_group) AS "group",
               coalesce(w.agent_gid, u.agent_gid) AS gid
          FROM users u, workspaces w WHERE u.id = $1 AND w.id = $2
    """
    row = await conn.fetchrow(query, user_id, workspace_id)
    return {name: value for name, value in row.items() if value is not None} if row else {}

"""Rows of project visits: when each user last opened a project."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from determined_master.store.db import Conn


async def upsert_visit(conn: Conn, user_id: int, project_id: int, at: datetime) -> bool:
    """Store a visit in place of the user's earlier one; whether there is such a project."""
    query = """
        INSERT INTO project_visits (user_id, project_id, visited_at)
        SELECT $1, id, $3 FROM projects WHERE id = $2
            ON CONFLICT (user_id, project_id) DO UPDATE SET visited_at = $3
    """
    return bool((await conn.execute(query, user_id, project_id, at)).endswith(" 1"))


async def list_visited_ids(
    conn: Conn, user_id: int, limit: int, *, among: Sequence[int] | None
) -> list[int]:
    """The projects that a user has visited, in these workspaces, the last first."""
    query = """
        SELECT v.project_id FROM project_visits v JOIN projects p ON p.id = v.project_id
         WHERE v.user_id = $1 AND ($3::int[] IS NULL OR p.workspace_id = ANY ($3))
         ORDER BY v.visited_at DESC, v.project_id LIMIT $2
    """
    return [row["project_id"] for row in await conn.fetch(query, user_id, limit, among)]

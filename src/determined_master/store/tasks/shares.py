"""Rows of shares: users and groups who may enter a notebook or a shell of somebody else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from determined_master.records.tasks import ShareRow

if TYPE_CHECKING:
    from determined_master.store.db import Conn


async def list_shares(conn: Conn, task_id: str) -> list[ShareRow]:
    """All shares of a task: users by name, then groups by name."""
    query = """
        SELECT u.username, g.name AS group_name, b.username AS shared_by, s.shared_at
          FROM task_shares s
          LEFT JOIN users u ON u.id = s.user_id
          LEFT JOIN user_groups g ON g.id = s.group_id
          LEFT JOIN users b ON b.id = s.shared_by
         WHERE s.task_id = $1
         ORDER BY u.username NULLS LAST, g.name
    """
    return [ShareRow(**row) for row in await conn.fetch(query, task_id)]


async def count_shares(conn: Conn, task_id: str) -> int:
    """How many users and groups may enter a task, besides its owner."""
    query = "SELECT count(*) FROM task_shares WHERE task_id = $1"
    return int(await conn.fetchval(query, task_id))


async def has_share(conn: Conn, task_id: str, user_id: int) -> bool:
    """Whether a user, or a group of theirs, may enter a task."""
    query = """
        SELECT EXISTS (
            SELECT FROM task_shares s
             WHERE s.task_id = $1
               AND (s.user_id = $2
                    OR s.group_id IN (SELECT m.group_id FROM user_group_members m
                                       WHERE m.user_id = $2)))
    """
    return bool(await conn.fetchval(query, task_id, user_id))


async def was_shared(conn: Conn, task_id: str) -> bool:
    """Whether a task is shared, or was."""
    query = "SELECT was_shared FROM interactive_tasks WHERE task_id = $1"
    return bool(await conn.fetchval(query, task_id))


async def list_groups_named(conn: Conn, names: Sequence[str]) -> dict[str, int]:
    """The ids of groups by their names, of those that there are."""
    query = "SELECT name, id FROM user_groups WHERE name = ANY ($1)"
    return dict(await conn.fetch(query, list(names)))


async def insert_shares(
    conn: Conn,
    task_id: str,
    users_and_groups: tuple[Sequence[int], Sequence[int]],
    shared_by: int,
    now: datetime,
) -> None:
    """Let users and groups in; those who may enter already stay as they are."""
    query = """
        WITH mark AS (UPDATE interactive_tasks SET was_shared = true WHERE task_id = $1)
        INSERT INTO task_shares (task_id, user_id, group_id, shared_by, shared_at)
        SELECT $1::text, u, NULL::int, $4::int, $5::timestamptz FROM unnest($2::int[]) u
         UNION ALL
        SELECT $1, NULL::int, g, $4, $5 FROM unnest($3::int[]) g
        ON CONFLICT DO NOTHING
    """
    users, groups = users_and_groups
    await conn.execute(query, task_id, list(users), list(groups), shared_by, now)


async def delete_shares(
    conn: Conn, task_id: str, users_and_groups: tuple[Sequence[int], Sequence[int]]
) -> None:
    """Let these users and groups in no longer."""
    query = """
        DELETE FROM task_shares
         WHERE task_id = $1 AND (user_id = ANY ($2) OR group_id = ANY ($3))
    """
    users, groups = users_and_groups
    await conn.execute(query, task_id, list(users), list(groups))

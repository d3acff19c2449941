"""How far the output of each container is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.ports.orders import LogPlace
from determined_master.store.db import Conn


async def lock_cursor(conn: Conn, container_id: str, task_id: str) -> int:
    """Lock a container's cursor; the number of its last stored line, 0 at first."""
    await conn.execute(
        "INSERT INTO log_cursors (container_id, task_id, last_seq) VALUES ($1, $2, 0) "
        "ON CONFLICT DO NOTHING",
        container_id,
        task_id,
    )
    query = "SELECT last_seq FROM log_cursors WHERE container_id = $1 FOR UPDATE"
    return int(await conn.fetchval(query, container_id))


async def find_cursor(conn: Conn, container_id: str) -> tuple[int, LogPlace | None] | None:
    """Number of a container's last stored line, and its place in a pod's log; None without any."""
    query = """
        SELECT last_seq, place::text FROM log_cursors WHERE container_id = $1 AND last_seq > 0
    """
    row = await conn.fetchrow(query, container_id)
    if row is None:
        return None
    text = row["place"]
    place = None if text is None else msgspec.json.decode(text, type=LogPlace)
    return row["last_seq"], place


async def find_times(
    conn: Conn, task_id: str, container_id: str
) -> tuple[datetime, datetime] | None:
    """Times of the first and of the latest stored line of a container; reads all of them."""
    query = """
        WITH own AS (
            SELECT id, logged_at FROM task_logs
             WHERE task_id = $1 AND container_id = $2 AND source = 'task'
        )
        SELECT (SELECT logged_at FROM own ORDER BY id LIMIT 1) AS first_at,
               (SELECT max(logged_at) FROM own) AS last_at
         WHERE EXISTS (SELECT FROM own)
    """
    row = await conn.fetchrow(query, task_id, container_id)
    return None if row is None else (row["first_at"], row["last_at"])


async def update_cursor(
    conn: Conn, container_id: str, seq: int, place: LogPlace | None = None
) -> None:
    """Move a container's cursor; the place of its last line in a pod's log stays without one."""
    query = """
        UPDATE log_cursors SET last_seq = $2, place = coalesce($3::text::jsonb, place)
         WHERE container_id = $1
    """
    text = None if place is None else msgspec.json.encode(place).decode()
    await conn.execute(query, container_id, seq, text)


async def have_completed(conn: Conn, container_ids: Sequence[str]) -> bool:
    """Whether the last line of each of these containers is stored and was looked at."""
    query = """
        SELECT count(*) FROM log_cursors WHERE container_id = ANY ($1::uuid[]) AND is_complete
    """
    return int(await conn.fetchval(query, list(container_ids))) == len(set(container_ids))


async def complete_cursors(conn: Conn, container_ids: Sequence[str]) -> None:
    """Take the output of these containers for whole."""
    query = "UPDATE log_cursors SET is_complete = true WHERE container_id = ANY ($1)"
    await conn.execute(query, list(container_ids))


async def is_complete(conn: Conn, task_ids: Sequence[str]) -> bool:
    """Whether the tasks have ended and all of their containers' output is stored."""
    query = """
        SELECT NOT EXISTS (SELECT FROM tasks WHERE id = ANY ($1) AND ended_at IS NULL)
           AND NOT EXISTS (SELECT FROM log_cursors WHERE task_id = ANY ($1) AND NOT is_complete)
    """
    return bool(await conn.fetchval(query, task_ids))

"""The message that admins show to everybody on the cluster."""

from __future__ import annotations

from datetime import datetime

from determined_master.records.cluster import MessageRow
from determined_master.store.db import Conn


async def find_message(conn: Conn, now: datetime) -> MessageRow | None:
    """The cluster's message unless it has ended; it may start later."""
    query = """
        SELECT message, created_at, starts_at, ends_at FROM cluster_messages
         WHERE ends_at IS NULL OR ends_at > $1 ORDER BY id DESC LIMIT 1
    """
    row = await conn.fetchrow(query, now)
    return MessageRow(**row) if row else None


async def replace_message(conn: Conn, user_id: int, new: MessageRow) -> None:
    """Store a message; the ones before it end."""
    await end_messages(conn, new.created_at)
    query = """
        INSERT INTO cluster_messages (message, user_id, created_at, starts_at, ends_at)
        VALUES ($1, $2, $3, $4, $5)
    """
    values = (new.message, user_id, new.created_at, new.starts_at, new.ends_at)
    await conn.execute(query, *values)


async def end_messages(conn: Conn, now: datetime) -> None:
    """Show no message any more."""
    query = "UPDATE cluster_messages SET ends_at = $1 WHERE ends_at IS NULL OR ends_at > $1"
    await conn.execute(query, now)

"""Rows of the states behind the web UI's short links."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from determined_master.records.pages import LinkRow

if TYPE_CHECKING:
    from determined_master.domain.allowances import Allowance
    from determined_master.store.db import Conn


async def upsert_link(
    conn: Conn, owner_id: int, link_id: str, state: str, digest: bytes, now: datetime
) -> str:
    """Store a state, or renew the link that the user has for it; the id of the link."""
    query = """
        INSERT INTO ui_links (id, owner_id, digest, state, created_at)
        VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (owner_id, digest) DO UPDATE SET created_at = excluded.created_at
        RETURNING id
    """
    return str(await conn.fetchval(query, link_id, owner_id, digest, state, now))


async def delete_old_links(
    conn: Conn, owner_id: int, expired: datetime, allowance: Allowance
) -> None:
    """Delete a user's links from before `expired`, and all but the newest that are allowed."""
    query = """
        DELETE FROM ui_links
         WHERE owner_id = $1
           AND (created_at < $2 OR id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER newest AS place,
                           sum(octet_length(state)) OVER newest AS size
                      FROM ui_links WHERE owner_id = $1
                    WINDOW newest AS (ORDER BY created_at DESC, id)) l
                 WHERE place > $3 OR size > $4))
    """
    await conn.execute(query, owner_id, expired, allowance.count, allowance.size_bytes)


async def find_link(conn: Conn, link_id: str, expired: datetime) -> LinkRow | None:
    """The state of a link that was not made before `expired`."""
    query = "SELECT state, created_at FROM ui_links WHERE id = $1 AND created_at >= $2"
    row = await conn.fetchrow(query, link_id, expired)
    return None if row is None else LinkRow(*row)

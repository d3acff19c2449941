"""Rows of the audit log. Its table is named `user_acts`, as in the first releases."""

from __future__ import annotations

from datetime import datetime

import msgspec

from determined_master.records.audit import AuditEntry, StoredAuditEntry
from determined_master.store.db import Conn


async def insert_entry(conn: Conn, entry: AuditEntry) -> None:
    """Store an entry."""
    query = """
        INSERT INTO user_acts (at, user_id, username, operation, method, path, details)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
    """
    await conn.execute(query, *msgspec.structs.astuple(entry))


async def list_entries(
    conn: Conn, *, before: int, user_id: int, since: datetime | None, limit: int
) -> list[StoredAuditEntry]:
    """Entries with ids below `before` (0 for all), of a user (0 for all), the newest first."""
    query = """
        SELECT id, at, user_id, username, operation, method, path, details
          FROM user_acts
         WHERE ($1::bigint = 0 OR id < $1) AND ($2::int = 0 OR user_id = $2)
           AND ($3::timestamptz IS NULL OR at >= $3)
         ORDER BY id DESC LIMIT $4
    """
    rows = await conn.fetch(query, before, user_id, since, limit)
    return [StoredAuditEntry(**row) for row in rows]


async def delete_old(conn: Conn, before: datetime) -> None:
    """Delete entries from before some instant."""
    await conn.execute("DELETE FROM user_acts WHERE at < $1", before)

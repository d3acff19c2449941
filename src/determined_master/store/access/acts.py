"""Rows of acts of users on the cluster itself."""

from __future__ import annotations

from datetime import datetime

from determined_master.records.acts import ActRow, NewAct
from determined_master.store.db import Conn


async def insert_act(conn: Conn, act: NewAct) -> None:
    """Store an act."""
    query = """
        INSERT INTO user_acts (at, user_id, username, operation, method, path)
        VALUES ($1, $2, $3, $4, $5, $6)
    """
    values = (act.at, act.user_id, act.username, act.operation, act.method, act.path)
    await conn.execute(query, *values)


async def list_acts(
    conn: Conn, *, before: int, user_id: int, since: datetime | None, limit: int
) -> list[ActRow]:
    """Acts with lower ids than `before` (0 for all), of a user (0 for all), the newest first."""
    query = """
        SELECT id, at, user_id, username, operation, method, path FROM user_acts
         WHERE ($1::bigint = 0 OR id < $1) AND ($2::int = 0 OR user_id = $2)
           AND ($3::timestamptz IS NULL OR at >= $3)
         ORDER BY id DESC LIMIT $4
    """
    return [ActRow(**row) for row in await conn.fetch(query, before, user_id, since, limit)]


async def delete_old(conn: Conn, before: datetime) -> None:
    """Delete acts from before some instant."""
    await conn.execute("DELETE FROM user_acts WHERE at < $1", before)

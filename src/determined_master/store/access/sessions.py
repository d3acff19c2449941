"""Rows of sessions: the users of tokens. Only hashes of tokens are stored."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from determined_master.records.access import UserRow
from determined_master.store.access.users import COLUMNS
from determined_master.store.db import Conn

SessionKind = Literal["login", "access", "task"]


class SessionRow(msgspec.Struct, frozen=True):
    """One session and its user."""

    id: int
    kind: SessionKind
    expires_at: datetime
    revoked_at: datetime | None
    user: UserRow


async def insert_session(
    conn: Conn,
    user_id: int,
    token_hash: bytes,
    *,
    created_at: datetime,
    expires_at: datetime,
    kind: SessionKind = "login",
) -> int:
    """Open a session; its id."""
    query = """
        INSERT INTO user_sessions (user_id, token_hash, kind, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5) RETURNING id
    """
    session_id: int = await conn.fetchval(query, user_id, token_hash, kind, created_at, expires_at)
    return session_id


async def find_session(conn: Conn, token_hash: bytes) -> SessionRow | None:
    """The session of a token, expired and revoked ones too."""
    columns = ", ".join(f"u.{name.strip()}" for name in COLUMNS.split(","))
    query = f"""
        SELECT s.id AS session_id, s.kind, s.expires_at, s.revoked_at, {columns}
          FROM user_sessions s JOIN users u ON u.id = s.user_id
         WHERE s.token_hash = $1
    """
    row = await conn.fetchrow(query, token_hash)
    if row is None:
        return None
    values = dict(row)
    return SessionRow(
        id=values.pop("session_id"),
        kind=values.pop("kind"),
        expires_at=values.pop("expires_at"),
        revoked_at=values.pop("revoked_at"),
        user=UserRow(**values),
    )


async def find_login_time(conn: Conn, session_id: int) -> datetime | None:
    """When the login of a session was; None for sessions without a login."""
    query = "SELECT created_at FROM user_sessions WHERE id = $1 AND kind = 'login'"
    login_time: datetime | None = await conn.fetchval(query, session_id)
    return login_time


async def update_revoked(conn: Conn, session_id: int, now: datetime) -> None:
    """End one session."""
    query = "UPDATE user_sessions SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL"
    await conn.execute(query, session_id, now)


async def update_all_revoked(conn: Conn, user_id: int, now: datetime) -> None:
    """End every session of a user."""
    query = "UPDATE user_sessions SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL"
    await conn.execute(query, user_id, now)


async def delete_expired(conn: Conn, before: datetime) -> None:
    """Delete sessions that expired before that time, except those of stored allocations."""
    query = """
        DELETE FROM user_sessions s WHERE s.expires_at < $1
           AND NOT EXISTS (SELECT FROM allocations a WHERE a.session_id = s.id)
    """
    await conn.execute(query, before)

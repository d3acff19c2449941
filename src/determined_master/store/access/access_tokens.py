"""Rows of access tokens: sessions that were made for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.records.access import TokenRow
from determined_master.store.db import Conn


class TokenFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which tokens to list; empty values and None do not restrict the list."""

    ids: Sequence[int] = ()
    user_id: int | None = None
    good_at: datetime | None = None
    """Those neither revoked nor expired then."""


SORTS = {
    "id": "id",
    "user_id": "user_id",
    "expiry": "expires_at",
    "created_at": "created_at",
    "kind": "kind",
    "revoked": "revoked_at IS NOT NULL",
    "description": "description",
}
_COLUMNS = "id, user_id, expires_at, created_at, revoked_at, description"
_FILTER = """
     WHERE kind = 'access' AND (cardinality($1::int[]) = 0 OR id = ANY ($1))
       AND ($2::int IS NULL OR user_id = $2)
       AND ($3::timestamptz IS NULL OR (revoked_at IS NULL AND expires_at > $3))
"""


async def insert_token(conn: Conn, token_hash: bytes, new: TokenRow) -> int:
    """Store an access token, whose id is given now; the id."""
    query = """
        INSERT INTO user_sessions (user_id, token_hash, kind, created_at, expires_at, description)
        VALUES ($1, $2, 'access', $3, $4, $5) RETURNING id
    """
    values = new.user_id, token_hash, new.created_at, new.expires_at, new.description
    return int(await conn.fetchval(query, *values))


async def measure_tokens(conn: Conn, user_id: int, now: datetime) -> tuple[int, int]:
    """Number of a user's valid access tokens, and bytes of their descriptions."""
    query = """
        SELECT count(*), coalesce(sum(octet_length(description)), 0)::bigint
          FROM user_sessions
         WHERE user_id = $1 AND kind = 'access' AND revoked_at IS NULL AND expires_at > $2
    """
    row = await conn.fetchrow(query, user_id, now)
    return (0, 0) if row is None else (row[0], row[1])


async def find_token(conn: Conn, token_id: int) -> TokenRow | None:
    """The access token of that id; not another session that has it."""
    query = f"SELECT {_COLUMNS} FROM user_sessions WHERE id = $1 AND kind = 'access'"
    row = await conn.fetchrow(query, token_id)
    return TokenRow(*row) if row else None


async def count_tokens(conn: Conn, token_filter: TokenFilter) -> int:
    """How many match."""
    query = f"SELECT count(*) FROM user_sessions {_FILTER}"
    return int(await conn.fetchval(query, *_values(token_filter)))


async def list_tokens(
    conn: Conn, token_filter: TokenFilter, *, sort: str, is_descending: bool, start: int, end: int
) -> list[TokenRow]:
    """Those `[start, end)` that match, in the order of one of `SORTS`, then of id."""
    order = "DESC" if is_descending else "ASC"
    query = f"""
        SELECT {_COLUMNS} FROM user_sessions {_FILTER}
         ORDER BY {SORTS[sort]} {order}, id {order} OFFSET $4 LIMIT $5
    """
    rows = await conn.fetch(query, *_values(token_filter), start, end - start)
    return [TokenRow(*row) for row in rows]


async def update_token(
    conn: Conn, token_id: int, *, description: str | None, revoked_at: datetime | None
) -> None:
    """Apply a change; a revoked token stays revoked."""
    query = """
        UPDATE user_sessions
           SET description = coalesce($2, description), revoked_at = coalesce(revoked_at, $3)
         WHERE id = $1 AND kind = 'access'
    """
    await conn.execute(query, token_id, description, revoked_at)


def _values(token_filter: TokenFilter) -> tuple[object, ...]:
    return list(token_filter.ids), token_filter.user_id, token_filter.good_at

"""Rows of users and of their settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.records.access import UserFilter, UserRow
from determined_master.store.db import Conn

COLUMNS = """id, username, display_name, admin, active, remote, modified_at, last_auth_at,
       agent_uid, agent_gid, agent_user, agent_group"""

SORT_COLUMNS = {
    "id": "id",
    "display_name": "lower(display_name)",
    "username": "username",
    "name": "lower(coalesce(nullif(display_name, ''), username))",
    "admin": "admin",
    "active": "active",
    "remote": "remote",
    "modified_at": "modified_at",
    "last_auth_at": "coalesce(last_auth_at, '-infinity')",
}
PATCHABLE = frozenset(
    {
        "username",
        "display_name",
        "admin",
        "active",
        "remote",
        "password_hash",
        "agent_uid",
        "agent_gid",
        "agent_user",
        "agent_group",
    }
)


_FILTER = """
         WHERE ($1 = '' OR username ILIKE $2 OR display_name ILIKE $2)
           AND ($3::boolean IS NULL OR active = $3)
           AND ($4::boolean IS NULL OR admin = $4)
           AND ($5::int[] = '{}' OR EXISTS (
               SELECT FROM role_assignments a
                WHERE a.user_id = users.id AND a.role_id = ANY ($5)))
"""


async def find_user(conn: Conn, user_id: int) -> UserRow | None:
    """The user of that id."""
    row = await conn.fetchrow(f"SELECT {COLUMNS} FROM users WHERE id = $1", user_id)
    return UserRow(**row) if row else None


async def find_user_by_name(conn: Conn, username: str) -> UserRow | None:
    """The user of that name, in any case."""
    query = f"SELECT {COLUMNS} FROM users WHERE lower(username) = lower($1)"
    row = await conn.fetchrow(query, username)
    return UserRow(**row) if row else None


async def list_known(conn: Conn, user_ids: Sequence[int]) -> set[int]:
    """Those of these ids that are users."""
    query = "SELECT id FROM users WHERE id = ANY ($1)"
    return {row["id"] for row in await conn.fetch(query, list(user_ids))}


async def list_users_of(conn: Conn, user_ids: Sequence[int]) -> list[UserRow]:
    """Users by their ids, in the order of these; one that is not there is left out."""
    query = f"SELECT {COLUMNS} FROM users WHERE id = ANY ($1) ORDER BY id"
    return [UserRow(**row) for row in await conn.fetch(query, list(user_ids))]


async def find_password(conn: Conn, username: str) -> tuple[UserRow, str | None] | None:
    """A user and the hash of their password, by name in any case."""
    query = f"SELECT {COLUMNS}, password_hash FROM users WHERE lower(username) = lower($1)"
    row = await conn.fetchrow(query, username)
    if row is None:
        return None
    values = dict(row)
    password_hash = values.pop("password_hash")
    return UserRow(**values), password_hash


async def update_password_hash(conn: Conn, user_id: int, *, before: str, after: str) -> None:
    """Replace the hash of the same password, unless the password has changed since."""
    await conn.execute(
        "UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2",
        user_id,
        before,
        after,
    )


async def find_namesake(conn: Conn, name: str, *, but: int) -> int | None:
    """Id of another user whose user name or display name is this, in any case."""
    query = """
        SELECT id FROM users
         WHERE id <> $2 AND (lower(username) = lower($1) OR lower(display_name) = lower($1))
         ORDER BY id LIMIT 1
    """
    namesake: int | None = await conn.fetchval(query, name, but)
    return namesake


async def count_users(conn: Conn, user_filter: UserFilter) -> int:
    """How many users match."""
    total: int = await conn.fetchval(
        f"SELECT count(*) FROM users {_FILTER}", *_values(user_filter)
    )
    return total


async def list_users(
    conn: Conn, user_filter: UserFilter, *, sort: str, is_descending: bool, start: int, end: int
) -> list[UserRow]:
    """Matching users `[start, end)` in the order of one of `SORT_COLUMNS`, then of id."""
    direction = "DESC" if is_descending else "ASC"
    query = f"""
        SELECT {COLUMNS} FROM users {_FILTER}
         ORDER BY {SORT_COLUMNS[sort]} {direction}, id {direction}
        OFFSET $6 LIMIT $7
    """
    rows = await conn.fetch(query, *_values(user_filter), start, end - start)
    return [UserRow(**row) for row in rows]


async def insert_user(conn: Conn, values: Mapping[str, Any], now: datetime) -> UserRow:
    """Make a user from columns of `PATCHABLE`.

    Raises:
        asyncpg.UniqueViolationError: the name is taken.
    """
    names = _checked(values)
    places = ", ".join(f"${i + 2}" for i in range(len(names)))
    query = f"""
        INSERT INTO users (modified_at, {", ".join(names)}) VALUES ($1, {places})
        RETURNING {COLUMNS}
    """
    row = await conn.fetchrow(query, now, *(values[n] for n in names))
    return UserRow(**row)


async def update_user(
    conn: Conn, user_id: int, values: Mapping[str, Any], now: datetime
) -> UserRow | None:
    """Change columns of `PATCHABLE`; None when there is no such user.

    Raises:
        asyncpg.UniqueViolationError: the new name is taken.
    """
    names = _checked(values)
    changes = "".join(f", {name} = ${i + 3}" for i, name in enumerate(names))
    query = f"UPDATE users SET modified_at = $2{changes} WHERE id = $1 RETURNING {COLUMNS}"
    row = await conn.fetchrow(query, user_id, now, *(values[n] for n in names))
    return UserRow(**row) if row else None


async def update_active(
    conn: Conn, user_ids: Collection[int], now: datetime, *, is_active: bool
) -> set[int]:
    """Let users in or keep them out; the ids of those that exist.

    Their rows are locked by id, so that two requests for the same users never wait for each other.
    """
    query = """
        WITH locked AS MATERIALIZED (
            SELECT id FROM users WHERE id = ANY ($1::int[]) ORDER BY id FOR NO KEY UPDATE
        )
        UPDATE users SET active = $3, modified_at = $2
         WHERE id IN (SELECT id FROM locked)
        RETURNING id
    """
    return {row["id"] for row in await conn.fetch(query, sorted(user_ids), now, is_active)}


async def update_last_auth(conn: Conn, user_id: int, now: datetime) -> None:
    """Remember when a user last logged in."""
    await conn.execute("UPDATE users SET last_auth_at = $2 WHERE id = $1", user_id, now)


async def list_settings(conn: Conn, user_id: int) -> list[tuple[str, str, Any]]:
    """Key, path and value of each setting of a user's interface."""
    query = """
        SELECT key, storage_path, value FROM user_settings
         WHERE user_id = $1 ORDER BY storage_path, key
    """
    return [(r["key"], r["storage_path"], r["value"]) for r in await conn.fetch(query, user_id)]


async def update_setting(
    conn: Conn, user_id: int, key: str, storage_path: str, value: msgspec.Raw
) -> None:
    """Store one setting; `value` is JSON text."""
    query = """
        INSERT INTO user_settings (user_id, key, storage_path, value) VALUES ($1, $2, $3, $4)
            ON CONFLICT (user_id, storage_path, key) DO UPDATE SET value = excluded.value
    """
    await conn.execute(query, user_id, key, storage_path, value)


async def measure_settings(conn: Conn, user_id: int) -> tuple[int, int]:
    """Number and bytes of a user's settings."""
    query = """
        SELECT count(*), coalesce(sum(octet_length(key) + octet_length(storage_path)
                                      + octet_length(value::text)), 0)::bigint
          FROM user_settings WHERE user_id = $1
    """
    row = await conn.fetchrow(query, user_id)
    return (0, 0) if row is None else (row[0], row[1])


async def delete_setting(conn: Conn, user_id: int, key: str, storage_path: str) -> None:
    """Forget one setting."""
    query = "DELETE FROM user_settings WHERE user_id = $1 AND key = $2 AND storage_path = $3"
    await conn.execute(query, user_id, key, storage_path)


async def delete_settings(conn: Conn, user_id: int) -> None:
    """Forget all settings of a user."""
    await conn.execute("DELETE FROM user_settings WHERE user_id = $1", user_id)


def _checked(values: Mapping[str, Any]) -> list[str]:
    unknown = values.keys() - PATCHABLE
    if unknown:
        raise ValueError(f"not columns of users that may be written: {sorted(unknown)}")
    return sorted(values)


def _values(user_filter: UserFilter) -> tuple[Any, ...]:
    pattern = user_filter.name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    roles = list(user_filter.role_ids)
    return user_filter.name, f"%{pattern}%", user_filter.active, user_filter.admin, roles

"""Rows of user groups and their members."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.records.access import GroupRow, UserRow
from determined_master.store.access.users import COLUMNS
from determined_master.store.db import Conn

_FILTER = """
         WHERE ($1 = '' OR g.name = $1)
           AND ($2 = 0 OR EXISTS (SELECT FROM user_group_members m
                                   WHERE m.group_id = g.id AND m.user_id = $2))
"""


async def insert_group(conn: Conn, name: str) -> int:
    """Store a group; its id.

    Raises:
        asyncpg.UniqueViolationError: the name is taken.
    """
    return int(
        await conn.fetchval("INSERT INTO user_groups (name) VALUES ($1) RETURNING id", name)
    )


async def find_group(conn: Conn, group_id: int, *, is_locked: bool = False) -> GroupRow | None:
    """The group of that id; locked until the transaction ends, if so asked."""
    lock = " FOR UPDATE" if is_locked else ""
    row = await conn.fetchrow(f"SELECT id, name FROM user_groups WHERE id = $1{lock}", group_id)
    return GroupRow(**row) if row else None


async def count_groups(conn: Conn, name: str, member_id: int) -> int:
    """How many groups match."""
    query = f"SELECT count(*) FROM user_groups g {_FILTER}"
    return int(await conn.fetchval(query, name, member_id))


async def list_groups(
    conn: Conn, name: str, member_id: int, *, start: int, end: int
) -> list[GroupRow]:
    """Groups `[start, end)` by id, of that name (empty: any) with that member (0: any)."""
    query = f"""
        SELECT g.id, g.name,
               (SELECT count(*) FROM user_group_members m WHERE m.group_id = g.id) AS num_members
          FROM user_groups g {_FILTER} ORDER BY g.id OFFSET $3 LIMIT $4
    """
    rows = await conn.fetch(query, name, member_id, start, end - start)
    return [GroupRow(**row) for row in rows]


async def list_members(conn: Conn, group_ids: Sequence[int]) -> dict[int, list[UserRow]]:
    """The users of groups by id."""
    columns = ", ".join(f"u.{name.strip()}" for name in COLUMNS.split(","))
    query = f"""
        SELECT m.group_id, {columns}
          FROM user_group_members m JOIN users u ON u.id = m.user_id
         WHERE m.group_id = ANY ($1) ORDER BY m.group_id, u.id
    """
    by_group: dict[int, list[UserRow]] = {group_id: [] for group_id in group_ids}
    for row in await conn.fetch(query, list(group_ids)):
        values = dict(row)
        by_group[values.pop("group_id")].append(UserRow(**values))
    return by_group


async def list_known(conn: Conn, group_ids: Sequence[int]) -> set[int]:
    """Those of these ids that are groups; locked until the transaction ends."""
    query = "SELECT id FROM user_groups WHERE id = ANY ($1) ORDER BY id FOR SHARE"
    return {row["id"] for row in await conn.fetch(query, list(group_ids))}


async def update_name(conn: Conn, group_id: int, name: str) -> None:
    """Rename a group.

    Raises:
        asyncpg.UniqueViolationError: the name is taken.
    """
    await conn.execute("UPDATE user_groups SET name = $2 WHERE id = $1", group_id, name)


async def insert_members(
    conn: Conn, group_ids: Sequence[int], user_ids: Sequence[int], *, is_repeatable: bool = False
) -> None:
    """Put each of these users into each of these groups.

    Args:
        conn: a connection.
        group_ids: of groups that there are.
        user_ids: in any order.
        is_repeatable: whether it is no error when one is in it already.

    Raises:
        asyncpg.UniqueViolationError: one is in it already.
        asyncpg.ForeignKeyViolationError: there is no such user.
    """
    again = "ON CONFLICT DO NOTHING" if is_repeatable else ""
    query = f"""
        INSERT INTO user_group_members (group_id, user_id)
        SELECT g, u FROM unnest($1::int[]) g, unnest($2::int[]) u {again}
    """
    await conn.execute(query, list(group_ids), list(user_ids))


async def delete_members(conn: Conn, group_ids: Sequence[int], user_ids: Sequence[int]) -> int:
    """Take users out of groups; how many memberships that ended."""
    query = "DELETE FROM user_group_members WHERE group_id = ANY ($1) AND user_id = ANY ($2)"
    status: str = await conn.execute(query, list(group_ids), list(user_ids))
    return int(status.rpartition(" ")[2])


async def delete_group(conn: Conn, group_id: int) -> bool:
    """Forget a group, its members' place in it and its roles; whether there was one."""
    status: str = await conn.execute("DELETE FROM user_groups WHERE id = $1", group_id)
    return status.endswith(" 1")

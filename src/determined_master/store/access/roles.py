"""Rows of role assignments: the role of a user or group, in a workspace or in the cluster."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.domain.access.rights import Grant
from determined_master.records.access import AssignmentRow
from determined_master.store.db import Conn

_SELECT = "SELECT role_id, user_id, group_id, workspace_id FROM role_assignments"
_ORDER = """
    ORDER BY role_id, workspace_id NULLS FIRST, user_id NULLS LAST, group_id NULLS LAST
"""
_OF_USER = """
    (user_id = $1 OR group_id IN (SELECT group_id FROM user_group_members WHERE user_id = $1))
"""


async def list_grants(conn: Conn, user_id: int) -> list[Grant]:
    """The grants of a user, by their own roles and by those of their groups."""
    query = f"""
        SELECT DISTINCT role_id, coalesce(workspace_id, 0) AS workspace_id
          FROM role_assignments WHERE {_OF_USER}
         ORDER BY role_id, workspace_id
    """
    return [Grant(row["role_id"], row["workspace_id"]) for row in await conn.fetch(query, user_id)]


async def list_of_user(conn: Conn, user_id: int) -> list[AssignmentRow]:
    """A user's own roles and those of their groups."""
    return await _list(conn, f"{_SELECT} WHERE {_OF_USER} {_ORDER}", user_id)


async def list_of_group(conn: Conn, group_id: int) -> list[AssignmentRow]:
    """A group's roles."""
    return await _list(conn, f"{_SELECT} WHERE group_id = $1 {_ORDER}", group_id)


async def list_of_roles(conn: Conn, role_ids: Sequence[int]) -> list[AssignmentRow]:
    """All assignments of these roles."""
    return await _list(conn, f"{_SELECT} WHERE role_id = ANY ($1) {_ORDER}", list(role_ids))


async def list_in_workspace(conn: Conn, workspace_id: int) -> list[AssignmentRow]:
    """All assignments in just this workspace."""
    return await _list(conn, f"{_SELECT} WHERE workspace_id = $1 {_ORDER}", workspace_id)


async def insert_assignments(conn: Conn, new: Sequence[AssignmentRow]) -> None:
    """Store assignments.

    Raises:
        asyncpg.UniqueViolationError: one of them is there already.
        asyncpg.ForeignKeyViolationError: a user, group or workspace is not there.
    """
    query = """
        INSERT INTO role_assignments (role_id, user_id, group_id, workspace_id)
        SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[])
    """
    await conn.execute(query, *_columns(new))


async def delete_assignments(conn: Conn, gone: Sequence[AssignmentRow]) -> int:
    """Forget assignments; how many of them there were."""
    query = """
        DELETE FROM role_assignments a
         USING unnest($1::int[], $2::int[], $3::int[], $4::int[]) g (role, usr, grp, workspace)
         WHERE a.role_id = g.role AND a.user_id IS NOT DISTINCT FROM g.usr
           AND a.group_id IS NOT DISTINCT FROM g.grp
           AND a.workspace_id IS NOT DISTINCT FROM g.workspace
    """
    status: str = await conn.execute(query, *_columns(gone))
    return int(status.rpartition(" ")[2])


def _columns(rows: Sequence[AssignmentRow]) -> list[list[int | None]]:
    return [list(column) for column in zip(*map(msgspec.structs.astuple, rows), strict=True)]


async def _list(conn: Conn, query: str, value: object) -> list[AssignmentRow]:
    return [AssignmentRow(**row) for row in await conn.fetch(query, value)]

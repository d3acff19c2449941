"""Rows of templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asyncpg import Record

from determined_master.records.configs import TemplateRow
from determined_master.store.db import Conn

_COLUMNS = """
    t.name, t.workspace_id, t.config, t.owner_id, t.changed_by, u.username AS author,
    t.changed_at, t.is_admins
"""


async def find_template(conn: Conn, name: str) -> TemplateRow | None:
    """The template of that name."""
    query = f"""
        SELECT {_COLUMNS} FROM templates t LEFT JOIN users u ON u.id = t.changed_by
         WHERE t.name = $1
    """
    return _row(await conn.fetchrow(query, name))


async def lock_template(conn: Conn, name: str) -> TemplateRow | None:
    """The same, locked against changes until the transaction ends."""
    await conn.execute("SELECT FROM templates WHERE name = $1 FOR UPDATE", name)
    return await find_template(conn, name)


async def list_templates(
    conn: Conn,
    name: str,
    workspace_ids: Sequence[int],
    *,
    newest_name_first: bool,
    among: Sequence[int] | None = None,
) -> list[TemplateRow]:
    """Templates whose name contains `name`, of some workspaces (none: of all) that are among
    these (None: all), by name."""
    query = f"""
        SELECT {_COLUMNS} FROM templates t LEFT JOIN users u ON u.id = t.changed_by
         WHERE strpos(lower(t.name), lower($1)) > 0
           AND (cardinality($2::int[]) = 0 OR t.workspace_id = ANY ($2))
           AND ($3::int[] IS NULL OR t.workspace_id = ANY ($3))
         ORDER BY t.name {"DESC" if newest_name_first else "ASC"}
    """
    values = name, list(workspace_ids), None if among is None else list(among)
    return [_must(row) for row in await conn.fetch(query, *values)]


async def insert_template(conn: Conn, new: TemplateRow) -> bool:
    """Store a template; False when the name is taken."""
    query = """
        INSERT INTO templates (
            name, workspace_id, config, owner_id, changed_by, changed_at, is_admins)
        VALUES ($1, $2, $3, $4, $4, now(), $5)
        ON CONFLICT (name) DO NOTHING
    """
    status: str = await conn.execute(
        query, new.name, new.workspace_id, new.config, new.owner_id, new.is_admins
    )
    return status.endswith(" 1")


async def update_template(
    conn: Conn, name: str, config: dict[str, Any], *, changed_by: int, is_admins: bool
) -> None:
    """Replace a template's configuration."""
    query = """
        UPDATE templates SET config = $2, changed_by = $3, changed_at = now(), is_admins = $4
         WHERE name = $1
    """
    await conn.execute(query, name, config, changed_by, is_admins)


async def measure_templates(conn: Conn, owner_id: int) -> tuple[int, int]:
    """Number and bytes of a user's templates."""
    query = """
        SELECT count(*), coalesce(sum(octet_length(config::text)), 0)::bigint
          FROM templates WHERE owner_id = $1
    """
    row = await conn.fetchrow(query, owner_id)
    return (0, 0) if row is None else (row[0], row[1])


async def rename_template(conn: Conn, old: str, new: str) -> None:
    """Give a template another name.

    Raises:
        asyncpg.UniqueViolationError: the new name is taken.
    """
    await conn.execute("UPDATE templates SET name = $2 WHERE name = $1", old, new)


async def delete_template(conn: Conn, name: str) -> None:
    """Forget a template."""
    await conn.execute("DELETE FROM templates WHERE name = $1", name)


async def has_workspace(conn: Conn, workspace_id: int) -> bool:
    """Whether there is such a workspace."""
    query = "SELECT EXISTS (SELECT FROM workspaces WHERE id = $1)"
    return bool(await conn.fetchval(query, workspace_id))


def _row(row: Record | None) -> TemplateRow | None:
    return None if row is None else _must(row)


def _must(row: Record) -> TemplateRow:
    return TemplateRow(**{**row, "author": row["author"] or ""})

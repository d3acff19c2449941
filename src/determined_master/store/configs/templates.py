"""Rows of templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from determined_master.records.configs import TemplateRow
from determined_master.store.db import Conn


async def find_template(conn: Conn, name: str) -> TemplateRow | None:
    """The template of that name."""
    query = "SELECT name, workspace_id, config FROM templates WHERE name = $1"
    row = await conn.fetchrow(query, name)
    return TemplateRow(**row) if row else None


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
        SELECT name, workspace_id, config FROM templates
         WHERE strpos(lower(name), lower($1)) > 0
           AND (cardinality($2::int[]) = 0 OR workspace_id = ANY ($2))
           AND ($3::int[] IS NULL OR workspace_id = ANY ($3))
         ORDER BY name {"DESC" if newest_name_first else "ASC"}
    """
    values = name, list(workspace_ids), None if among is None else list(among)
    return [TemplateRow(**row) for row in await conn.fetch(query, *values)]


async def insert_template(conn: Conn, new: TemplateRow) -> bool:
    """Store a template; False when the name is taken."""
    query = """
        INSERT INTO templates (name, workspace_id, config) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO NOTHING
    """
    status: str = await conn.execute(query, new.name, new.workspace_id, new.config)
    return status.endswith(" 1")


async def upsert_template(conn: Conn, new: TemplateRow) -> TemplateRow:
    """Store a template, or replace the configuration of the one that has the name."""
    query = """
        INSERT INTO templates (name, workspace_id, config) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET config = excluded.config
        RETURNING name, workspace_id, config
    """
    return TemplateRow(**await conn.fetchrow(query, new.name, new.workspace_id, new.config))


async def update_template(conn: Conn, name: str, config: dict[str, Any]) -> TemplateRow | None:
    """Replace a template's configuration; None when there is none of that name."""
    query = """
        UPDATE templates SET config = $2 WHERE name = $1 RETURNING name, workspace_id, config
    """
    row = await conn.fetchrow(query, name, config)
    return TemplateRow(**row) if row else None


async def rename_template(conn: Conn, old: str, new: str) -> TemplateRow | None:
    """Give a template another name; None when there is none of the old one.

    Raises:
        asyncpg.UniqueViolationError: the new name is taken.
    """
    query = "UPDATE templates SET name = $2 WHERE name = $1 RETURNING name, workspace_id, config"
    row = await conn.fetchrow(query, old, new)
    return TemplateRow(**row) if row else None


async def delete_template(conn: Conn, name: str) -> bool:
    """Forget a template; whether there was one."""
    status: str = await conn.execute("DELETE FROM templates WHERE name = $1", name)
    return status.endswith(" 1")


async def has_workspace(conn: Conn, workspace_id: int) -> bool:
    """Whether there is such a workspace."""
    query = "SELECT EXISTS (SELECT FROM workspaces WHERE id = $1)"
    return bool(await conn.fetchval(query, workspace_id))

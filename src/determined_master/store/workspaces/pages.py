"""Rows of the web UI's views and boards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from determined_master.records.pages import NewPage, PageKind, PagePlace, PageRow

if TYPE_CHECKING:
    from determined_master.store.db import Conn

_COLUMNS = """
    s.id, s.kind, s.project_id, p.name AS project_name, p.workspace_id, w.name AS workspace_name,
    p.user_id AS project_owner_id, w.user_id AS workspace_owner_id, s.owner_id,
    u.username AS owner_name, s.scope, s.name, s.is_default, s.version, s.created_at, s.updated_at
"""
_FROM = """
    ui_pages s JOIN projects p ON p.id = s.project_id JOIN workspaces w ON w.id = p.workspace_id
               JOIN users u ON u.id = s.owner_id
"""


async def list_pages(
    conn: Conn, kind: PageKind, project_id: int, user_id: int, *, with_body: bool
) -> list[PageRow]:
    """The pages that a user is shown in a project, by name."""
    body = "s.text, s.body" if with_body else "'' AS text, '' AS body"
    query = f"""
        SELECT {_COLUMNS}, {body} FROM {_FROM}
         WHERE s.kind = $1
           AND (s.project_id = $2 OR s.scope = 'workspace' AND p.workspace_id = (
                    SELECT workspace_id FROM projects WHERE id = $2))
           AND (s.scope <> 'private' OR s.owner_id = $3)
         ORDER BY lower(s.name), s.id
    """
    return [PageRow(**row) for row in await conn.fetch(query, kind, project_id, user_id)]


async def list_boards(
    conn: Conn, user_id: int, workspace_ids: Sequence[int] | None, limit: int
) -> list[PageRow]:
    """The boards that a user is shown in some workspaces (None: in all), by name."""
    query = f"""
        SELECT {_COLUMNS}, '' AS text, '' AS body FROM {_FROM}
         WHERE s.kind = 'board' AND (s.scope <> 'private' OR s.owner_id = $1)
           AND ($2::int[] IS NULL OR p.workspace_id = ANY ($2))
         ORDER BY lower(s.name), s.id
         LIMIT $3
    """
    return [PageRow(**row) for row in await conn.fetch(query, user_id, workspace_ids, limit)]


async def find_page(conn: Conn, kind: PageKind, page_id: int) -> PageRow | None:
    """One page."""
    query = f"SELECT {_COLUMNS}, s.text, s.body FROM {_FROM} WHERE s.id = $1 AND s.kind = $2"
    row = await conn.fetchrow(query, page_id, kind)
    return None if row is None else PageRow(**row)


async def lock_page(conn: Conn, page_id: int) -> None:
    """Let nobody else change a page until the end of the caller's transaction."""
    await conn.execute("SELECT FROM ui_pages WHERE id = $1 FOR UPDATE", page_id)


async def find_place(conn: Conn, project_id: int, *, is_locked: bool = False) -> PagePlace | None:
    """A project with its workspace and their owners.

    With `is_locked`, until the end of the transaction nobody else adds pages to the project.
    """
    query = f"""
        SELECT p.workspace_id, p.name AS project_name, w.name AS workspace_name,
               p.user_id AS project_owner_id, w.user_id AS workspace_owner_id
          FROM projects p JOIN workspaces w ON w.id = p.workspace_id
         WHERE p.id = $1 {"FOR NO KEY UPDATE OF p" if is_locked else ""}
    """
    row = await conn.fetchrow(query, project_id)
    return None if row is None else PagePlace(**row)


async def count_pages(conn: Conn, kind: PageKind, project_id: int, owner_id: int) -> int:
    """How many pages of a kind a user has in a project."""
    query = "SELECT count(*) FROM ui_pages WHERE kind = $1 AND project_id = $2 AND owner_id = $3"
    return int(await conn.fetchval(query, kind, project_id, owner_id))


async def measure_pages(conn: Conn, owner_id: int) -> tuple[int, int]:
    """Number and bytes of a user's pages of all projects."""
    query = """
        SELECT count(*), coalesce(sum(octet_length(text) + octet_length(body)), 0)::bigint
          FROM ui_pages WHERE owner_id = $1
    """
    row = await conn.fetchrow(query, owner_id)
    return (0, 0) if row is None else (row[0], row[1])


async def insert_page(conn: Conn, new: NewPage, owner_id: int, now: datetime) -> int:
    """Store a page; its id."""
    query = """
        INSERT INTO ui_pages (kind, project_id, owner_id, scope, name, is_default, text, body,
                              created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING id
    """
    values = (new.kind, new.project_id, owner_id, new.scope, new.name, new.is_default)
    return int(await conn.fetchval(query, *values, new.text, new.body, now))


async def update_page(conn: Conn, page: PageRow) -> None:
    """Store a page as it is."""
    query = """
        UPDATE ui_pages SET scope = $2, name = $3, is_default = $4, text = $5, body = $6,
                            version = $7, updated_at = $8
         WHERE id = $1
    """
    values = (page.scope, page.name, page.is_default, page.text, page.body)
    await conn.execute(query, page.id, *values, page.version, page.updated_at)


async def clear_defaults(conn: Conn, page: PageRow) -> None:
    """Take the mark from every other view that a view takes the place of as the default."""
    query = """
        UPDATE ui_pages s SET is_default = false
          FROM projects p
         WHERE p.id = s.project_id AND s.id <> $1 AND s.kind = $2 AND s.scope = $3
           AND s.is_default
           AND CASE s.scope WHEN 'private' THEN s.owner_id = $4 AND s.project_id = $5
                            WHEN 'project' THEN s.project_id = $5
                            ELSE p.workspace_id = $6 END
    """
    await conn.execute(
        query, page.id, page.kind, page.scope, page.owner_id, page.project_id, page.workspace_id
    )


async def delete_page(conn: Conn, page_id: int) -> None:
    """Delete a page."""
    await conn.execute("DELETE FROM ui_pages WHERE id = $1", page_id)

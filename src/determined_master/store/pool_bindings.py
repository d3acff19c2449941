"""Rows of bindings: which resource pools serve some workspaces only."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.store.pool import Conn


async def list_bound_pools(conn: Conn) -> set[str]:
    """Names of pools that are bound to any workspace."""
    return {row["pool"] for row in await conn.fetch("SELECT DISTINCT pool FROM pool_bindings")}


async def list_closed_pools(conn: Conn, workspace_id: int) -> set[str]:
    """Names of pools that are bound to other workspaces and not to this one."""
    query = """
        SELECT pool FROM pool_bindings GROUP BY pool HAVING bool_and(workspace_id <> $1)
    """
    return {row["pool"] for row in await conn.fetch(query, workspace_id)}


async def list_workspaces_of(conn: Conn, pool: str) -> list[int]:
    """Ids of the workspaces that a pool is bound to, ascending."""
    query = "SELECT workspace_id FROM pool_bindings WHERE pool = $1 ORDER BY workspace_id"
    return [row["workspace_id"] for row in await conn.fetch(query, pool)]


async def find_workspace_ids(conn: Conn, names: Sequence[str]) -> dict[str, int]:
    """Ids of workspaces by the names that were given, in whatever case."""
    query = """
        SELECT n.name, w.id FROM unnest($1::text[]) AS n (name)
          JOIN workspaces w ON lower(w.name) = lower(n.name)
    """
    return {row["name"]: row["id"] for row in await conn.fetch(query, list(names))}


async def list_known_workspaces(conn: Conn, ids: Sequence[int]) -> set[int]:
    """Those of the ids that workspaces have."""
    query = "SELECT id FROM workspaces WHERE id = ANY ($1)"
    return {row["id"] for row in await conn.fetch(query, list(ids))}


async def insert_bindings(conn: Conn, pool: str, workspace_ids: Sequence[int]) -> None:
    """Bind a pool to workspaces.

    Raises:
        asyncpg.UniqueViolationError: it is bound to one of them already.
        asyncpg.ForeignKeyViolationError: there is no such workspace.
    """
    query = "INSERT INTO pool_bindings (pool, workspace_id) SELECT $1, unnest($2::int[])"
    await conn.execute(query, pool, list(workspace_ids))


async def delete_bindings(conn: Conn, pool: str, workspace_ids: Sequence[int]) -> set[int]:
    """Take bindings away; the workspaces that had one."""
    query = """
        DELETE FROM pool_bindings WHERE pool = $1 AND workspace_id = ANY ($2)
        RETURNING workspace_id
    """
    rows = await conn.fetch(query, pool, list(workspace_ids))
    return {row["workspace_id"] for row in rows}


async def delete_all_bindings(conn: Conn, pool: str) -> None:
    """Open a pool to all workspaces."""
    await conn.execute("DELETE FROM pool_bindings WHERE pool = $1", pool)

"""Rows of bindings: which resource pools serve some workspaces only.

A pool that was bound serves no others until it is opened by name, also when its workspaces are
deleted and their bindings with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.store.db import Conn


async def list_bound_pools(conn: Conn) -> set[str]:
    """Names of pools that do not serve everybody."""
    query = "SELECT pool FROM bound_pools UNION SELECT pool FROM pool_bindings"
    return {row["pool"] for row in await conn.fetch(query)}


async def list_closed_pools(conn: Conn, workspace_id: int) -> set[str]:
    """Names of pools that are bound, and not to this workspace."""
    query = """
        (SELECT pool FROM bound_pools UNION SELECT pool FROM pool_bindings)
        EXCEPT SELECT pool FROM pool_bindings WHERE workspace_id = $1
    """
    return {row["pool"] for row in await conn.fetch(query, workspace_id)}


async def list_pools_of_alone(conn: Conn, workspace_id: int) -> list[str]:
    """Names of pools that are bound to this workspace and no other."""
    query = """
        SELECT pool FROM pool_bindings GROUP BY pool HAVING bool_and(workspace_id = $1)
         ORDER BY pool
    """
    return [row["pool"] for row in await conn.fetch(query, workspace_id)]


async def list_pools_of_nobody(conn: Conn) -> list[str]:
    """Names of pools that are bound, and whose workspaces are all deleted."""
    query = "SELECT pool FROM bound_pools EXCEPT SELECT pool FROM pool_bindings ORDER BY pool"
    return [row["pool"] for row in await conn.fetch(query)]


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
    """Those of the ids that are workspaces."""
    query = "SELECT id FROM workspaces WHERE id = ANY ($1)"
    return {row["id"] for row in await conn.fetch(query, list(ids))}


async def insert_bindings(conn: Conn, pool: str, workspace_ids: Sequence[int]) -> None:
    """Bind a pool to workspaces.

    Raises:
        asyncpg.UniqueViolationError: it is bound to one of them already.
        asyncpg.ForeignKeyViolationError: there is no such workspace.
    """
    if not workspace_ids:
        return
    query = "INSERT INTO pool_bindings (pool, workspace_id) SELECT $1, unnest($2::int[])"
    await conn.execute(query, pool, list(workspace_ids))
    query = "INSERT INTO bound_pools (pool) VALUES ($1) ON CONFLICT DO NOTHING"
    await conn.execute(query, pool)


async def delete_bindings(conn: Conn, pool: str, workspace_ids: Sequence[int]) -> set[int]:
    """Take bindings away; the workspaces that had one. The last one opens the pool."""
    query = """
        DELETE FROM pool_bindings WHERE pool = $1 AND workspace_id = ANY ($2)
        RETURNING workspace_id
    """
    rows = await conn.fetch(query, pool, list(workspace_ids))
    if rows:
        query = """
            DELETE FROM bound_pools b WHERE b.pool = $1
               AND NOT EXISTS (SELECT FROM pool_bindings p WHERE p.pool = b.pool)
        """
        await conn.execute(query, pool)
    return {row["workspace_id"] for row in rows}


async def delete_all_bindings(conn: Conn, pool: str) -> None:
    """Open a pool to all workspaces."""
    for table in ("pool_bindings", "bound_pools"):
        await conn.execute(f"DELETE FROM {table} WHERE pool = $1", pool)

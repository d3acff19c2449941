"""Rows of the bindings of workspaces to Kubernetes namespaces."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.store.db import Conn


class BindingRow(msgspec.Struct, frozen=True):
    """The namespace of a workspace in the cluster of one resource manager."""

    manager: str
    namespace: str
    is_made: bool
    """Whether the master made it for this workspace."""


async def list_bindings(conn: Conn, workspace_id: int) -> list[BindingRow]:
    """The bindings of a workspace, by manager."""
    query = """
        SELECT b.manager, b.namespace, m.namespace IS NOT NULL AS is_made
          FROM namespace_bindings b
          LEFT JOIN made_namespaces m USING (manager, namespace, workspace_id)
         WHERE b.workspace_id = $1 ORDER BY b.manager
    """
    return [BindingRow(**row) for row in await conn.fetch(query, workspace_id)]


async def find_namespace(conn: Conn, workspace_id: int, manager: str) -> str | None:
    """The namespace that a workspace is bound to in a manager's cluster."""
    query = "SELECT namespace FROM namespace_bindings WHERE workspace_id = $1 AND manager = $2"
    namespace: str | None = await conn.fetchval(query, workspace_id, manager)
    return namespace


async def upsert_binding(conn: Conn, workspace_id: int, manager: str, namespace: str) -> None:
    """Bind a workspace to a namespace, in place of an earlier one."""
    query = """
        INSERT INTO namespace_bindings (workspace_id, manager, namespace) VALUES ($1, $2, $3)
            ON CONFLICT (workspace_id, manager) DO UPDATE SET namespace = $3
    """
    await conn.execute(query, workspace_id, manager, namespace)


async def delete_bindings(conn: Conn, workspace_id: int, managers: Sequence[str]) -> set[str]:
    """Take bindings away; the managers of those that were there."""
    query = """
        DELETE FROM namespace_bindings WHERE workspace_id = $1 AND manager = ANY ($2)
        RETURNING manager
    """
    return {row["manager"] for row in await conn.fetch(query, workspace_id, list(managers))}


async def insert_made(conn: Conn, manager: str, namespace: str, workspace_id: int) -> None:
    """Note that a namespace is made for a workspace; again changes nothing."""
    query = """
        INSERT INTO made_namespaces (manager, namespace, workspace_id) VALUES ($1, $2, $3)
            ON CONFLICT (manager, namespace) DO UPDATE SET workspace_id = $3
    """
    await conn.execute(query, manager, namespace, workspace_id)


async def list_left(conn: Conn) -> list[tuple[str, str]]:
    """Manager and name of each namespace that was created for a deleted workspace.

    One that another workspace is bound to is left out, whatever the manager: several may be of
    one cluster.
    """
    query = """
        SELECT manager, namespace FROM made_namespaces m
         WHERE workspace_id IS NULL
           AND NOT EXISTS (SELECT FROM namespace_bindings b WHERE b.namespace = m.namespace)
         ORDER BY manager, namespace
    """
    return [(row["manager"], row["namespace"]) for row in await conn.fetch(query)]


async def delete_made(conn: Conn, manager: str, namespace: str) -> None:
    """Forget a namespace that is deleted."""
    query = """
        DELETE FROM made_namespaces
         WHERE manager = $1 AND namespace = $2 AND workspace_id IS NULL
    """
    await conn.execute(query, manager, namespace)


async def delete_unmade(conn: Conn, manager: str, namespace: str, workspace_id: int) -> None:
    """Delete the record of a namespace that was to be created: it belongs to others."""
    query = """
        DELETE FROM made_namespaces
         WHERE manager = $1 AND namespace = $2 AND workspace_id = $3
    """
    await conn.execute(query, manager, namespace, workspace_id)


async def list_unbound(conn: Conn, managers: Sequence[str]) -> list[int]:
    """Ids of the workspaces that use the default namespace of any of these managers."""
    query = """
        SELECT w.id FROM workspaces w
         WHERE cardinality($1::text[]) = 0 OR EXISTS (
               SELECT FROM unnest($1::text[]) AS m (name)
                WHERE NOT EXISTS (SELECT FROM namespace_bindings b
                                   WHERE b.workspace_id = w.id AND b.manager = m.name))
         ORDER BY w.id
    """
    return [row["id"] for row in await conn.fetch(query, list(managers))]


async def find_made(conn: Conn, manager: str, workspace_id: int) -> str | None:
    """The namespace that was made for a workspace: renaming the workspace does not change it."""
    query = "SELECT namespace FROM made_namespaces WHERE manager = $1 AND workspace_id = $2"
    namespace: str | None = await conn.fetchval(query, manager, workspace_id)
    return namespace

"""The cluster's identity, and the rows that every cluster begins with."""

from __future__ import annotations

from datetime import datetime

import msgspec

from determined_master.store.db import Conn


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a cluster."""

    cluster_id: str
    secret: bytes


async def find_cluster(conn: Conn) -> Cluster | None:
    """The identity; None in an empty database."""
    row = await conn.fetchrow("SELECT cluster_id::text, secret FROM cluster")
    return None if row is None else Cluster(**row)


async def insert_cluster(conn: Conn, new: Cluster, now: datetime) -> bool:
    """Whether there was none; waits for a transaction that is making one."""
    query = """
        INSERT INTO cluster (cluster_id, secret, created_at)
        VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING true
    """
    return bool(await conn.fetchval(query, new.cluster_id, new.secret, now))


async def insert_first_rows(conn: Conn, password_hash: str, now: datetime) -> None:
    """The users admin and determined, and the workspace and project Uncategorized."""
    add_user = """
        INSERT INTO users (username, display_name, admin, active, remote, password_hash,
                           modified_at)
        VALUES ($1, '', $2, true, false, $3, $4) RETURNING id
    """
    admin_id = await conn.fetchval(add_user, "admin", True, password_hash, now)
    await conn.fetchval(add_user, "determined", False, password_hash, now)
    workspace_id = await conn.fetchval(
        "INSERT INTO workspaces (name, user_id, immutable) "
        "VALUES ('Uncategorized', $1, true) RETURNING id",
        admin_id,
    )
    await conn.execute(
        "INSERT INTO projects (workspace_id, name, key, user_id, immutable) "
        "VALUES ($1, 'Uncategorized', 'UNCAT', $2, true)",
        workspace_id,
        admin_id,
    )

"""Rows of versions of models: checkpoints under a name and a number."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.records.models import Registration
from determined_master.store.db import Conn


class VersionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One version; its checkpoint by UUID."""

    id: int
    version: int
    checkpoint: str
    name: str
    comment: str
    metadata: dict[str, Any]
    labels: list[str]
    notes: str
    user_id: int
    username: str
    created_at: datetime
    updated_at: datetime


class NewVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new version's row."""

    model_id: int
    checkpoint: str
    name: str
    comment: str
    metadata: dict[str, Any]
    labels: Sequence[str]
    notes: str
    user_id: int
    created_at: datetime


COLUMNS = """
    v.id, v.version, v.checkpoint::text, v.name, v.comment, v.metadata, v.labels, v.notes,
    v.user_id, u.username, v.created_at, v.updated_at
"""
TABLES = "model_versions v JOIN users u ON u.id = v.user_id"
SORTS = {"version": "v.version", "creation_time": "v.created_at"}
"""Sort keys of lists."""


async def insert_version(conn: Conn, new: NewVersion) -> int:
    """Register a checkpoint under the model's next number, which is returned.

    The caller holds the model's row locked.
    """
    query = """
        INSERT INTO model_versions (model_id, version, checkpoint, name, comment, metadata,
                                    labels, notes, user_id, created_at, updated_at)
        VALUES ($1, (SELECT coalesce(max(version), 0) + 1 FROM model_versions
                      WHERE model_id = $1), $2, $3, $4, $5, $6, $7, $8, $9, $9)
     RETURNING version
    """
    return int(
        await conn.fetchval(
            query,
            new.model_id,
            new.checkpoint,
            new.name,
            new.comment,
            new.metadata,
            list(new.labels),
            new.notes,
            new.user_id,
            new.created_at,
        )
    )


async def find_version(conn: Conn, model_id: int, version: int) -> VersionRow | None:
    """One version of a model."""
    query = f"SELECT {COLUMNS} FROM {TABLES} WHERE v.model_id = $1 AND v.version = $2"
    row = await conn.fetchrow(query, model_id, version)
    return VersionRow(**row) if row else None


async def list_versions(
    conn: Conn, model_id: int, *, sort: str, descending: bool
) -> list[VersionRow]:
    """The versions of a model in the order of one of `SORTS`."""
    direction = "DESC" if descending else "ASC"
    query = f"""
        SELECT {COLUMNS} FROM {TABLES} WHERE v.model_id = $1
         ORDER BY {SORTS[sort]} {direction}, v.id {direction}
    """
    return [VersionRow(**row) for row in await conn.fetch(query, model_id)]


async def update_version(
    conn: Conn, version_id: int, changes: dict[str, Any], at: datetime
) -> None:
    """Write a user's changes to name, comment, metadata, labels or notes."""
    columns = ("name", "comment", "metadata", "labels", "notes")
    names = [name for name in columns if name in changes]
    assignments = "".join(f", {name} = ${i}" for i, name in enumerate(names, start=3))
    query = f"UPDATE model_versions SET updated_at = $2{assignments} WHERE id = $1"
    await conn.execute(query, version_id, at, *[changes[name] for name in names])


async def delete_version(conn: Conn, version_id: int) -> None:
    """Forget a version; its checkpoint stays."""
    await conn.execute("DELETE FROM model_versions WHERE id = $1", version_id)


async def list_registered(conn: Conn, uuids: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Which of these checkpoints are registered, each with a model's name and its version."""
    query = """
        SELECT DISTINCT ON (v.checkpoint) v.checkpoint::text AS uuid, m.name, v.version
          FROM model_versions v JOIN models m ON m.id = v.model_id
         WHERE v.checkpoint = ANY ($1::uuid[])
         ORDER BY v.checkpoint, m.id, v.version
    """
    rows = await conn.fetch(query, list(uuids))
    return {row["uuid"]: (row["name"], row["version"]) for row in rows}


async def list_of_checkpoint(
    conn: Conn, uuid: str, *, among: Sequence[int] | None
) -> list[Registration]:
    """The versions that a checkpoint is, of models of these workspaces or of all."""
    query = """
        SELECT m.id AS model_id, m.name AS model_name, v.version, v.name
          FROM model_versions v JOIN models m ON m.id = v.model_id
         WHERE v.checkpoint = $1 AND ($2::int[] IS NULL OR m.workspace_id = ANY ($2))
         ORDER BY v.id
    """
    values = uuid, None if among is None else list(among)
    return [Registration(**row) for row in await conn.fetch(query, *values)]


async def lock_checkpoint(conn: Conn, uuid: str) -> tuple[str, bool] | None:
    """State of a checkpoint, and whether a task is about to delete it; None for no such one.

    Until the transaction ends nothing can decide to delete it.
    """
    lock = "SELECT state FROM checkpoints WHERE uuid = $1 FOR NO KEY UPDATE"
    state = await conn.fetchval(lock, uuid)
    if state is None:
        return None
    doomed = """
        SELECT EXISTS (SELECT FROM collections c JOIN tasks k ON k.id = c.task_id
                        WHERE k.ended_at IS NULL AND cardinality(c.globs) > 0
                          AND $1::uuid = ANY (c.uuids))
    """
    return state, bool(await conn.fetchval(doomed, uuid))

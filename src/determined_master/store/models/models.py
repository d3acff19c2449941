"""Rows of models: the names that checkpoints are registered under."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.records.models import ModelFilter, ModelRow
from determined_master.store.db import Conn


class NewModel(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new model's row."""

    name: str
    description: str
    metadata: dict[str, Any]
    labels: Sequence[str]
    notes: str
    user_id: int
    workspace_id: int
    created_at: datetime


COLUMNS = """
    m.id, m.name, m.description, m.metadata, m.labels, m.notes, m.user_id, u.username,
    m.workspace_id, m.archived, m.created_at, m.updated_at,
    (SELECT count(*) FROM model_versions v WHERE v.model_id = m.id) AS num_versions
"""
TABLES = """
    models m
    JOIN users u ON u.id = m.user_id
    JOIN workspaces w ON w.id = m.workspace_id
"""
SORTS = {
    "id": "m.id",
    "name": "m.name",
    "description": "m.description",
    "creation_time": "m.created_at",
    "last_updated_time": "m.updated_at",
    "num_versions": "num_versions",
    "workspace": "w.name",
}
"""Sort keys of lists."""


async def insert_model(conn: Conn, new: NewModel) -> int:
    """Store a model; its id. A name that is taken is a `UniqueViolationError`."""
    query = """
        INSERT INTO models (name, description, metadata, labels, notes, user_id, workspace_id,
                            created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
     RETURNING id
    """
    return int(
        await conn.fetchval(
            query,
            new.name,
            new.description,
            new.metadata,
            list(new.labels),
            new.notes,
            new.user_id,
            new.workspace_id,
            new.created_at,
        )
    )


async def find_model(conn: Conn, name: str, *, is_locked: bool = False) -> ModelRow | None:
    """The model of that name, or else of that id in decimal digits.

    Args:
        conn: a connection, in a transaction if the row is to be locked.
        name: as users give it.
        is_locked: whether nothing else may change it until the transaction ends.
    """
    number = int(name) if name.isdecimal() and len(name) < 10 else None
    lock = " FOR NO KEY UPDATE OF m" if is_locked else ""
    query = f"SELECT {COLUMNS} FROM {TABLES} WHERE m.name = $1 OR m.id = $2{lock}"
    row = await conn.fetchrow(query, name, number)
    return ModelRow(**row) if row else None


async def list_models(
    conn: Conn,
    model_filter: ModelFilter,
    *,
    sort: str,
    descending: bool,
    among: Sequence[int] | None = None,
) -> list[ModelRow]:
    """Models that match, in these workspaces or in all, in the order of one of `SORTS`."""
    direction = "DESC" if descending else "ASC"
    query = f"""
        SELECT {COLUMNS} FROM {TABLES}
         WHERE position(lower($1) in lower(m.name)) > 0
           AND position(lower($2) in lower(m.description)) > 0
           AND m.labels @> $3
           AND ($4::boolean IS NULL OR m.archived = $4)
           AND (cardinality($5::text[]) = 0 OR u.username = ANY ($5))
           AND (cardinality($6::int[]) = 0 OR m.user_id = ANY ($6))
           AND (cardinality($7::int[]) = 0 OR m.workspace_id = ANY ($7))
           AND (cardinality($8::text[]) = 0 OR w.name = ANY ($8))
           AND ($9 = 0 OR m.id = $9)
           AND ($10::int[] IS NULL OR m.workspace_id = ANY ($10))
         ORDER BY {SORTS[sort]} {direction}, m.id {direction}
    """
    rows = await conn.fetch(
        query,
        model_filter.name,
        model_filter.description,
        list(model_filter.labels),
        model_filter.archived,
        list(model_filter.usernames),
        list(model_filter.user_ids),
        list(model_filter.workspace_ids),
        list(model_filter.workspace_names),
        model_filter.id,
        None if among is None else list(among),
    )
    return [ModelRow(**row) for row in rows]


async def measure_models(conn: Conn, user_id: int) -> tuple[int, int]:
    """Number and bytes of a user's models."""
    query = """
        SELECT count(*), coalesce(sum(octet_length(description) + octet_length(notes)
                                      + octet_length(metadata::text)
                                      + octet_length(labels::text)), 0)::bigint
          FROM models WHERE user_id = $1
    """
    row = await conn.fetchrow(query, user_id)
    return (0, 0) if row is None else (row[0], row[1])


async def update_model(conn: Conn, model_id: int, changes: dict[str, Any], at: datetime) -> None:
    """Write a user's changes to name, description, metadata, labels, notes, workspace, archived.

    A name that is taken is a `UniqueViolationError`.
    """
    columns = ("name", "description", "metadata", "labels", "notes", "workspace_id", "archived")
    names = [name for name in columns if name in changes]
    assignments = "".join(f", {name} = ${i}" for i, name in enumerate(names, start=3))
    query = f"UPDATE models SET updated_at = $2{assignments} WHERE id = $1"
    await conn.execute(query, model_id, at, *[changes[name] for name in names])


async def delete_model(conn: Conn, model_id: int) -> None:
    """Forget a model with its versions; the checkpoints stay."""
    await conn.execute("DELETE FROM models WHERE id = $1", model_id)


async def list_labels(
    conn: Conn, workspace_id: int | None, *, among: Sequence[int] | None = None
) -> list[str]:
    """Labels of the models of a workspace, or of all these, or of all; the most used first."""
    query = """
        SELECT label FROM models m, unnest(m.labels) label
         WHERE ($1::int IS NULL OR m.workspace_id = $1)
           AND ($2::int[] IS NULL OR m.workspace_id = ANY ($2))
         GROUP BY label ORDER BY count(*) DESC, label
    """
    values = workspace_id, None if among is None else list(among)
    return [row["label"] for row in await conn.fetch(query, *values)]


async def find_workspace_id(conn: Conn, name: str | None, workspace_id: int | None) -> int | None:
    """The id of the workspace of that name or id; None when there is none."""
    query = "SELECT id FROM workspaces WHERE name = $1 OR id = $2"
    owner_workspace_id: int | None = await conn.fetchval(query, name, workspace_id)
    return owner_workspace_id

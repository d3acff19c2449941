"""Projects, models and model versions in the form of streams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import asyncpg

from determined_master.domain.updates.subscription import EntityFilter, EntityKind
from determined_master.store.db import Conn

CHANNEL = "entity_updates"
"""Its messages are a kind, a space and an id: of each change, once it is committed."""

_TABLES: Mapping[EntityKind, str] = {
    "project": "projects e",
    "model": "models e",
    "modelversion": "model_versions e JOIN models m ON m.id = e.model_id",
}
_WORKSPACES: Mapping[EntityKind, str] = {
    "project": "e.workspace_id",
    "model": "e.workspace_id",
    "modelversion": "m.workspace_id",
}
_COLUMNS: Mapping[EntityKind, str] = {
    "project": """
        e.id, e.name, e.description, e.archived, e.created_at, nullif(e.notes, '[]') AS notes,
        e.workspace_id, e.user_id, e.immutable,
        CASE e.state WHEN '' THEN 'UNSPECIFIED' ELSE e.state END AS state, e.key, e.seq
    """,
    "model": """
        e.id, e.name, e.description, e.archived, e.created_at AS creation_time, e.notes,
        e.workspace_id, e.user_id, e.updated_at AS last_updated_time, e.metadata, e.labels, e.seq
    """,
    "modelversion": """
        e.id, e.name, e.version, e.checkpoint::text AS checkpoint_uuid,
        e.created_at AS creation_time, e.updated_at AS last_updated_time, e.metadata, e.model_id,
        e.user_id, e.comment, e.labels, e.notes, m.workspace_id, e.seq
    """,
}
_FILTERS: Mapping[EntityKind, Mapping[str, str]] = {
    "project": {"workspace_ids": "e.workspace_id", "project_ids": "e.id"},
    "model": {"workspace_ids": "e.workspace_id", "model_ids": "e.id", "user_ids": "e.user_id"},
    "modelversion": {
        "model_ids": "e.model_id",
        "model_version_ids": "e.id",
        "user_ids": "e.user_id",
    },
}


async def listen(conn: asyncpg.Connection[Any], news: Callable[[str, int], None]) -> asyncio.Event:
    """Call `news` with kind and id after each commit from the return on.

    Returns:
        An event that is set when the connection is lost.
    """
    lost = asyncio.Event()

    def on_notify(conn: Any, pid: int, channel: str, payload: str) -> None:
        kind, _, id = payload.partition(" ")
        news(kind, int(id))

    conn.add_termination_listener(lambda _: lost.set())
    await conn.add_listener(CHANNEL, on_notify)
    return lost


async def list_numbers(
    conn: Conn, kind: EntityKind, entity_filter: EntityFilter, *, among: Sequence[int] | None
) -> dict[int, int]:
    """The number of the last change of each wanted entity in these workspaces, by id."""
    where, values = _where(kind, entity_filter, among)
    query = f"SELECT e.id, e.seq FROM {_TABLES[kind]} WHERE {where} ORDER BY e.id"
    return {row["id"]: row["seq"] for row in await conn.fetch(query, *values)}


async def list_entities(
    conn: Conn,
    kind: EntityKind,
    entity_filter: EntityFilter,
    ids: Sequence[int],
    *,
    among: Sequence[int] | None,
) -> list[dict[str, Any]]:
    """Those of these entities that are wanted and in these workspaces, by id."""
    where, values = _where(kind, entity_filter, among)
    query = f"""
        SELECT {_COLUMNS[kind]} FROM {_TABLES[kind]}
         WHERE {where} AND e.id = ANY (${len(values) + 1}::int[]) ORDER BY e.id
    """
    return [dict(row) for row in await conn.fetch(query, *values, ids)]


def _where(
    kind: EntityKind, entity_filter: EntityFilter, among: Sequence[int] | None
) -> tuple[str, list[Sequence[int] | None]]:
    """A condition, and the values of its arguments."""
    names = [name for name, ids in entity_filter.filters.items() if ids]
    any_of = " OR ".join(
        f"{_FILTERS[kind][name]} = ANY (${n}::int[])" for n, name in enumerate(names, start=2)
    )
    workspace = _WORKSPACES[kind]
    where = f"($1::int[] IS NULL OR {workspace} = ANY ($1)) AND ({any_of})"
    return where, [among, *(entity_filter.filters[name] for name in names)]

"""The history of aggregates, from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.engine.ids import Key
from determined_master.records.stories import StoryLine
from determined_master.store.db import Conn

_READ = """
    SELECT j.at, j.kind, j.id, j.version, j.cause, j.event, j.effects
      FROM unnest($1::text[], $2::text[]) AS w (kind, id)
      JOIN journal j ON j.kind = w.kind AND j.id = w.id
     WHERE $3::timestamptz IS NULL
        OR (j.at, j.kind, j.id, j.version) > ($3, $4::text COLLATE "C", $5::text COLLATE "C", $6)
     ORDER BY j.at, j.kind, j.id, j.version
     LIMIT $7
"""


async def count_story(conn: Conn, aggregates: Sequence[Key]) -> int:
    """How many lines the aggregates have."""
    query = """
        SELECT count(*) FROM unnest($1::text[], $2::text[]) AS w (kind, id)
          JOIN journal j ON j.kind = w.kind AND j.id = w.id
    """
    kinds, ids = [kind for kind, _ in aggregates], [id for _, id in aggregates]
    return int(await conn.fetchval(query, kinds, ids))


async def list_story(
    conn: Conn,
    aggregates: Sequence[Key],
    *,
    after: tuple[datetime, str, str, int] | None = None,
    limit: int = 100,
) -> list[StoryLine]:
    """Lines of several aggregates in the order of time, after a line's `cursor`."""
    rows = await conn.fetch(
        _READ,
        [kind for kind, _ in aggregates],
        [id for _, id in aggregates],
        *(after or (None, None, None, None)),
        limit,
    )
    return [
        StoryLine(
            at=row["at"],
            kind=row["kind"],
            id=row["id"],
            version=row["version"],
            cause=row["cause"],
            event=msgspec.json.decode(row["event"]),
            effects=msgspec.json.decode(row["effects"]) if row["effects"] else (),
        )
        for row in rows
    ]

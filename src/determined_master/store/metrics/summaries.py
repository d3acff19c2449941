"""Summaries of trials' metrics, and the trial versions that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from determined_master.store.db import Conn


async def update_summaries(conn: Conn, trials: Sequence[tuple[int, int, str]]) -> set[int]:
    """Write (trial, metrics version that it describes, summary as JSON).

    Trials that are locked are left for another time.

    Returns:
        Ids of the trials that were written.
    """
    query = """
        WITH free AS (
            SELECT t.id, n.version, n.summary
              FROM unnest($1::int[], $2::bigint[], $3::text[]) AS n (id, version, summary)
              JOIN trials t ON t.id = n.id AND t.summary_version < n.version
             ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
        )
        UPDATE trials t
           SET summary_metrics = free.summary::jsonb, summary_version = free.version
          FROM free WHERE t.id = free.id
        RETURNING t.id
    """
    return {row["id"] for row in await conn.fetch(query, *map(list, zip(*trials, strict=True)))}


async def list_fresh_summaries(conn: Conn, trial_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Summaries of those trials whose stored one includes all their reports."""
    query = """
        SELECT id, summary_metrics FROM trials
         WHERE id = ANY ($1) AND summary_version = metrics_version
    """
    return {row["id"]: row["summary_metrics"] for row in await conn.fetch(query, trial_ids)}


async def list_stale(conn: Conn, trial_ids: Sequence[int]) -> list[int]:
    """The trials whose stored summary lacks some of their reports."""
    query = """
        SELECT id FROM trials
         WHERE id = ANY ($1) AND summary_version <> metrics_version ORDER BY id
    """
    return [row["id"] for row in await conn.fetch(query, trial_ids)]


async def find_stale(conn: Conn, after: int, limit: int) -> tuple[list[int], int | None]:
    """Look at so many trials above an id for those whose stored summary is stale.

    No index helps: it would have to follow every report.

    Returns:
        Their ids, and the last id that was looked at; None when there was none.
    """
    query = """
        WITH page AS (
            SELECT id, summary_version <> metrics_version AS is_stale
              FROM trials WHERE id > $1 ORDER BY id LIMIT $2
        )
        SELECT coalesce(array_agg(id ORDER BY id) FILTER (WHERE is_stale), '{}'), max(id)
          FROM page
    """
    row = await conn.fetchrow(query, after, limit)
    assert row is not None
    return row[0], row[1]

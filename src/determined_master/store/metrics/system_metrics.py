"""Samples of the system metrics of trials' machines."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.records.metrics import SeriesLabel, SystemSample
from determined_master.store.db import Conn


async def insert_samples(conn: Conn, samples: Sequence[SystemSample]) -> None:
    """Store samples."""
    query = """
        INSERT INTO system_metrics (trial_id, run_id, metric_group, batch, reported_at, metrics)
        VALUES ($1, $2, $3, $4, $5, $6)
    """
    rows = [
        (s.trial_id, s.run_id, s.metric_group, s.batch, s.reported_at, s.metrics) for s in samples
    ]
    await conn.executemany(query, rows)


async def list_samples(
    conn: Conn, trial_id: int, group: str, *, after: int, limit: int
) -> list[SystemSample]:
    """Samples of a group in the order they came in, after one of them."""
    query = """
        SELECT id, trial_id, run_id, metric_group, batch, reported_at, metrics
          FROM system_metrics
         WHERE trial_id = $1 AND metric_group = $2 AND id > $3
         ORDER BY id LIMIT $4
    """
    return [SystemSample(**row) for row in await conn.fetch(query, trial_id, group, after, limit)]


async def list_groups(conn: Conn, trial_id: int) -> list[str]:
    """The groups that a trial has samples of."""
    query = """
        SELECT DISTINCT metric_group FROM system_metrics WHERE trial_id = $1 ORDER BY metric_group
    """
    return [row["metric_group"] for row in await conn.fetch(query, trial_id)]


async def list_series(conn: Conn, trial_id: int) -> list[SeriesLabel]:
    """Everything that was sampled in a trial, each once."""
    query = """
        WITH leaves AS (
            SELECT s.metric_group, a.key AS agent, l.key, l.value
              FROM system_metrics s, jsonb_each(s.metrics) a,
                   jsonb_each(CASE jsonb_typeof(a.value) WHEN 'object' THEN a.value END) l
             WHERE s.trial_id = $1
        )
        SELECT DISTINCT v.metric_group, v.agent,
               CASE WHEN n.key IS NULL THEN '' ELSE v.key END AS part,
               coalesce(n.key, v.key) AS name
          FROM leaves v
          LEFT JOIN LATERAL
               jsonb_each(CASE jsonb_typeof(v.value) WHEN 'object' THEN v.value END) n ON true
         ORDER BY 1, 2, 3, 4
    """
    return [SeriesLabel(**row) for row in await conn.fetch(query, trial_id)]

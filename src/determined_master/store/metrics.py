"""Rows of metric reports: one row a report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.store.pool import Conn


class ReportRow(msgspec.Struct, frozen=True, kw_only=True):
    """One report to store. `metrics` and `batch_metrics` are JSON text."""

    trial_id: int
    metric_group: str
    steps: int
    run_id: int
    reported_at: datetime
    metrics: str
    batch_metrics: str | None
    searcher_metric: float | None


class TrialWrite(msgspec.Struct, frozen=True, kw_only=True):
    """What a flush changes in a trial; None leaves a column as it is."""

    trial_id: int
    summary: str
    total_batches: int
    latest_validation: int | None
    best_validation: int | None
    best_metric: float | None
    searcher_metric: float | None


class TrialLock(msgspec.Struct, frozen=True, kw_only=True):
    """A trial's row as a flush finds it, locked."""

    id: int
    experiment_id: int
    run_id: int
    summary_metrics: dict[str, Any]
    total_batches: int
    best_metric: float | None
    is_ended: bool


class StoredReport(msgspec.Struct, frozen=True, kw_only=True):
    """One report as it is read back."""

    id: int
    trial_id: int
    metric_group: str
    steps: int
    run_id: int
    reported_at: datetime
    metrics: dict[str, Any]
    batch_metrics: list[dict[str, Any]] | None
    archived: bool


COLUMNS = (
    "id, trial_id, metric_group, steps, run_id, reported_at, metrics, batch_metrics, archived"
)


async def lock_trials(conn: Conn, trial_ids: Sequence[int]) -> dict[int, TrialLock]:
    """Lock the rows of trials, in the order of ids."""
    query = """
        SELECT id, experiment_id, run_id, summary_metrics, total_batches, best_metric,
               ended_at IS NOT NULL AS is_ended
          FROM trials WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE
    """
    rows = await conn.fetch(query, trial_ids)
    return {row["id"]: TrialLock(**row) for row in rows}


async def insert_reports(conn: Conn, rows: Sequence[ReportRow]) -> dict[tuple[Any, ...], int]:
    """Store reports; one whose key is taken is left out.

    Returns:
        Ids of the stored rows by (trial, group, steps, run).
    """
    query = """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics,
                             batch_metrics, searcher_metric)
        SELECT * FROM unnest($1::int[], $2::text[], $3::int[], $4::int[], $5::timestamptz[],
                             $6::text[]::jsonb[], $7::text[]::jsonb[], $8::float8[])
        ON CONFLICT DO NOTHING
        RETURNING trial_id, metric_group, steps, run_id, id
    """
    columns = list(map(list, zip(*(msgspec.structs.astuple(r) for r in rows), strict=True)))
    stored = await conn.fetch(query, *columns)
    return {(r[0], r[1], r[2], r[3]): r[4] for r in stored}


async def find_report(
    conn: Conn, trial_id: int, group: str, steps: int, run_id: int
) -> StoredReport | None:
    """The report of that key."""
    query = f"""
        SELECT {COLUMNS} FROM metrics
         WHERE trial_id = $1 AND metric_group = $2 AND steps = $3 AND run_id = $4
    """
    row = await conn.fetchrow(query, trial_id, group, steps, run_id)
    return StoredReport(**row) if row else None


async def update_report(
    conn: Conn, report_id: int, trial_id: int, metrics: str, batch_metrics: str | None
) -> None:
    """Replace the values of a report."""
    query = """
        UPDATE metrics SET metrics = $3::text::jsonb, batch_metrics = $4::text::jsonb
         WHERE id = $1 AND trial_id = $2
    """
    await conn.execute(query, report_id, trial_id, metrics, batch_metrics)


async def update_trials(conn: Conn, writes: Sequence[TrialWrite]) -> None:
    """Write what a flush has changed in several trials."""
    query = """
        UPDATE trials t
           SET summary_metrics = n.summary::jsonb,
               total_batches = n.total_batches,
               latest_validation = coalesce(n.latest, t.latest_validation),
               best_validation = coalesce(n.best, t.best_validation),
               best_metric = coalesce(n.best_metric, t.best_metric),
               searcher_metric = coalesce(n.searcher_metric, t.searcher_metric),
               last_activity_at = now()
          FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[], $5::bigint[],
                      $6::float8[], $7::float8[])
               AS n (id, summary, total_batches, latest, best, best_metric, searcher_metric)
         WHERE t.id = n.id
    """
    columns = list(map(list, zip(*(msgspec.structs.astuple(w) for w in writes), strict=True)))
    await conn.execute(query, *columns)


async def update_best(conn: Conn, experiment_id: int, trial_id: int, metric: float) -> None:
    """Make a trial its experiment's best if its signed metric is smaller."""
    query = """
        UPDATE experiments SET best_trial_id = $2, best_metric = $3
         WHERE id = $1 AND (best_metric IS NULL OR best_metric > $3)
    """
    await conn.execute(query, experiment_id, trial_id, metric)


async def archive_later_reports(
    conn: Conn, run_id: int, trial_id: int, steps: int, same_step: Sequence[str]
) -> int:
    """Archive what earlier runs reported after a step, and at it in the groups `same_step`.

    Returns:
        How many rows that were.
    """
    query = """
        UPDATE metrics SET archived = true
         WHERE trial_id = $1 AND run_id < $2 AND NOT archived
           AND (steps > $3 OR steps = $3 AND metric_group = ANY ($4))
    """
    status = await conn.execute(query, trial_id, run_id, steps, same_step)
    return int(status.rpartition(" ")[2])


async def reset_validations(conn: Conn, trial_id: int, *, smaller_is_better: bool) -> float | None:
    """Point a trial to the best and the latest validation among those that count.

    Returns:
        The best value of the searcher's metric, with the sign that makes smaller better.
    """
    sign = 1 if smaller_is_better else -1
    query = """
        WITH counted AS (
            SELECT id, steps, searcher_metric FROM metrics
             WHERE trial_id = $1 AND metric_group = 'validation' AND NOT archived
        ), best AS (
            SELECT id, searcher_metric FROM counted
             WHERE searcher_metric IS NOT NULL AND searcher_metric <> 'NaN'
             ORDER BY searcher_metric * $2, id LIMIT 1
        ), latest AS (
            SELECT id, searcher_metric FROM counted ORDER BY steps DESC, id DESC LIMIT 1
        )
        UPDATE trials SET best_validation = (SELECT id FROM best),
               best_metric = (SELECT searcher_metric * $2 FROM best),
               latest_validation = (SELECT id FROM latest),
               searcher_metric = (SELECT searcher_metric FROM latest)
         WHERE id = $1
     RETURNING best_metric
    """
    found: float | None = await conn.fetchval(query, trial_id, sign)
    return found


async def list_reports(
    conn: Conn,
    trial_ids: Sequence[int],
    group: str | None,
    *,
    after: tuple[int, int] = (0, 0),
    limit: int = 1000,
) -> list[StoredReport]:
    """Reports that count, by trial and id, after a (trial, id) position."""
    query = f"""
        SELECT {COLUMNS} FROM metrics
         WHERE trial_id = ANY ($1) AND ($2::text IS NULL OR metric_group = $2)
           AND NOT archived AND (trial_id, id) > ($3, $4)
         ORDER BY trial_id, id LIMIT $5
    """
    rows = await conn.fetch(query, trial_ids, group, after[0], after[1], limit)
    return [StoredReport(**row) for row in rows]


async def find_reports_by_id(
    conn: Conn, keys: Sequence[tuple[int, int]]
) -> dict[int, StoredReport]:
    """Reports by their ids, from (trial, id) pairs."""
    query = f"""
        SELECT {COLUMNS} FROM metrics
         WHERE (trial_id, id) IN (SELECT * FROM unnest($1::int[], $2::bigint[]))
    """
    trials, ids = [k[0] for k in keys], [k[1] for k in keys]
    return {row["id"]: StoredReport(**row) for row in await conn.fetch(query, trials, ids)}

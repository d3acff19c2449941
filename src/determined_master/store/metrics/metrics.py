"""Rows of metric reports: one row a report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from determined_master.domain.metrics.summary import SYSTEM_GROUPS
from determined_master.records.metrics import StoredReport
from determined_master.store.db import Conn


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
    """Changes of a flush to a trial; None keeps a column."""

    trial_id: int
    total_batches: int
    latest_validation: int | None
    best_validation: int | None
    best_metric: float | None
    searcher_metric: float | None


class KnownWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of reports to a trial whose run and version are known.

    Validations are named by their steps: they have no id yet.
    """

    trial_id: int
    run_id: int
    version: int
    total_batches: int
    latest_steps: int | None
    best_steps: int | None
    best_metric: float | None
    searcher_metric: float | None


class TrialLock(msgspec.Struct, frozen=True, kw_only=True):
    """A trial's row as a flush finds it, locked."""

    id: int
    experiment_id: int
    run_id: int
    total_batches: int
    best_metric: float | None
    metrics_version: int


ReportKey = tuple[int, str, int, int]
"""Trial, group, steps and run."""
PAGE = 1000
COLUMNS = (
    "id, trial_id, metric_group, steps, run_id, reported_at, metrics, batch_metrics, archived"
)


CHANGES = """
                   metrics_version = t.metrics_version + 1,
                   total_batches = n.total_batches,
                   best_metric = coalesce(n.best_metric, t.best_metric),
                   searcher_metric = coalesce(n.searcher_metric, t.searcher_metric),
                   last_activity_at = now()"""
BEATEN = """best AS (
            SELECT DISTINCT ON (experiment_id) experiment_id, id, best_metric
              FROM written WHERE best_metric IS NOT NULL ORDER BY experiment_id, best_metric, id
        ), beaten AS (
            SELECT e.id, best.id AS trial_id, best.best_metric
              FROM experiments e JOIN best ON best.experiment_id = e.id
             WHERE e.best_metric IS NULL OR e.best_metric > best.best_metric
             ORDER BY e.id FOR NO KEY UPDATE OF e
        )"""
_STORED = """(
                       SELECT s.id FROM stored s
                        WHERE s.trial_id = t.id AND s.metric_group = 'validation'
                          AND s.steps = n.{})"""


_KNOWN = """
        WITH n AS (
            SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[],
                                 $6::bigint[], $7::float8[], $8::float8[])
                AS n (id, run_id, version, total_batches, latest, best, best_metric,
                      searcher_metric)
        ), known AS (
            SELECT t.id FROM trials t
              JOIN n ON n.id = t.id AND n.run_id = t.run_id AND n.version = t.metrics_version
             ORDER BY t.id FOR NO KEY UPDATE OF t
        ), stored AS (
            INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics,
                                 batch_metrics, searcher_metric)
            SELECT * FROM unnest($9::int[], $10::text[], $11::bigint[], $12::int[],
                                 $13::timestamptz[], $14::text[]::jsonb[], $15::text[]::jsonb[],
                                 $16::float8[])
            ON CONFLICT DO NOTHING
         RETURNING id, trial_id, metric_group, steps
        )"""
_ALL_OR_NOTHING = """
        -- a division by zero takes everything back
        SELECT 1 / ((SELECT count(*) FROM known) = cardinality($1)
                    AND (SELECT count(*) FROM stored) = cardinality($9))::int
"""
_STORE_KNOWN = f"""{_KNOWN}, written AS (
            UPDATE trials t
               SET {CHANGES},
                   latest_validation = coalesce({_STORED.format("latest")}, t.latest_validation),
                   best_validation = coalesce({_STORED.format("best")}, t.best_validation)
              FROM n JOIN known ON known.id = n.id
             WHERE t.id = n.id
        RETURNING t.experiment_id, t.id, n.best_metric
        ), {BEATEN}, improved AS (
            UPDATE experiments e SET best_trial_id = b.trial_id, best_metric = b.best_metric
              FROM beaten b WHERE e.id = b.id
        ) {_ALL_OR_NOTHING}"""
_STORE_KNOWN_TRAINING = f"""{_KNOWN}, written AS (
            UPDATE trials t
               SET metrics_version = t.metrics_version + 1, total_batches = n.total_batches,
                   last_activity_at = now()
              FROM n JOIN known ON known.id = n.id
             WHERE t.id = n.id
        ) {_ALL_OR_NOTHING}"""
"""Without validations, which most reports are: no trial and no experiment has a new best."""
_STORE_ONE_TRAINING = """
        WITH known AS (
            UPDATE trials
               SET metrics_version = metrics_version + 1, total_batches = $4,
                   last_activity_at = now()
             WHERE id = $1 AND run_id = $2 AND metrics_version = $3
         RETURNING id
        ), stored AS (
            INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics,
                                 batch_metrics, searcher_metric)
            SELECT id, $5::text, $6::bigint, $7::int, $8::timestamptz, $9::text::jsonb,
                   $10::text::jsonb, $11::float8
              FROM known
            ON CONFLICT DO NOTHING
         RETURNING 1
        )
        -- a division by zero takes everything back
        SELECT 1 / (SELECT count(*) FROM stored)
"""
"""One report, as a trial alone sends it: two thirds of the time, without sets and joins."""


async def lock_trials(conn: Conn, trial_ids: Sequence[int]) -> dict[int, TrialLock]:
    """Lock the rows of trials, in the order of ids."""
    query = """
        SELECT id, experiment_id, run_id, total_batches, best_metric, metrics_version
          FROM trials WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE
    """
    rows = await conn.fetch(query, trial_ids)
    return {row["id"]: TrialLock(**row) for row in rows}


async def insert_reports(conn: Conn, rows: Sequence[ReportRow]) -> list[int | None]:
    """Store reports; one whose key is taken is left out.

    Returns:
        For each row the id that it was stored under, None when it was left out.
    """
    query = """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics,
                             batch_metrics, searcher_metric)
        SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::int[], $5::timestamptz[],
                             $6::text[]::jsonb[], $7::text[]::jsonb[], $8::float8[])
        ON CONFLICT DO NOTHING
        RETURNING id
    """
    columns = list(map(list, zip(*map(msgspec.structs.astuple, rows), strict=True)))
    ids: list[int | None] = [row[0] for row in await conn.fetch(query, *columns)]
    if len(ids) == len(rows):
        return ids
    query = """
        SELECT trial_id, metric_group, steps, run_id, id FROM metrics
         WHERE trial_id = ANY ($1) AND id = ANY ($2)
    """
    found = await conn.fetch(query, list(set(columns[0])), ids)
    stored = {tuple(row)[:4]: row["id"] for row in found}
    # of two rows with one key the first is the stored one
    return [stored.pop((r.trial_id, r.metric_group, r.steps, r.run_id), None) for r in rows]


async def list_taken(conn: Conn, keys: Sequence[ReportKey]) -> dict[ReportKey, StoredReport]:
    """The reports that are stored under those keys."""
    query = f"""
        SELECT {COLUMNS} FROM metrics
          JOIN unnest($1::int[], $2::text[], $3::bigint[], $4::int[])
               AS n (trial_id, metric_group, steps, run_id)
         USING (trial_id, metric_group, steps, run_id)
    """
    found = await conn.fetch(query, *map(list, zip(*keys, strict=True)))
    stored = (StoredReport(**row) for row in found)
    return {(r.trial_id, r.metric_group, r.steps, r.run_id): r for r in stored}


async def update_report(
    conn: Conn, report_id: int, trial_id: int, metrics: str, batch_metrics: str | None
) -> None:
    """Replace the values of a report: summary and series of its trial become stale."""
    query = """
        WITH replaced AS (
            UPDATE metrics SET metrics = $3::text::jsonb, batch_metrics = $4::text::jsonb
             WHERE id = $1 AND trial_id = $2
        )
        UPDATE trials SET metrics_version = metrics_version + 1 WHERE id = $2
    """
    await conn.execute(query, report_id, trial_id, metrics, batch_metrics)


async def update_trials(conn: Conn, writes: Sequence[TrialWrite]) -> None:
    """Write what new reports have changed in several trials, and the best of experiments.

    The stored summaries become stale.
    """
    query = f"""
        WITH n AS (
            SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[], $5::float8[],
                                 $6::float8[])
                AS n (id, total_batches, latest, best, best_metric, searcher_metric)
        ), written AS (
            UPDATE trials t
               SET {CHANGES},
                   latest_validation = coalesce(n.latest, t.latest_validation),
                   best_validation = coalesce(n.best, t.best_validation)
              FROM n WHERE t.id = n.id
        RETURNING t.experiment_id, t.id, n.best_metric
        ), {BEATEN}
        UPDATE experiments e SET best_trial_id = b.trial_id, best_metric = b.best_metric
          FROM beaten b WHERE e.id = b.id
    """
    columns = list(map(list, zip(*map(msgspec.structs.astuple, writes), strict=True)))
    await conn.execute(query, *columns)


async def store_known(
    conn: Conn, reports: Sequence[ReportRow], writes: Sequence[KnownWrite]
) -> bool:
    """Store reports and their changes to trials, all of it or nothing, at once.

    One statement, so there is only one answer of the server to wait for.

    Returns:
        False when nothing was stored: a trial was not as known, or a report's key was taken.
    """
    has_validations = any(w.latest_steps is not None for w in writes)
    if len(reports) == 1 and not has_validations:
        query, values = _STORE_ONE_TRAINING, _one_training(reports[0], writes[0])
    else:
        query = _STORE_KNOWN if has_validations else _STORE_KNOWN_TRAINING
        values = [list(c) for c in zip(*map(msgspec.structs.astuple, writes), strict=True)]
        values += [list(c) for c in zip(*map(msgspec.structs.astuple, reports), strict=True)]
    try:
        await conn.execute(query, *values)
    except asyncpg.DivisionByZeroError:
        return False
    return True


def _one_training(report: ReportRow, write: KnownWrite) -> list[Any]:
    trial = (write.trial_id, write.run_id, write.version, write.total_batches)
    return [*trial, *msgspec.structs.astuple(report)[1:]]


async def archive_later_reports(
    conn: Conn, run_id: int, trial_id: int, steps: int, same_step: Sequence[str]
) -> int | None:
    """Archive what earlier runs reported after a step, and at it in the groups `same_step`.

    Returns:
        The lowest id among them; None when there was nothing to archive.
    """
    query = """
        WITH archived AS (
            UPDATE metrics SET archived = true
             WHERE trial_id = $1 AND run_id < $2 AND NOT archived
               AND (steps > $3 OR steps = $3 AND metric_group = ANY ($4))
               AND metric_group <> ALL ($5)
         RETURNING id
        )
        SELECT min(id) FROM archived
    """
    kept = sorted(SYSTEM_GROUPS)
    first: int | None = await conn.fetchval(query, trial_id, run_id, steps, same_step, kept)
    return first


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


async def list_some(conn: Conn, trial_id: int, ids: Sequence[int]) -> list[StoredReport]:
    """Reports of a trial by their ids, in no order."""
    query = f"SELECT {COLUMNS} FROM metrics WHERE trial_id = $1 AND id = ANY ($2)"
    return [StoredReport(**row) for row in await conn.fetch(query, trial_id, ids)]


async def list_reports(
    conn: Conn, trial_id: int, group: str | None, *, after: int = 0, limit: int = PAGE
) -> list[StoredReport]:
    """Reports of a trial that count, in the order of their ids, after one of them."""
    query = f"""
        SELECT {COLUMNS} FROM metrics
         WHERE trial_id = $1 AND id > $3 AND ($2::text IS NULL OR metric_group = $2)
           AND NOT archived
         ORDER BY id LIMIT {limit}
    """
    rows = await conn.fetch(query, trial_id, group, after)
    return [StoredReport(**row) for row in rows]


class Reporter(msgspec.Struct, frozen=True, kw_only=True):
    """A trial as its reports need it, with its experiment's searcher."""

    id: int
    experiment_id: int
    request_id: str
    searcher_metric: str
    smaller_is_better: bool
    searcher_type: str
    unmanaged: bool
    time_metric: str | None


async def list_reporters(conn: Conn, trial_ids: Sequence[int]) -> list[Reporter]:
    """Those of these trials that exist."""
    query = """
        SELECT t.id, t.experiment_id, t.request_id::text, e.searcher_metric,
               e.smaller_is_better, e.searcher_type, e.unmanaged,
               e.config->'searcher'->>'time_metric' AS time_metric
          FROM trials t JOIN experiments e ON e.id = t.experiment_id
         WHERE t.id = ANY ($1)
    """
    return [Reporter(**row) for row in await conn.fetch(query, trial_ids)]

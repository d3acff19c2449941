"""Metrics of trials over their steps, in a bounded number of points."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.records.metrics import MetricName, PointRow, SeriesRequest

if TYPE_CHECKING:
    from determined_master.store.db import Conn


class ValueRow(msgspec.Struct, frozen=True):
    """One report without what only charts need."""

    steps: int
    metrics: dict[str, Any]


_MAX_ARGUMENTS = 99
"""PostgreSQL refuses a call with more than 100 of them."""
_WHERE = "trial_id = $1 AND metric_group = $2 AND NOT archived AND id > $4"
_ONCE = """
          CROSS JOIN LATERAL (SELECT r.metrics || '{}'::jsonb AS metrics OFFSET 0) m
         WHERE m.metrics ?| $3"""
"""Each operator unpacks a report of many metrics again (0.2 ms for 5,000): this does it once."""


async def list_points(conn: Conn, request: SeriesRequest, limit: int) -> list[PointRow]:
    """The reports with any of the metrics, by steps; no more than `limit`."""
    query = f"""
        SELECT {_columns(request, 7)}
          FROM (SELECT * FROM metrics WHERE {_WHERE} AND steps BETWEEN $5 AND $6
                 ORDER BY steps, id OFFSET 0) r {_ONCE}
         ORDER BY r.steps, r.id LIMIT {limit:d}
    """
    steps = (request.from_steps, request.to_steps)
    return _points(
        await conn.fetch(query, *_values(request), *steps, *_parameters(request)), request.names
    )


async def list_points_at(
    conn: Conn, request: SeriesRequest, steps: Sequence[int]
) -> list[PointRow]:
    """The same for some steps within that range."""
    query = f"""
        SELECT {_columns(request, 6)}
          FROM (SELECT * FROM metrics WHERE {_WHERE} AND steps = ANY ($5::bigint[])
                OFFSET 0) r {_ONCE}
         ORDER BY r.steps, r.id
    """
    return _points(
        await conn.fetch(query, *_values(request), steps, *_parameters(request)), request.names
    )


async def list_added(
    conn: Conn, request: SeriesRequest, limit: int
) -> tuple[int, list[PointRow]] | None:
    """The reports after one of them (`after_id`) by ids, and the trial's number of rewrites.

    Both are of the same moment. None if the trial is gone. Only the index of ids can find them:
    the one of steps would read the whole group.
    """
    query = f"""
        SELECT added.*, t.series_rewrites
          FROM trials t LEFT JOIN LATERAL (
                SELECT {_columns(request, 7)}
                  FROM (SELECT * FROM metrics
                         WHERE trial_id = $1 AND metric_group || '' = $2 AND NOT archived
                           AND id > $4 AND steps + 0 BETWEEN $5 AND $6
                         ORDER BY id OFFSET 0) r {_ONCE}
                 ORDER BY r.id LIMIT {limit:d}) added ON true
         WHERE t.id = $1
    """
    steps = (request.from_steps, request.to_steps)
    rows = await conn.fetch(query, *_values(request), *steps, *_parameters(request))
    if not rows:
        return None
    return rows[0][4], _points([row for row in rows if row[0] is not None], request.names)


async def list_between(conn: Conn, request: SeriesRequest) -> list[ValueRow]:
    """Steps and values of the reports between two ids, by id.

    Only the index of ids can find them: the one of steps would read the whole group.
    """
    query = f"""
        SELECT r.steps, (SELECT jsonb_object_agg(n, m.metrics->n) FROM unnest($3::text[]) n
                          WHERE m.metrics ? n)
          FROM (SELECT * FROM metrics
                 WHERE trial_id = $1 AND metric_group || '' = $2 AND NOT archived AND id > $4
                   AND id <= $7 AND steps + 0 BETWEEN $5 AND $6
                 ORDER BY id OFFSET 0) r {_ONCE}
         ORDER BY r.id
    """
    steps = (request.from_steps, request.to_steps)
    values = (*_values(request), *steps, request.up_to_id)
    return [ValueRow(*row) for row in await conn.fetch(query, *values)]


def _columns(request: SeriesRequest, first: int) -> str:
    """Columns of a point; a few names of metrics are parameters from `first` on."""
    names = range(first, first + len(_parameters(request)))
    array = f"jsonb_build_array(m.metrics->'epoch'{''.join(f', m.metrics->${n}' for n in names)})"
    if not names:
        array += """ || (SELECT jsonb_agg(m.metrics->u.name ORDER BY u.n)
                           FROM unnest($3::text[]) WITH ORDINALITY u (name, n))"""
    return f"r.id, r.steps, r.reported_at, ({array})::text AS metrics"


def _parameters(request: SeriesRequest) -> Sequence[str]:
    """Names that the statement has as parameters; many are read from the list of names."""
    return request.names if len(request.names) <= _MAX_ARGUMENTS else ()


def _points(rows: Sequence[Any], names: Sequence[str]) -> list[PointRow]:
    """A metric that is null is left out, as one that is not there."""
    # There may be thousands: all values are parsed at once.
    found = msgspec.json.decode(f"[{','.join([row[3] for row in rows])}]")
    return [
        PointRow(
            row[0],
            row[1],
            row[2],
            {n: v for n, v in zip(names, values, strict=True) if v is not None},
            epoch,
        )
        for row, (epoch, *values) in zip(rows, found, strict=True)
    ]


def _values(request: SeriesRequest) -> tuple[Any, ...]:
    return request.trial_id, request.group, list(request.names), request.after_id


_GROUPS = {"avg_metrics": "training", "validation_metrics": "validation"}


async def list_metric_names(conn: Conn, experiment_ids: Sequence[int]) -> list[MetricName]:
    """Reports of the trials of experiments, in order."""
    query = """
        SELECT DISTINCT g.key, m.name
          FROM trials t, jsonb_each(t.summary_metrics) g, jsonb_object_keys(g.value) m (name)
         WHERE t.experiment_id = ANY ($1)
         ORDER BY 1, 2
    """
    return sorted(metric_name(*row) for row in await conn.fetch(query, experiment_ids))


def metric_name(group: str, name: str) -> MetricName:
    """A metric by the group's name in summaries."""
    return MetricName(_GROUPS.get(group, group), name)


async def list_trials_of(
    conn: Conn, trial_ids: Collection[int], experiment_ids: Sequence[int]
) -> list[int]:
    """Those of the trials that belong to the experiments."""
    if not trial_ids:
        return []
    query = "SELECT id FROM trials WHERE id = ANY ($1) AND experiment_id = ANY ($2)"
    return [row["id"] for row in await conn.fetch(query, trial_ids, experiment_ids)]


async def list_steps(
    conn: Conn, experiment_id: int, metric: MetricName, after_id: int
) -> tuple[list[int], int]:
    """Steps at which any trial reported the metric, and the id of the last report.

    Only reports that came after the one with the id `after_id` are looked at.
    """
    query = """
        SELECT m.steps, max(m.id) FROM trials t JOIN metrics m ON m.trial_id = t.id
         WHERE t.experiment_id = $1 AND m.metric_group = $2 AND m.metrics ? $3
           AND NOT m.archived AND m.id > $4
         GROUP BY m.steps ORDER BY m.steps
    """
    rows = await conn.fetch(query, experiment_id, metric.group, metric.name, after_id)
    return [row[0] for row in rows], max((row[1] for row in rows), default=after_id)


class SnapshotRow(msgspec.Struct, frozen=True):
    """One trial's value of a metric at some steps; `id` is the report's."""

    id: int
    trial_id: int
    hparams: str
    value: float
    steps: int


async def list_snapshot(
    conn: Conn, experiment_id: int, metric: MetricName, between: tuple[int, int], at: int
) -> list[SnapshotRow]:
    """Of each trial with a report between two steps the value of the one closest to `at`."""
    query = """
        SELECT DISTINCT ON (t.id) m.id, t.id, t.hparams::text,
               leaf_number(m.metrics->$3) AS value, m.steps
          FROM trials t JOIN metrics m ON m.trial_id = t.id
         WHERE t.experiment_id = $1 AND m.metric_group = $2 AND NOT m.archived
           AND m.steps BETWEEN $4 AND $5 AND leaf_number(m.metrics->$3) IS NOT NULL
         ORDER BY t.id, abs(m.steps - $6), m.id DESC
    """
    values = (experiment_id, metric.group, metric.name, *between, at)
    return [SnapshotRow(*row) for row in await conn.fetch(query, *values)]


async def list_best_trials(conn: Conn, experiment_id: int, limit: int) -> list[tuple[int, str]]:
    """Ids and hyperparameters (JSON) of the trials with the best searcher metric, best first."""
    query = f"""
        SELECT id, hparams::text FROM trials WHERE experiment_id = $1
         ORDER BY best_metric NULLS LAST, id LIMIT {limit:d}
    """
    return [(row[0], row[1]) for row in await conn.fetch(query, experiment_id)]


async def list_improvements(conn: Conn, experiment_id: int) -> list[tuple[int, datetime, float]]:
    """Trial, time and searcher metric of each validation that was the best until then."""
    query = """
        SELECT trial_id, reported_at, searcher_metric FROM (
            SELECT m.trial_id, m.reported_at, m.id, m.searcher_metric, s.signed,
                   min(s.signed) OVER (ORDER BY m.reported_at, m.id
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
              FROM experiments e
              JOIN trials t ON t.experiment_id = e.id
              JOIN metrics m ON m.trial_id = t.id AND m.metric_group = 'validation'
             CROSS JOIN LATERAL (SELECT CASE WHEN e.smaller_is_better THEN m.searcher_metric
                                             ELSE -m.searcher_metric END) s (signed)
             WHERE e.id = $1 AND NOT m.archived
               AND m.searcher_metric IS NOT NULL AND m.searcher_metric <> 'NaN'
        ) v
         WHERE before IS NULL OR signed < before
         ORDER BY reported_at, id
    """
    return [(row[0], row[1], row[2]) for row in await conn.fetch(query, experiment_id)]

"""Rows of charts: parts of long series in blocks, and reports by any axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from determined_master.domain.metrics.charts import (
    HIGHEST,
    LOWEST,
    ChartAxis,
    Columns,
    Unusual,
    infinities,
    unpack_extremes,
    unpack_parts,
    unpack_unusual,
)
from determined_master.domain.metrics.extremes import Extremes
from determined_master.domain.metrics.steps import step_code

if TYPE_CHECKING:
    from determined_master.records.metrics import SeriesRequest
    from determined_master.store.db import Conn

MAX_UNUSUAL = 1000


class ChartBlock(msgspec.Struct, frozen=True):
    """A metric in a block, without its parts; `reports` counts the reports that have it."""

    name: str
    last_id: int
    reports: int
    first_steps: int
    last_steps: int


class BlockEntry(msgspec.Struct, frozen=True):
    """A metric in a block, with its extremes; `reports` counts those of the whole group."""

    name: str
    first_id: int
    last_id: int
    reports: int
    first_steps: int
    last_steps: int
    extremes: Extremes | None


class RawRow(msgspec.Struct, frozen=True):
    """A report: its steps, time (unix seconds), number and, as JSON, the axis and the metrics."""

    id: int
    steps: int
    at: float
    values: str


class PackedChart(NamedTuple):
    """Parts and unusual values of a metric in a block, and the range of their steps."""

    last_id: int
    first_steps: int
    last_steps: int
    parts: bytes
    unusual: bytes


async def list_versions(conn: Conn, trial_ids: Sequence[int]) -> dict[int, int]:
    """Those of the trials that exist, with a number that each report raises."""
    query = "SELECT id, metrics_version FROM trials WHERE id = ANY ($1)"
    return dict(await conn.fetch(query, trial_ids))


async def list_positions(
    conn: Conn, trial_ids: Sequence[int], most: int
) -> dict[int, tuple[int, int]]:
    """Of each trial the last report in a block, and how many came later, up to `most`."""
    query = f"""
        SELECT t.id, p.last_id, (SELECT count(*) FROM (
                   SELECT FROM metrics m WHERE m.trial_id = t.id AND m.id > p.last_id
                    ORDER BY m.id LIMIT {most:d}) late)
          FROM unnest($1::int[]) AS t (id),
               LATERAL (SELECT coalesce((SELECT last_id FROM metric_blocks b
                                          WHERE b.trial_id = t.id
                                          ORDER BY last_id DESC LIMIT 1), 0)) AS p (last_id)
    """
    return {row[0]: (row[1], row[2]) for row in await conn.fetch(query, list(trial_ids))}


async def list_blocks(conn: Conn, request: SeriesRequest, axis: ChartAxis) -> list[ChartBlock]:
    """The blocks of some metrics that overlap a range of a stored axis, by metric, in order.

    For any other axis: all of them.
    """
    query = f"""
        SELECT name, last_id, reports, first_steps, last_steps FROM metric_charts
         WHERE trial_id = $1 AND metric_group = $2 AND name = ANY ($3) {overlap(axis)}
         ORDER BY name, last_id
    """
    values = (request.trial_id, request.group, list(request.names), *range_of(axis))
    return [ChartBlock(*row) for row in await conn.fetch(query, *values)]


async def list_entries(conn: Conn, request: SeriesRequest) -> list[BlockEntry]:
    """Each metric in the blocks with reports of the request, by metric, in order."""
    query = """
        SELECT name, first_id, last_id, group_reports, first_steps, last_steps,
               low, high, low_steps, high_steps
          FROM metric_charts
         WHERE trial_id = $1 AND metric_group = $2 AND name = ANY ($3)
           AND last_id > $4 AND last_id <= $5 AND last_steps >= $6 AND first_steps <= $7
         ORDER BY name, last_id
    """
    values: tuple[Any, ...] = (request.trial_id, request.group, list(request.names))
    values += (request.after_id, request.up_to_id, request.from_steps, request.to_steps)
    return [
        BlockEntry(
            *(r[0], r[1], r[2], r[3], r[4], r[5]),
            None if r[6] is None else Extremes(r[6], r[7], r[8], r[9]),
        )
        for r in await conn.fetch(query, *values)
    ]


async def list_packed(conn: Conn, request: SeriesRequest, axis: ChartAxis) -> list[PackedChart]:
    """Parts and unusual values of one metric in blocks of the range, in order."""
    query = f"""
        SELECT last_id, first_steps, last_steps, parts, unusual FROM metric_charts
         WHERE trial_id = $1 AND metric_group = $2 AND name = ANY ($3) {overlap(axis)}
           AND last_id <= $6
         ORDER BY last_id
    """
    names = list(request.names)
    values = (request.trial_id, request.group, names, *range_of(axis), request.up_to_id)
    return [PackedChart(*row) for row in await conn.fetch(query, *values)]


def unpack(packed: Iterable[PackedChart]) -> tuple[list[tuple[Any, ...]], list[Unusual]]:
    """The parts and unusual values of several blocks, in their order."""
    parts: list[tuple[Any, ...]] = []
    unusual: list[Unusual] = []
    for chart in packed:
        code = step_code(chart.first_steps, chart.last_steps)
        parts += unpack_parts(chart.parts, code)
        unusual += unpack_unusual(chart.unusual, code)
    return parts, unusual


def extremes_of_parts(packed: Iterable[PackedChart]) -> list[Extremes]:
    """The extremes of the parts of several blocks, each block's infinities behind them."""
    extremes: list[Extremes] = []
    for chart in packed:
        code = step_code(chart.first_steps, chart.last_steps)
        extremes += unpack_extremes(chart.parts, code)
        extremes += infinities(unpack_unusual(chart.unusual, code))
    return extremes


EPOCHS = "'epochs'"
"""How the trainers name what the wire calls `epoch`: reports may have either."""


async def list_reports(
    conn: Conn, request: SeriesRequest, axis: ChartAxis, limit: int
) -> list[RawRow]:
    """Reports with any of the metrics, by steps; no more than `limit`."""
    names = "".join(f", metrics->${n}" for n in range(9, 9 + len(request.names)))
    # After an id, only the index of ids finds them; else only that of steps.
    steps, by = ("steps + 0", "id") if request.after_id else ("steps", "steps, id")
    either = f"coalesce(metrics->$4, metrics->{EPOCHS})"
    place = either if axis.name == "epochs" else "metrics->$4"
    query = f"""
        SELECT id, steps, extract(epoch FROM reported_at)::float8,
               jsonb_build_array({place}{names})::text
          FROM metrics
         WHERE trial_id = $1 AND metric_group = $2 AND NOT archived AND id > $3 AND id <= $8
           AND {steps} BETWEEN $5 AND $6 AND metrics ?| $7
         ORDER BY {by} LIMIT {limit:d}
    """
    values: tuple[Any, ...] = (request.trial_id, request.group, request.after_id, _key(axis))
    values += (request.from_steps, request.to_steps, list(request.names))
    values += (request.up_to_id, *request.names)
    return [RawRow(*row) for row in await conn.fetch(query, *values)]


async def find_buckets(
    conn: Conn, request: SeriesRequest, axis: ChartAxis, buckets: int
) -> Columns:
    """Buckets of one metric by any axis, from its reports: about a second for a million.

    Buckets have equal width.
    """
    query = f"""
        WITH v AS MATERIALIZED (
            SELECT x, y, at, id FROM ({_values(axis)}) s
             WHERE x BETWEEN $5 AND $6 AND y - y = 0
        ), r AS (SELECT min(x) AS low, max(x) AS high FROM v)
        SELECT max(ARRAY[x, id::float8, y, at]) AS last, min(y), max(y), count(*)
          FROM v, r
         GROUP BY least(floor((x - r.low) * {buckets:d}
                              / nullif(r.high - r.low, 0)), {buckets - 1:d})
         ORDER BY 1
    """
    rows = await conn.fetch(query, *_arguments(request, axis))
    last = [row[0] for row in rows]
    columns = ([v[n] for v in last] for n in (0, 2))
    low, high, n = ([row[i] for row in rows] for i in (1, 2, 3))
    x, value = columns
    return Columns(sum(n), True, x, value, low, high, n, [v[3] for v in last])


async def find_unusual(
    conn: Conn, request: SeriesRequest, axis: ChartAxis
) -> tuple[int, list[tuple[float, float]], int]:
    """Values of one metric that are not finite: how many, the first of them with their places.

    Also how many values have no place on the axis.
    """
    query = f"""
        WITH v AS MATERIALIZED (
            SELECT x, y, id FROM ({_values(axis)}) s
             WHERE y IS NOT NULL AND (x IS NULL OR y - y IS DISTINCT FROM 0)
        )
        SELECT (SELECT count(*) FROM v WHERE x BETWEEN $5 AND $6),
               (SELECT count(*) FROM v WHERE x IS NULL),
               ARRAY (SELECT ARRAY[x, y] FROM v WHERE x BETWEEN $5 AND $6
                       ORDER BY x, id LIMIT {MAX_UNUSUAL})
    """
    count, without, found = await conn.fetchrow(query, *_arguments(request, axis))
    return int(count), [(x, y) for x, y in found], int(without)


def _values(axis: ChartAxis) -> str:
    """Every value of the metric $3: its place, number, time and report."""
    match axis.name:
        case "batches":
            x = "steps::float8"
        case "time":
            x = "extract(epoch FROM reported_at)::float8"
        case "epochs":
            x = _finite(f"coalesce({_number('$4')}, {_number(EPOCHS)})")
        case _:
            x = _finite(_number("$4"))
    return f"""
        SELECT {x} AS x, {_number("$3")} AS y, extract(epoch FROM reported_at)::float8 AS at, id
          FROM metrics
         WHERE trial_id = $1 AND metric_group = $2 AND NOT archived AND metrics ? $3
           AND $4::text IS NOT NULL
    """


def _finite(number: str) -> str:
    return f"nullif(nullif(nullif({number}, 'NaN'), 'Infinity'), '-Infinity')"


def _number(key: str) -> str:
    return f"""
        CASE jsonb_typeof(metrics->{key})
             WHEN 'number' THEN (metrics->{key})::float8
             WHEN 'string' THEN CASE WHEN metrics->>{key} IN ('NaN', 'Infinity', '-Infinity')
                                     THEN (metrics->>{key})::float8 END END
    """


def _arguments(request: SeriesRequest, axis: ChartAxis) -> tuple[Any, ...]:
    return request.trial_id, request.group, request.names[0], _key(axis), axis.low, axis.high


def _key(axis: ChartAxis) -> str:
    return "epoch" if axis.name == "epochs" else axis.name.removeprefix("metric:")


def overlap(axis: ChartAxis) -> str:
    """Which rows of blocks overlap a range ($4 to $5) of a stored axis."""
    match axis.name:
        case "batches":
            return "AND last_steps >= $4::float8 AND first_steps <= $5::float8"
        case "time":
            return "AND last_at >= $4::float8 AND first_at <= $5::float8"
        case _:
            return "AND $4::float8 <= $5::float8"


def range_of(axis: ChartAxis) -> tuple[float, float]:
    """The values for `overlap`."""
    return (axis.low, axis.high) if axis.is_stored else (LOWEST, HIGHEST)

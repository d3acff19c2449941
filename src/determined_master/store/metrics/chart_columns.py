"""Rows of what blocks keep for charts: parts of each metric, and its values by columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.metrics.charts import ChartAxis, Charted, pack_parts, pack_unusual
from determined_master.domain.metrics.columns import GroupColumns
from determined_master.domain.metrics.steps import step_code
from determined_master.store.metrics.blocks import Block
from determined_master.store.metrics.charts import overlap, range_of

if TYPE_CHECKING:
    from determined_master.records.metrics import SeriesRequest
    from determined_master.store.db import Conn


class NewCharts(msgspec.Struct, frozen=True):
    """What a block keeps for charts: of each group its columns, of each metric its parts."""

    groups: Mapping[str, GroupColumns]
    metrics: Sequence[tuple[str, str, Charted]]
    """Group and name of each."""


class BlockColumns(msgspec.Struct, frozen=True):
    """The reports of a group in a block, packed: their places, and the values of metrics."""

    first_steps: int
    last_steps: int
    steps: bytes
    at: bytes
    values: Mapping[str, bytes | None]
    """None of a metric that does not have a finite number in each report."""


async def insert_charts(conn: Conn, block: Block, charts: NewCharts) -> None:
    """Store what a block keeps for charts; inside the caller's transaction."""
    of_groups = """
        INSERT INTO metric_places
        SELECT $1, n.metric_group, $2, n.first_steps, n.last_steps, n.first_at, n.last_at,
               n.steps, n.at
          FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::float8[], $7::float8[],
                      $8::bytea[], $9::bytea[])
            AS n (metric_group, first_steps, last_steps, first_at, last_at, steps, at)
    """
    of_metrics = """
        INSERT INTO metric_charts
        SELECT $1, n.metric_group, n.name, $2, n.reports, n.first_steps, n.last_steps,
               n.first_at, n.last_at, n.parts, n.unusual, n.doubles,
               $3, n.group_reports, n.low, n.low_steps, n.high, n.high_steps
          FROM unnest($4::text[], $5::text[], $6::int[], $7::bigint[], $8::bigint[],
                      $9::float8[], $10::float8[], $11::bytea[], $12::bytea[], $13::bytea[],
                      $14::int[], $15::float8[], $16::float8[], $17::bigint[], $18::bigint[])
            AS n (metric_group, name, reports, first_steps, last_steps, first_at, last_at, parts,
                  unusual, doubles, group_reports, low, high, low_steps, high_steps)
    """
    groups = [(group, *columns[:6]) for group, columns in charts.groups.items()]
    metrics = [
        (
            *(group, name, *_packed(chart), charts.groups[group].values.get(name)),
            *(len(charts.groups[group].at) // 8, *(chart.extremes or (None,) * 4)),
        )
        for group, name, chart in charts.metrics
    ]
    ids = (block.trial_id, block.last_id)
    if groups:
        values = map(list, zip(*groups, strict=True))
        await conn.execute(of_groups, *ids, *values)
    if metrics:
        values = map(list, zip(*metrics, strict=True))
        await conn.execute(of_metrics, *ids, block.first_id, *values)


async def list_columns(
    conn: Conn, request: SeriesRequest, axis: ChartAxis, last_id: int, limit: int
) -> list[BlockColumns]:
    """The columns of some metrics in the blocks that overlap a range of a stored axis, in order.

    Only of blocks up to one of them, and no more than `limit`.
    """
    query = f"""
        SELECT p.first_steps, p.last_steps, p.steps, p.at, ARRAY (
                   SELECT c.doubles
                     FROM unnest($3::text[]) WITH ORDINALITY AS n (name, place)
                     LEFT JOIN metric_charts c
                            ON c.trial_id = p.trial_id AND c.metric_group = p.metric_group
                           AND c.name = n.name AND c.last_id = p.last_id
                    ORDER BY n.place)
          FROM metric_places p
         WHERE p.trial_id = $1 AND p.metric_group = $2 AND p.last_id <= $6 {overlap(axis)}
         ORDER BY p.last_id LIMIT {limit:d}
    """
    values = (request.trial_id, request.group, list(request.names), *range_of(axis), last_id)
    return [
        BlockColumns(first, last, steps, at, dict(zip(request.names, doubles, strict=True)))
        for first, last, steps, at, doubles in await conn.fetch(query, *values)
    ]


def _packed(chart: Charted) -> tuple[int | float | bytes, ...]:
    code = step_code(chart.first_steps, chart.last_steps)
    return (*chart[:5], pack_parts(chart.parts, code), pack_unusual(chart.unusual, code))

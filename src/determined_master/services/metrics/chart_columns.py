"""Reads metrics that blocks have as columns, and the reports that came after the blocks."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from determined_master.domain.metrics.columns import unpack_doubles, unpack_steps
from determined_master.domain.metrics.extremes import BLOCK_REPORTS
from determined_master.store.metrics import blocks, chart_columns
from determined_master.store.metrics import charts as rows
from determined_master.store.metrics.chart_columns import BlockColumns
from determined_master.store.metrics.charts import RawRow

if TYPE_CHECKING:
    from determined_master.domain.metrics.charts import ChartAxis
    from determined_master.records.metrics import SeriesRequest
    from determined_master.store.db import Conn


class FoundColumns(NamedTuple):
    """Blocks in order with later reports, and the metrics that each of these blocks has."""

    names: Sequence[str]
    blocks: Sequence[BlockColumns]
    late: Sequence[RawRow]


class JoinedColumns(NamedTuple):
    """Places and times (unix seconds) of reports, and their values by metric; shape (n,) each."""

    x: list[float]
    at: list[float]
    values: dict[str, list[Any]]
    finite: int
    """So many of the first values of each metric are finite numbers."""


async def find_columns(
    conn: Conn, request: SeriesRequest, axis: ChartAxis, most: int
) -> FoundColumns | None:
    """The metrics that can be read as columns; None if none can, or of too many reports.

    Args:
        conn: a connection.
        request: a group and its metrics.
        axis: a stored one.
        most: reports that are not too many.
    """
    # First, so that a block that is made in between leaves no gap.
    last_id = await blocks.find_last_id(conn, request.trial_id)
    limit = most // BLOCK_REPORTS
    found = await chart_columns.list_columns(conn, request, axis, last_id, limit + 1)
    if not found or len(found) > limit:
        return None
    names = [n for n in request.names if all(block.values[n] is not None for block in found)]
    if not names:
        return None
    request = msgspec.structs.replace(request, names=names, after_id=last_id)
    late = await rows.list_reports(conn, request, axis, most)
    return FoundColumns(names, found, late) if len(late) < most else None


def joined(found: FoundColumns, axis: ChartAxis) -> JoinedColumns:
    """The reports within the range of the axis; those of blocks first."""
    decoded: list[list[Any]] = msgspec.json.decode(
        f"[{','.join([row.values for row in found.late])}]"
    )
    at = list(_values_of(block.at for block in found.blocks))
    finite = len(at)
    at += [row.at for row in found.late]
    if axis.name == "time":
        x: list[float] = at
    else:
        x = [step for block in found.blocks for step in _steps_of(block)]
        x += [row.steps for row in found.late]
    values: dict[str, list[Any]] = {}
    for n, name in enumerate(found.names, 1):
        values[name] = list(_values_of(block.values[name] for block in found.blocks))
        values[name] += [row[n] for row in decoded]
    if all(a <= b for a, b in itertools.pairwise(x)):
        low, high = bisect_left(x, axis.low), bisect_right(x, axis.high)
        if high - low < len(x):
            x, at, finite = x[low:high], at[low:high], max(min(finite, high) - low, 0)
            values = {name: column[low:high] for name, column in values.items()}
    return JoinedColumns(x, at, values, finite)


def _steps_of(block: BlockColumns) -> tuple[int, ...]:
    return unpack_steps(block.steps, block.first_steps, block.last_steps)


def _values_of(packed: Iterable[bytes | None]) -> Iterator[float]:
    return itertools.chain.from_iterable(unpack_doubles(each or b"") for each in packed)

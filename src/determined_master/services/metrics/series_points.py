"""The points of a series: all reports of a short one, the extremes of a long one.

A long series is read from its blocks (`store/metrics/blocks.py`), which are made here: when a
trial has reported enough since its last block, or when a series without blocks is read. Reports
never wait for them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec

from determined_master.domain.metrics.charts import ChartAxis, Report, charts_of
from determined_master.domain.metrics.columns import columns_of
from determined_master.domain.metrics.extremes import (
    BLOCK_REPORTS,
    PART_REPORTS,
    Extremes,
    Values,
    extremes_of,
    thinned,
)
from determined_master.records.metrics import PointRow, SeriesRequest
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.metrics import blocks, charts
from determined_master.store.metrics import series as rows
from determined_master.store.metrics.blocks import Block
from determined_master.store.metrics.chart_columns import NewCharts, insert_charts
from determined_master.store.metrics.charts import BlockEntry

if TYPE_CHECKING:
    from determined_master.store.db import Conn, Database

MAX_WHOLE = 8 * BLOCK_REPORTS
"""How many reports are read one by one: that takes about 20 ms."""
DUE = BLOCK_REPORTS
"""The block of a trial is made once so many of its reports wait for one."""
MAX_LATE = 4 * BLOCK_REPORTS
"""A series that is read waits for the blocks of more reports than these."""
IDLE_S = 1.0
MAX_NOTED = 50_000
MAX_REFUSED = 10
"""Other masters may make the same blocks; one of them makes progress with each try."""


class SeriesPoints:
    """Points of series, and the blocks that they are read from."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: Counter[int] = Counter()
        self._doors: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def note(self, trial_id: int, reports: int) -> None:
        """So many reports of a trial were stored."""
        self._waiting[trial_id] += reports

    async def run(self) -> None:
        """Make blocks for trials that report much; cancelled at the master's end."""
        while True:
            if len(self._waiting) > MAX_NOTED:
                self._waiting.clear()  # readers of their series make their blocks
            for trial_id in [i for i, n in self._waiting.items() if n >= DUE]:
                with contextlib.suppress(*DATABASE_ERRORS):  # they are made a second later
                    await self.catch_up(trial_id)
            await asyncio.sleep(IDLE_S)

    async def catch_up(self, trial_id: int) -> None:
        """Make the blocks of a trial that are missing.

        A connection is held for one block at a time.
        """
        async with self._doors.setdefault(trial_id, asyncio.Lock()):
            del self._waiting[trial_id]
            refused = 0
            while refused < MAX_REFUSED:
                is_stored = await self._add_block(trial_id)
                if is_stored is None:
                    return
                refused = 0 if is_stored else refused + 1

    async def find(self, request: SeriesRequest) -> list[PointRow]:
        """Points by steps: every report, or the extremes of buckets where those are too many.

        The buckets are as many as `max_points` allows with two points for each metric in each,
        so no value that stands out is lost; the first and the last report are always there.
        """
        points, is_whole = await self.read(request)
        return thinned_points(points, request) if is_whole else points

    async def read(self, request: SeriesRequest) -> tuple[list[PointRow], bool]:
        """All reports of a short series, and True; the points of a long one, and False."""
        async with self._db.acquire() as conn:
            position = await blocks.find_last_id(conn, request.trial_id)
            late = await blocks.count_after(conn, request.trial_id, position, MAX_LATE + 1)
        if late > MAX_LATE:
            await self.catch_up(request.trial_id)
        async with self._db.acquire() as conn:
            # First, so that a block that is made in between leaves no gap.
            last_id = await blocks.find_last_id(conn, request.trial_id)
            within = msgspec.structs.replace(request, up_to_id=last_id)
            entries = await charts.list_entries(conn, within)
            reports: Counter[str] = Counter()
            for entry in entries:
                reports[entry.name] += entry.reports
            if max(reports.values(), default=0) > MAX_WHOLE:
                steps = await _extreme_steps(conn, request, entries, last_id)
                return await rows.list_points_at(conn, request, steps), False
            return await rows.list_points(conn, request, MAX_WHOLE + 2 * MAX_LATE), True

    async def _add_block(self, trial_id: int) -> bool | None:
        """Make the next block, if no other master does; None if there is none to make."""
        async with self._db.acquire() as conn:
            after = await blocks.find_last_id(conn, trial_id)
            reports = await blocks.list_for_block(conn, trial_id, after)
        if len(reports) < BLOCK_REPORTS:
            return None
        contents = await asyncio.to_thread(_contents_of, reports)
        block = Block(trial_id, reports[-1].id, reports[0].id, len(reports))
        async with self._db.acquire() as conn, conn.transaction():
            is_stored = await blocks.insert_block(conn, block)
            if is_stored:
                await insert_charts(conn, block, contents)
            return is_stored


def thinned_points(points: list[PointRow], request: SeriesRequest) -> list[PointRow]:
    """All reports of a short series, or its extremes if those are too many."""
    steps = shown_steps([(p.steps, p.metrics) for p in points], request)
    return points if steps is None else [p for p in points if p.steps in steps]


def shown_steps(reports: Sequence[Values], request: SeriesRequest) -> set[int] | None:
    """The steps of the extremes of a short series, and both ends; None if all points are shown."""
    if len(reports) <= request.max_points:
        return None
    buckets = _buckets(request)
    each = -(-len(reports) // buckets)
    steps = {reports[0][0], reports[-1][0]}
    for parts in extremes_of(reports, each).values():
        steps |= thinned(parts, buckets)
    return steps


def _contents_of(reports: Sequence[blocks.RawReport]) -> NewCharts:
    """What a block keeps."""
    groups: dict[str, list[Report]] = {}
    for report in reports:
        values = msgspec.json.decode(report.metrics)
        groups.setdefault(report.group, []).append((report.steps, report.at, values))
    charted = [
        (group, name, chart)
        for group, of_group in groups.items()
        for name, chart in charts_of(of_group).items()
    ]
    return NewCharts({group: columns_of(of_group) for group, of_group in groups.items()}, charted)


def _buckets(request: SeriesRequest) -> int:
    return max(1, (request.max_points - 2) // (2 * len(request.names)))


async def _extreme_steps(
    conn: Conn, request: SeriesRequest, entries: Sequence[BlockEntry], last_id: int
) -> list[int]:
    """Steps of the extremes: of whole blocks, and of the reports that are in none of them."""
    buckets = _buckets(request)
    spans: set[tuple[int, int]] = set()
    by_name: dict[str, list[BlockEntry]] = {name: [] for name in request.names}
    for entry in entries:
        if _is_whole(entry, request):
            by_name[entry.name].append(entry)
        else:
            spans.add((entry.first_id - 1, entry.last_id))
    loose = [
        (row.steps, row.metrics)
        for after_id, up_to_id in sorted({*spans, (last_id, request.up_to_id)})
        for row in await rows.list_between(
            conn,
            msgspec.structs.replace(
                request, after_id=max(after_id, request.after_id), up_to_id=up_to_id
            ),
        )
    ]
    steps = {end(v[0] for v in loose) for end in (min, max)} if loose else set()
    for name, whole in by_name.items():
        by_block = 2 * len(whole) > buckets
        parts = extremes_of(loose, BLOCK_REPORTS if by_block else PART_REPORTS).get(name, [])
        if by_block:
            parts += [e.extremes for e in whole if e.extremes is not None]
        elif whole:
            parts += await _parts_of(conn, request, whole)
        parts.sort(key=itemgetter(2))
        steps |= thinned(parts, buckets)
        steps |= {e.first_steps for e in whole[:1]} | {e.last_steps for e in whole[-1:]}
    return sorted(steps)


def _is_whole(entry: BlockEntry, request: SeriesRequest) -> bool:
    """Whether the request has all reports of the block with the metric."""
    return (
        entry.first_id > request.after_id
        and entry.first_steps >= request.from_steps
        and entry.last_steps <= request.to_steps
    )


async def _parts_of(
    conn: Conn, request: SeriesRequest, whole: Sequence[BlockEntry]
) -> list[Extremes]:
    """The extremes of each part of one metric's blocks."""
    ids = {entry.last_id for entry in whole}
    axis = ChartAxis("batches", request.from_steps, request.to_steps)
    one = msgspec.structs.replace(request, names=[whole[0].name], up_to_id=max(ids))
    packed = await charts.list_packed(conn, one, axis)
    return charts.extremes_of_parts(each for each in packed if each.last_id in ids)

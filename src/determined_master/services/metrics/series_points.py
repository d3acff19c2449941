"""The points of a series: all reports of a short one, the extremes of a long one.

A long series is read from its blocks (`store/metrics/blocks.py`), which are made here: when a
trial has reported enough since its last block, or when a series without blocks is read. Reports
never wait for them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec

from determined_master.domain.metrics.charts import Report, charts_of
from determined_master.domain.metrics.columns import columns_of
from determined_master.domain.metrics.extremes import (
    BLOCK_REPORTS,
    PART_REPORTS,
    Values,
    extremes_of,
    joined,
    thinned,
)
from determined_master.records.metrics import PointRow, SeriesRequest
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.metrics import blocks
from determined_master.store.metrics import series as rows
from determined_master.store.metrics.blocks import Block, BlockEntry, NewEntry
from determined_master.store.metrics.chart_columns import NewCharts, insert_charts

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
MAX_ID = 2**63 - 1


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
            series = await _read_entries(conn, request)
            is_long = any(series.count(name) > MAX_WHOLE for name in request.names)
            if is_long:
                return await rows.list_points_at(conn, request, await _long(conn, series)), False
            return await rows.list_points(conn, request, MAX_WHOLE + 2 * MAX_LATE), True

    async def _add_block(self, trial_id: int) -> bool | None:
        """Make the next block, if no other master does; None if there is none to make."""
        async with self._db.acquire() as conn:
            after = await blocks.find_last_id(conn, trial_id)
            reports = await blocks.list_for_block(conn, trial_id, after)
        if len(reports) < BLOCK_REPORTS:
            return None
        entries, charts = await asyncio.to_thread(_contents_of, reports)
        block = Block(trial_id, reports[-1].id, reports[0].id, len(reports))
        async with self._db.acquire() as conn, conn.transaction():
            is_stored = await blocks.insert_block(conn, block, entries)
            if is_stored:
                await insert_charts(conn, trial_id, block.last_id, charts)
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


class _Series(msgspec.Struct, frozen=True):
    """The blocks' data for the requested part of a series, by metric."""

    request: SeriesRequest
    last_id: int
    """Of the last block at that time: later reports are read one by one."""
    whole: dict[str, list[BlockEntry]]
    torn: dict[str, list[BlockEntry]]
    """Blocks that also contain other reports; the requested reports are read instead."""

    def count(self, name: str) -> int:
        """How many reports of the group the blocks have there."""
        return sum(e.reports for e in (*self.whole[name], *self.torn[name]))


async def _read_entries(conn: Conn, request: SeriesRequest) -> _Series:
    # First, so that a block that is made in between leaves no gap.
    last_id = await blocks.find_last_id(conn, request.trial_id)
    series = _Series(request, last_id, {}, {})
    for name in request.names:
        whole, torn = series.whole.setdefault(name, []), series.torn.setdefault(name, [])
        for entry in await blocks.list_entries(conn, request.trial_id, request.group, name):
            is_asked = (
                request.after_id < entry.last_id <= last_id
                and entry.last_steps >= request.from_steps
                and entry.first_steps <= request.to_steps
            )
            is_whole = (
                entry.first_id > request.after_id
                and entry.first_steps >= request.from_steps
                and entry.last_steps <= request.to_steps
            )
            if is_asked:
                (whole if is_whole else torn).append(entry)
    return series


def _contents_of(reports: Sequence[blocks.RawReport]) -> tuple[list[NewEntry], NewCharts]:
    """What a block keeps: extremes, and what charts read."""
    groups: dict[str, list[Values]] = {}
    timed: dict[str, list[Report]] = {}
    for report in reports:
        values = msgspec.json.decode(report.metrics)
        groups.setdefault(report.group, []).append((report.steps, values))
        timed.setdefault(report.group, []).append((report.steps, report.at, values))
    charted = [
        (group, name, kept)
        for group, of_group in timed.items()
        for name, kept in charts_of(of_group).items()
    ]
    columns = {group: columns_of(of_group) for group, of_group in timed.items()}
    return _entries_of(groups), NewCharts(columns, charted)


def _entries_of(groups: Mapping[str, Sequence[Values]]) -> list[NewEntry]:
    entries = []
    for group, values in groups.items():
        first, last = min(v[0] for v in values), max(v[0] for v in values)
        for name, parts in extremes_of(values).items():
            entries.append(NewEntry(group, name, len(values), first, last, joined(parts), parts))
    return entries


def _buckets(request: SeriesRequest) -> int:
    return max(1, (request.max_points - 2) // (2 * len(request.names)))


async def _long(conn: Conn, series: _Series) -> list[int]:
    """Steps of the extremes: of whole blocks, and of the reports that are in none of them."""
    request = series.request
    buckets = _buckets(request)
    spans = {(e.first_id, e.last_id) for torn in series.torn.values() for e in torn}
    loose = [
        row
        for span in sorted({*spans, (series.last_id + 1, MAX_ID)})
        for row in await rows.list_between(conn, request, *span)
    ]
    steps: set[int] = set()
    for name in request.names:
        whole = series.whole[name]
        by_block = 2 * len(whole) > buckets
        each = BLOCK_REPORTS if by_block else PART_REPORTS
        parts = extremes_of([(v.steps, v.metrics) for v in loose], each).get(name, [])
        if by_block:
            parts += [e.extremes for e in whole]
        elif whole:
            ids = (whole[0].last_id, whole[-1].last_id)
            found = await blocks.list_parts(conn, request.trial_id, request.group, name, ids)
            parts += [part for e in whole for part in found[e.last_id]]
        parts.sort(key=lambda part: part.low_steps)
        steps |= thinned(parts, buckets)
        steps |= {e.first_steps for e in whole[:1]} | {e.last_steps for e in whole[-1:]}
    if loose:
        steps |= {min(v.steps for v in loose), max(v.steps for v in loose)}
    return sorted(steps)

"""Reads one trial's metrics of a group for charts: its reports, its blocks, or both."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.metrics import charts as domain
from determined_master.records.metrics import MetricName, SeriesRequest
from determined_master.services.metrics.chart_answers import ChartQuery, encode
from determined_master.services.metrics.chart_columns import FoundColumns, find_columns, joined
from determined_master.services.metrics.chart_series import ReportRows, Series
from determined_master.services.metrics.series_points import MAX_LATE
from determined_master.store.metrics import blocks
from determined_master.store.metrics import charts as rows
from determined_master.store.metrics.charts import ChartBlock, PackedChart, RawRow
from determined_wire.bounds import MAX_STEPS

if TYPE_CHECKING:
    from determined_master.store.db import Conn, Database

MAX_READ = 16_384
"""So many reports are read one by one: that takes about 0.1 s."""
LIMIT = MAX_READ + 2 * MAX_LATE


class ChartRead:
    """One read of some metrics of a group of a trial."""

    def __init__(
        self, db: Database, reports: SeriesRequest, query: ChartQuery, *, has_blocks: bool
    ) -> None:
        self._db = db
        self._reports = reports
        self._axis = query.axis
        self._buckets = query.buckets
        self._shares_places = query.shares_places
        self._has_blocks = has_blocks

    async def read(self) -> dict[MetricName, bytes]:
        """The series by metric."""
        async with self._db.acquire() as conn:
            found = await self._read_columns(conn)
            if len(found) < len(self._reports.names):
                found |= await self._read_reports(
                    conn, [name for name in self._reports.names if name not in found]
                )
        return {MetricName(self._reports.group, name): text for name, text in found.items()}

    async def _read_columns(self, conn: Conn) -> dict[str, bytes]:
        """Those of the series that blocks have as columns."""
        if not (self._has_blocks and self._axis.is_stored):
            return {}
        found = await find_columns(conn, self._reports, self._axis, MAX_READ)
        return {} if found is None else await asyncio.to_thread(self._from_columns, found)

    async def _read_reports(self, conn: Conn, names: Sequence[str]) -> dict[str, bytes]:
        """Series from their reports, or from the parts of blocks where those are many."""
        reports = msgspec.structs.replace(self._reports, names=names)
        read = await self._list_reports(conn, reports)
        if read is None:
            return {name: await self._long(conn, name) for name in names}
        return await asyncio.to_thread(self._from_rows, read, names)

    async def _list_reports(self, conn: Conn, reports: SeriesRequest) -> list[RawRow] | None:
        """All of the reports in the range, unless they are too many."""
        # First, so that a block that is made in between leaves no gap.
        found: list[ChartBlock] = []
        last_id = 0
        if self._has_blocks:
            last_id = await blocks.find_last_id(conn, reports.trial_id)
            found = await rows.list_blocks(conn, reports, self._axis)
        counts: dict[str, int] = {}
        for block in found:
            counts[block.name] = counts.get(block.name, 0) + block.reports
        if max(counts.values(), default=0) > MAX_READ:
            return None
        read = []
        for part in self._parts_to_read(reports, found, last_id):
            read += await rows.list_reports(conn, part, self._axis, LIMIT)
        return read if len(read) < LIMIT else None

    def _parts_to_read(
        self, reports: SeriesRequest, found: Sequence[ChartBlock], last_id: int
    ) -> list[SeriesRequest]:
        """The reports in the range, by what an index can find."""
        change = msgspec.structs.replace
        match self._axis.name:
            case "batches":
                low = _to_int(self._axis.low, up=True)
                high = _to_int(self._axis.high, up=False)
                return [change(reports, from_steps=low, to_steps=high)]
            case "time" if last_id:
                late = change(reports, after_id=last_id)
                if not found:
                    return [late]
                low, high = min(b.first_steps for b in found), max(b.last_steps for b in found)
                within = change(reports, from_steps=low, to_steps=high, up_to_id=last_id)
                return [within, late]
            case _:
                return [reports]

    def _from_rows(self, read: Sequence[RawRow], names: Sequence[str]) -> dict[str, bytes]:
        values = msgspec.json.decode(f"[{','.join([row.values for row in read])}]")
        keys, *metrics = zip(*values, strict=True) if values else [()] * (1 + len(names))
        shared = ReportRows(self._places(read, keys), [row.at for row in read], self._axis)
        return self._charts(shared, dict(zip(names, map(list, metrics), strict=True)))

    def _from_columns(self, found: FoundColumns) -> dict[str, bytes]:
        read = joined(found, self._axis)
        return self._charts(ReportRows(read.x, read.at, self._axis), read.values, read.finite)

    def _charts(
        self, shared: ReportRows, values: Mapping[str, list[Any]], finite: int = 0
    ) -> dict[str, bytes]:
        charts: dict[str, bytes] = {}
        first = ""
        for name, of_metric in values.items():
            columns = shared.columns(of_metric, self._buckets, finite)
            if columns is not None:
                charts[name] = encode(self._reports, name, columns, places_of=first)
                first = first or (name if self._shares_places else "")
            else:
                series = Series()
                series.add(shared, of_metric, self._axis)
                charts[name] = self._render(name, series)
        return charts

    def _places(self, read: Sequence[RawRow], keys: Sequence[object]) -> list[float | None]:
        """The places of reports on the axis; None where it has none."""
        match self._axis.name:
            case "batches":
                return [row.steps for row in read]
            case "time":
                return [row.at for row in read]
            case _:
                numbers = [domain.read_number(key) for key in keys]
                return [n if n is not None and math.isfinite(n) else None for n in numbers]

    async def _long(self, conn: Conn, name: str) -> bytes:
        """A long series: from its blocks where they lie in a row, else from its reports."""
        reports = msgspec.structs.replace(self._reports, names=[name])
        if self._axis.is_stored:
            series = await self._from_blocks(conn, reports)
            if series is not None:
                return await asyncio.to_thread(self._render, name, series)
        columns = await rows.find_buckets(conn, reports, self._axis, self._buckets)
        count, unusual, without = await rows.find_unusual(conn, reports, self._axis)
        return await asyncio.to_thread(
            encode, self._reports, name, columns, unusual, count, without
        )

    async def _from_blocks(self, conn: Conn, reports: SeriesRequest) -> Series | None:
        # First, so that a block that is made in between leaves no gap.
        last_id = await blocks.find_last_id(conn, reports.trial_id)
        within = msgspec.structs.replace(reports, up_to_id=last_id)
        packed = await rows.list_packed(conn, within, self._axis)
        series, torn = await asyncio.to_thread(self._whole_parts, packed)
        if len(torn) > 2:  # of parts in a row only the first and the last are torn
            return None
        read = [
            row
            for first, last in torn
            for row in await rows.list_reports(
                conn,
                msgspec.structs.replace(within, from_steps=first, to_steps=last),
                self._axis,
                MAX_READ,
            )
        ]
        after = msgspec.structs.replace(reports, after_id=last_id)
        late = await rows.list_reports(conn, after, self._axis, MAX_READ)
        if len(read) >= MAX_READ or len(late) >= MAX_READ:
            return None
        return series if await asyncio.to_thread(self._join, series, read, late) else None

    def _whole_parts(self, packed: Sequence[PackedChart]) -> tuple[Series, list[tuple[int, int]]]:
        """The parts that lie in the range, and the steps of those that lie in it partly."""
        parts, unusual = rows.unpack(packed)
        by_time, low, high = self._axis.name == "time", self._axis.low, self._axis.high
        series = Series()
        torn: list[tuple[int, int]] = []
        for steps, last_steps, n, least, most, value, at, last_at, _, _ in parts:
            first, last = (at, last_at) if by_time else (steps, last_steps)
            if last < low or first > high:
                continue
            if first < low or last > high:
                torn.append((steps, last_steps))
            else:
                series.spans.append((first, last, n, least, most, value, last_at))
        for one in unusual:
            x = one.at if by_time else one.steps
            if low <= x <= high:
                series.unusual.append((x, domain.NUMBERS[one.word]))
        return series, torn

    def _join(self, series: Series, torn: Sequence[RawRow], late: Sequence[RawRow]) -> bool:
        """Add reports to whole parts; whether all lie in a row."""
        known = len(series.unusual)
        self._add_rows(series, torn)
        del series.unusual[known:]  # their blocks have them already
        self._add_rows(series, late)
        return series.join()

    def _add_rows(self, series: Series, read: Sequence[RawRow]) -> None:
        values = msgspec.json.decode(f"[{','.join([row.values for row in read])}]")
        shared = ReportRows(self._places(read, []), [row.at for row in read], self._axis)
        series.add(shared, [v[1] for v in values], self._axis)

    def _render(self, name: str, series: Series) -> bytes:
        series.unusual.sort(key=lambda one: one[0])
        shown = series.unusual[: rows.MAX_UNUSUAL]
        columns = series.columns(self._buckets)
        return encode(self._reports, name, columns, shown, len(series.unusual), series.without)


def _to_int(number: float, *, up: bool) -> int:
    """The closest steps within a range."""
    if not -MAX_STEPS <= number <= MAX_STEPS:
        return -MAX_STEPS if number < 0 else MAX_STEPS
    return math.ceil(number) if up else math.floor(number)

"""Series of single trials as they are sent: new reports are appended to the points that are kept.

A trial that reports changes its series with each report, and readers of its chart ask again and
again. Reading 2,000 points takes about 10 ms, so only reports after the last kept one are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.metrics.extremes import Values
from determined_master.domain.metrics.summary import SYSTEM_GROUPS
from determined_master.records.metrics import PointRow, SeriesRequest
from determined_master.services.answer_cache import AnswerCache, CacheBudget
from determined_master.services.metrics.series_points import shown_steps, thinned_points
from determined_master.store.metrics import series as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.services.metrics.series_points import SeriesPoints
    from determined_master.store.experiments.trials import ComparedTrial

MAX_CACHED_POINTS = 4096
"""Longer series are read from their blocks each time: rendering all points would hold the loop."""
MAX_ADDED = 512
"""With more new reports the whole series is read again."""
POINT_BYTES = 350
VALUE_BYTES = 60

Render = Callable[[Sequence[PointRow]], Sequence[bytes]]
"""Writes each point as JSON."""


class CachedSeries(msgspec.Struct, frozen=True):
    """The points of one group in a trial's series, as they were sent."""

    shown: bytes
    """A JSON array; empty without any point."""
    rewrites: int = 0
    last_id: int = 0
    values: Sequence[Values] = ()
    """Of all reports; none if the series is too long to be extended."""
    texts: Sequence[bytes] = ()

    @property
    def size_bytes(self) -> int:
        """Roughly what it takes in memory."""
        values = sum(len(metrics) for _, metrics in self.values)
        texts = sum(map(len, self.texts)) + len(self.shown)
        return texts + POINT_BYTES * len(self.values) + VALUE_BYTES * values


class SeriesCache:
    """Series of all trials."""

    def __init__(self, db: asyncpg.Pool, points: SeriesPoints, memory: CacheBudget) -> None:
        self._db = db
        self._points = points
        self._kept: AnswerCache[SeriesRequest, CachedSeries] = AnswerCache(memory, "series")

    async def find(self, trial: ComparedTrial, request: SeriesRequest, render: Render) -> bytes:
        """The points as a JSON array, at least as new as `trial`; empty without any point."""
        if request.group in SYSTEM_GROUPS:  # their reports leave the version as it is
            return _array(render(await self._points.find(request)))
        version = f"{trial.metrics_version}.{trial.series_rewrites}"
        sent = self._kept.find(request, version)
        if sent is None:
            earlier = self._kept.find_any(request)
            if earlier is not None and earlier.values:
                sent = await self._extended(earlier, trial, request, render)
            if sent is None:
                sent = await self._read(trial, request, render)
            self._kept.keep(request, version, sent, sent.size_bytes)
        return sent.shown

    async def _extended(
        self, sent: CachedSeries, trial: ComparedTrial, request: SeriesRequest, render: Render
    ) -> CachedSeries | None:
        """The series with later reports; None if its earlier points may have changed."""
        if sent.rewrites != trial.series_rewrites:
            return None
        after = msgspec.structs.replace(request, after_id=sent.last_id)
        async with self._db.acquire() as conn:
            found = await rows.list_added(conn, after, MAX_ADDED + 1)
        if found is None or found[0] != sent.rewrites or len(found[1]) > MAX_ADDED:
            return None
        added = sorted(found[1], key=lambda point: (point.steps, point.id))
        if not added:
            return sent
        is_behind = added[0].steps < sent.values[-1][0]
        if is_behind or len(sent.values) + len(added) > MAX_CACHED_POINTS:
            return None
        values = [*sent.values, *((p.steps, p.metrics) for p in added)]
        texts = [*sent.texts, *render(added)]
        last_id = max(p.id for p in added)
        return CachedSeries(_shown(values, texts, request), sent.rewrites, last_id, values, texts)

    async def _read(
        self, trial: ComparedTrial, request: SeriesRequest, render: Render
    ) -> CachedSeries:
        points, is_whole = await self._points.read(request)
        if not is_whole:
            return CachedSeries(_array(render(points)))
        if len(points) > MAX_CACHED_POINTS:
            return CachedSeries(_array(render(thinned_points(points, request))))
        values = [(p.steps, p.metrics) for p in points]
        texts = render(points)
        last_id = max((p.id for p in points), default=0)
        shown = _shown(values, texts, request)
        return CachedSeries(shown, trial.series_rewrites, last_id, values, texts)


def _shown(values: Sequence[Values], texts: Sequence[bytes], request: SeriesRequest) -> bytes:
    steps = shown_steps(values, request)
    if steps is None:
        return _array(texts)
    return _array([text for (at, _), text in zip(values, texts, strict=True) if at in steps])


def _array(texts: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(texts) + b"]" if texts else b""

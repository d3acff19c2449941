"""Series for the charts of the web UI: by any axis, as they are or in buckets that keep spikes."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.metrics.summary import SYSTEM_GROUPS
from determined_master.records.metrics import MetricName, SeriesRequest
from determined_master.services.answer_cache import AnswerCache, CacheBudget
from determined_master.services.metrics.chart_answers import ChartQuery
from determined_master.services.metrics.chart_reads import ChartRead
from determined_master.services.metrics.series_points import DUE, MAX_LATE
from determined_master.store.metrics import charts as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.metrics.series_points import SeriesPoints
    from determined_master.store.db import Database

MAX_TRIALS = 100
MAX_METRICS = 24
MAX_BUCKETS = 4000
DEFAULT_BUCKETS = 1000
MAX_ALL_BUCKETS = 600_000
"""Of all series of a request: about 40 MB of JSON."""
AT_ONCE = 2
"""Trials that one request reads at the same time."""


class Charts:
    """Series of all trials, as JSON."""

    def __init__(self, db: Database, points: SeriesPoints, memory: CacheBudget) -> None:
        self._db = db
        self._points = points
        self._kept: AnswerCache[Hashable, list[bytes]] = AnswerCache(memory, "chart")

    async def read(
        self,
        caller: Caller,
        trial_ids: Sequence[int],
        metrics: Sequence[MetricName],
        query: ChartQuery,
    ) -> list[bytes]:
        """One series (JSON) for each trial and metric, in their order.

        Raises:
            InvalidArgument: nothing is asked for, or too much.
            NotFound: one of the trials does not exist.
        """
        access.may(caller, "read", "experiment")
        trial_ids, metrics = list(dict.fromkeys(trial_ids)), list(dict.fromkeys(metrics))
        _check(trial_ids, metrics)
        async with self._db.acquire() as conn:
            versions = await rows.list_versions(conn, trial_ids)
        missing = next((i for i in trial_ids if i not in versions), None)
        if missing is not None:
            raise NotFound(f"trial '{missing}' not found")
        keys = {i: (i, query, *metrics) for i in trial_ids}
        found = {i: self._kept.find(keys[i], str(versions[i])) for i in trial_ids}
        missing_ids = [i for i in trial_ids if found[i] is None]
        for i, series in (await self._read_all(missing_ids, metrics, query)).items():
            found[i] = series
            if not any(metric.group in SYSTEM_GROUPS for metric in metrics):
                # samples of the system leave the version as it is
                self._kept.keep(keys[i], str(versions[i]), series, sum(map(len, series)))
        return [one for series in found.values() for one in series or ()]

    async def _read_all(
        self, trial_ids: Sequence[int], metrics: Sequence[MetricName], query: ChartQuery
    ) -> dict[int, list[bytes]]:
        if not trial_ids:
            return {}
        async with self._db.acquire() as conn:
            positions = await rows.list_positions(conn, trial_ids, MAX_LATE + 1)
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(trial_id: int) -> list[bytes]:
            async with gate:
                last_id, late = positions[trial_id]
                if late > MAX_LATE:
                    await self._points.catch_up(trial_id)
                elif late >= DUE:
                    self._points.note(trial_id, late)
                return await self._trial(trial_id, metrics, query, last_id > 0 or late > MAX_LATE)

        try:
            async with asyncio.TaskGroup() as group:
                reads = {i: group.create_task(one(i)) for i in trial_ids}
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return {i: read.result() for i, read in reads.items()}

    async def _trial(
        self, trial_id: int, metrics: Sequence[MetricName], query: ChartQuery, has_blocks: bool
    ) -> list[bytes]:
        names: dict[str, list[str]] = {}
        for metric in metrics:
            names.setdefault(metric.group, []).append(metric.name)
        found: dict[MetricName, bytes] = {}
        for group, of_group in names.items():
            reports = SeriesRequest(trial_id=trial_id, group=group, names=of_group)
            found |= await ChartRead(self._db, reports, query, has_blocks=has_blocks).read()
        return [found[metric] for metric in metrics]


def buckets_of(buckets: int, series: int) -> int:
    """So many buckets for each series of a request; the default for 0.

    Raises:
        InvalidArgument: they are too many, or those of all series together are.
    """
    if not 0 <= buckets <= MAX_BUCKETS:
        raise InvalidArgument(
            f"buckets is {buckets}: it must be 1 to {MAX_BUCKETS}, or 0 for {DEFAULT_BUCKETS}"
        )
    if buckets * series > MAX_ALL_BUCKETS:
        raise InvalidArgument(
            f"{series} series of {buckets} buckets are more than {MAX_ALL_BUCKETS} buckets: ask "
            "for fewer buckets, or in several requests"
        )
    return buckets or min(DEFAULT_BUCKETS, MAX_ALL_BUCKETS // max(series, 1))


def _check(trial_ids: Sequence[int], metrics: Sequence[MetricName]) -> None:
    if not 1 <= len(trial_ids) <= MAX_TRIALS:
        raise InvalidArgument(
            f"trialIds has {len(trial_ids)} trials: it must have 1 to {MAX_TRIALS}"
        )
    if not 1 <= len(metrics) <= MAX_METRICS:
        raise InvalidArgument(
            f"metrics has {len(metrics)} metrics: it must have 1 to {MAX_METRICS}"
        )
    for metric in metrics:
        if not metric.group or not metric.name:
            raise InvalidArgument(
                f"metrics has group {metric.group!r}, name {metric.name!r}: neither may be empty"
            )

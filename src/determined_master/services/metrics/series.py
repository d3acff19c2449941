"""Reads metrics over steps: of single trials, and of whole experiments while they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.records.metrics import MetricName, PointRow, SeriesRequest
from determined_master.services.metrics.series_cache import Render, SeriesCache
from determined_master.store.experiments import lookups
from determined_master.store.experiments import trials as trial_rows
from determined_master.store.metrics import series as rows
from determined_master.store.metrics.series import SnapshotRow
from determined_wire.bounds import MAX_STEPS

if TYPE_CHECKING:
    from datetime import datetime

    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.services.answer_cache import CacheBudget
    from determined_master.services.metrics.series_points import SeriesPoints
    from determined_master.services.metrics.summaries import Summaries
    from determined_master.store.db import Conn

DEFAULT_POINTS = 1000
"""When a request does not say how many."""
MAX_POINTS = 10_000
MAX_TRIALS = 100
MAX_METRICS = 1000
"""Of one request. Ten thousand kept PostgreSQL busy for seconds."""
DEFAULT_SAMPLE = 25
SHORTEST_PERIOD_S, MAX_PERIOD_S = 1, 3600


class Range(msgspec.Struct, frozen=True):
    """A range of steps, both ends included, in so many points; 0 leaves an end open."""

    first: int = 0
    last: int = 0
    max_points: int = 0


class TrialSeries(msgspec.Struct, frozen=True):
    """One trial with the points (JSON) of each group that has any, by group."""

    row: trial_rows.ComparedTrial
    groups: Sequence[tuple[str, bytes]]


Groups = Mapping[str, Sequence[str]]
"""Names of metrics by their group."""


class NewNames(msgspec.Struct, frozen=True):
    """Names that have not been sent before."""

    searcher: Sequence[str]
    metrics: Sequence[MetricName]


class SampledTrial(msgspec.Struct, frozen=True):
    """New points of one of the best trials; hyperparameters only when it is new itself."""

    trial_id: int
    hparams: str | None
    points: Sequence[PointRow]


class Sample(msgspec.Struct, frozen=True):
    """News about the best trials: new points, trials that appeared and disappeared."""

    trials: Sequence[SampledTrial]
    promoted: Sequence[int] = ()
    demoted: Sequence[int] = ()


class SeriesReads:
    """Series of all trials."""

    def __init__(
        self,
        db: asyncpg.Pool,
        points: SeriesPoints,
        summaries: Summaries,
        memory: CacheBudget,
    ) -> None:
        self._db = db
        self._points = points
        self._summaries = summaries
        self._kept = SeriesCache(db, points, memory)

    async def compare(
        self,
        caller: Caller,
        trial_ids: Sequence[int],
        metrics: Sequence[MetricName],
        part: Range,
        render: Render,
    ) -> list[TrialSeries]:
        """The series of several trials, by id; `render` writes each point as JSON.

        Raises:
            InvalidArgument: no metric, or too many trials or points.
            NotFound: one of the trials does not exist.
        """
        access.may(caller, "read", "experiment")
        _check(trial_ids, metrics, part)
        if not trial_ids:
            raise InvalidArgument("must specify at least one trial id")
        groups: dict[str, list[str]] = {}
        for metric in sorted(set(metrics)):
            groups.setdefault(metric.group, []).append(metric.name)
        ids = sorted(set(trial_ids))
        async with self._db.acquire() as conn:
            rows_of = await trial_rows.list_compared(conn, ids)
        missing = next((i for i in ids if i not in rows_of), None)
        if missing is not None:
            raise NotFound(f"trial '{missing}' not found")
        return [
            TrialSeries(rows_of[i], await self._series(rows_of[i], groups, part, render))
            for i in ids
        ]

    async def _series(
        self, row: trial_rows.ComparedTrial, groups: Groups, part: Range, render: Render
    ) -> list[tuple[str, bytes]]:
        found = [
            (group, await self._kept.find(row, _request(row.id, group, names, part), render))
            for group, names in groups.items()
        ]
        return [(group, points) for group, points in found if points]

    async def improvements(
        self, caller: Caller, experiment_id: int
    ) -> list[tuple[int, datetime, float]]:
        """Each validation that was the experiment's best until then."""
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            await _must_exist(conn, [experiment_id])
            return await rows.list_improvements(conn, experiment_id)

    async def names(
        self, caller: Caller, experiment_ids: Sequence[int], period_s: int
    ) -> AsyncIterator[NewNames]:
        """Names of metrics, then each period those that are new, until all have ended."""
        access.may(caller, "read", "experiment")
        sent: set[MetricName] = set()
        sent_searcher: set[str] = set()
        async for _ in self._rounds(experiment_ids, period_s):
            async with self._db.acquire() as conn:
                searcher = await lookups.list_searcher_metrics(conn, experiment_ids)
                found = await rows.list_metric_names(conn, experiment_ids)
                # summaries are written with a delay, and the last round must miss nothing
                unwritten = self._summaries.unwritten()
                for trial_id in await rows.list_trials_of(conn, unwritten, experiment_ids):
                    found += [rows.metric_name(*n) for n in self._summaries.names(trial_id)]
            found = sorted(set(found))
            yield NewNames(sorted(searcher - sent_searcher), [m for m in found if m not in sent])
            sent |= set(found)
            sent_searcher |= searcher

    async def steps(
        self, caller: Caller, experiment_id: int, metric: MetricName, period_s: int
    ) -> AsyncIterator[list[int]]:
        """Steps with a report of a metric, then each period those that are new."""
        access.may(caller, "read", "experiment")
        sent: set[int] = set()
        last_id = 0
        async for _ in self._rounds([experiment_id], period_s):
            async with self._db.acquire() as conn:
                found, last_id = await rows.list_steps(conn, experiment_id, metric, last_id)
            yield [step for step in found if step not in sent]
            sent |= set(found)

    async def snapshot(
        self,
        caller: Caller,
        experiment_id: int,
        metric: MetricName,
        around: tuple[int, int],
        period_s: int,
    ) -> AsyncIterator[list[SnapshotRow]]:
        """Values of all trials near some steps, `around` = (steps, margin)."""
        access.may(caller, "read", "experiment")
        at, margin = around
        between = (max(0, at - margin), min(MAX_STEPS, at + margin))
        sent: set[int] = set()
        async for _ in self._rounds([experiment_id], period_s):
            async with self._db.acquire() as conn:
                found = await rows.list_snapshot(conn, experiment_id, metric, between, at)
            yield [row for row in found if row.id not in sent]
            sent |= {row.id for row in found}

    async def sample(
        self,
        caller: Caller,
        experiment_id: int,
        metric: MetricName,
        part: tuple[Range, int],
        period_s: int,
    ) -> AsyncIterator[Sample]:
        """Series of the best trials, then updates; `part` = (range, number of trials)."""
        access.may(caller, "read", "experiment")
        steps, count = part[0], min(part[1] or DEFAULT_SAMPLE, MAX_TRIALS)
        _check([], [metric], steps)
        seen: dict[int, int] = {}
        shown: list[int] | None = None
        async for _ in self._rounds([experiment_id], period_s):
            async with self._db.acquire() as conn:
                best = await rows.list_best_trials(conn, experiment_id, count)
            trials = []
            for trial_id, hparams in best:
                one = _request(trial_id, metric.group, [metric.name], steps)
                one = msgspec.structs.replace(one, after_id=seen.get(trial_id, 0))
                points = await self._points.find(one)
                is_new = trial_id not in seen
                if points or is_new:
                    trials.append(SampledTrial(trial_id, hparams if is_new else None, points))
                seen[trial_id] = max([seen.get(trial_id, 0), *(p.id for p in points)])
            ids = [trial_id for trial_id, _ in best]
            before = ids if shown is None else shown
            yield Sample(
                trials,
                [i for i in ids if i not in before],
                [i for i in before if i not in ids],
            )
            shown = ids

    async def _rounds(self, experiment_ids: Sequence[int], period_s: int) -> AsyncIterator[None]:
        """Now and once a period, the last time after all of the experiments have ended."""
        wait_s = min(max(period_s, SHORTEST_PERIOD_S), MAX_PERIOD_S)
        async with self._db.acquire() as conn:
            await _must_exist(conn, experiment_ids)
        while True:
            async with self._db.acquire() as conn:
                is_open = await lookups.has_open(conn, experiment_ids)
            yield
            if not is_open:
                return
            await asyncio.sleep(wait_s)


async def _must_exist(conn: Conn, experiment_ids: Sequence[int]) -> None:
    missing = await lookups.find_missing(conn, experiment_ids)
    if missing is not None:
        raise NotFound(f"experiment '{missing}' not found")


def _check(trial_ids: Sequence[int], metrics: Sequence[MetricName], part: Range) -> None:
    if not metrics:
        raise InvalidArgument("must specify at least one metric")
    if len(set(metrics)) > MAX_METRICS:
        raise InvalidArgument(
            f"{len(set(metrics))} metrics: at most {MAX_METRICS} at once, ask for them in several "
            "requests"
        )
    if len(set(trial_ids)) > MAX_TRIALS:
        raise InvalidArgument(f"{len(set(trial_ids))} trials: at most {MAX_TRIALS} at once")
    if not 0 <= part.max_points <= MAX_POINTS:
        raise InvalidArgument(
            f"max_datapoints is {part.max_points}: it must be 0 (the default of {DEFAULT_POINTS})"
            f" to {MAX_POINTS}"
        )


def _request(trial_id: int, group: str, names: Sequence[str], part: Range) -> SeriesRequest:
    return SeriesRequest(
        trial_id=trial_id,
        group=group,
        names=tuple(names),
        from_steps=part.first,
        to_steps=part.last or MAX_STEPS,
        max_points=part.max_points or DEFAULT_POINTS,
    )

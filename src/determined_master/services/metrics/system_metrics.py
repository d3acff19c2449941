"""Use cases of system metrics: samples without steps, which no search and no summary sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.store.experiments import trials
from determined_master.store.metrics import system_metrics as rows

if TYPE_CHECKING:
    from datetime import datetime

    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.records.metrics import SeriesLabel, SystemSample

"""Reports of these groups are samples when they have no steps."""
MAX_SAMPLES = 10_000
PAGE = 500
FOLLOW_POLL_S = 1.0


class Points(msgspec.Struct, frozen=True):
    """Some values of one series, in the order they came in."""

    label: SeriesLabel
    values: Sequence[float]
    batches: Sequence[int]
    times: Sequence[datetime]


class SystemMetrics:
    """Samples of all trials."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def report(self, caller: Caller, samples: Sequence[SystemSample]) -> None:
        """Store samples.

        Raises:
            NotFound: one of the trials does not exist.
            InvalidArgument: too many at once.
        """
        access.may(caller, "report", "task")
        if len(samples) > MAX_SAMPLES:
            raise InvalidArgument(
                f"{len(samples)} samples in one request: at most {MAX_SAMPLES}, split it"
            )
        async with self._db.acquire() as conn:
            named = sorted({sample.trial_id for sample in samples})
            for trial_id in set(named) - await trials.list_existing(conn, named):
                raise NotFound(f"trial '{trial_id}' not found")
            await rows.insert_samples(conn, samples)

    async def series(
        self, caller: Caller, trial_id: int, *, follow: bool
    ) -> AsyncIterator[Sequence[SeriesLabel]]:
        """Samples of a trial; a follower gets new ones until its end."""
        access.may(caller, "read", "experiment")
        sent = -1
        while True:
            is_over = await self._is_over(trial_id)
            async with self._db.acquire() as conn:
                found = await rows.list_series(conn, trial_id)
            if len(found) > sent:
                sent = len(found)
                yield found
            if is_over or not follow:
                return
            await asyncio.sleep(FOLLOW_POLL_S)

    async def points(
        self, caller: Caller, trial_id: int, wanted: SeriesLabel, *, follow: bool
    ) -> AsyncIterator[Points]:
        """The values of the series that match; an empty field in `wanted` matches all.

        Raises:
            NotFound: there is no such trial.
        """
        access.may(caller, "read", "experiment")
        after: dict[SeriesLabel, int] = {}
        while True:
            is_over = await self._is_over(trial_id)
            async with self._db.acquire() as conn:
                found = [s for s in await rows.list_series(conn, trial_id) if _fits(s, wanted)]
            for label in found:
                async for last, points in self._pages(trial_id, label, after.get(label, 0)):
                    after[label] = last
                    yield points
            if is_over or not follow:
                return
            await asyncio.sleep(FOLLOW_POLL_S)

    async def _pages(
        self, trial_id: int, label: SeriesLabel, after: int
    ) -> AsyncIterator[tuple[int, Points]]:
        while True:
            async with self._db.acquire() as conn:
                page = await rows.list_samples(
                    conn, trial_id, label.metric_group, after=after, limit=PAGE
                )
            if page:
                after = page[-1].id
                kept = [(s, v) for s in page if (v := _value(s, label)) is not None]
                yield (
                    after,
                    Points(
                        label,
                        [value for _, value in kept],
                        [sample.batch for sample, _ in kept],
                        [sample.reported_at for sample, _ in kept],
                    ),
                )
            if len(page) < PAGE:
                return

    async def _is_over(self, trial_id: int) -> bool:
        async with self._db.acquire() as conn:
            row = await trials.find_trial(conn, trial_id)
        if row is None:
            raise NotFound(f"trial '{trial_id}' not found")
        return row.ended_at is not None


def _fits(label: SeriesLabel, wanted: SeriesLabel) -> bool:
    pairs = (
        (label.metric_group, wanted.metric_group),
        (label.agent, wanted.agent),
        (label.part, wanted.part),
        (label.name, wanted.name),
    )
    return all(not asked or asked == own for own, asked in pairs)


def _value(sample: SystemSample, label: SeriesLabel) -> float | None:
    found = sample.metrics.get(label.agent)
    for key in (label.part, label.name):
        if key:
            found = found.get(key) if isinstance(found, dict) else None
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if is_number and found is not None else None

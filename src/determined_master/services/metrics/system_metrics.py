"""Use cases of system metrics: samples without steps, which no search and no summary sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.records.metrics import SeriesLabel
from determined_master.store.experiments import trials
from determined_master.store.metrics import system_metrics as rows

if TYPE_CHECKING:
    from datetime import datetime

    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.records.metrics import SystemSample

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
        after: dict[str, int] = {}
        while True:
            is_over = await self._is_over(trial_id)
            async with self._db.acquire() as conn:
                groups = await rows.list_groups(conn, trial_id)
            for group in groups:
                async for page in self._pages(trial_id, group, after.get(group, 0)):
                    after[group] = page[-1].id
                    for points in _points(page, wanted):
                        yield points
            if is_over or not follow:
                return
            await asyncio.sleep(FOLLOW_POLL_S)

    async def _pages(
        self, trial_id: int, group: str, after: int
    ) -> AsyncIterator[list[SystemSample]]:
        """Samples of a group: each is read once, however many series it has."""
        while True:
            async with self._db.acquire() as conn:
                page = await rows.list_samples(conn, trial_id, group, after=after, limit=PAGE)
            if page:
                after = page[-1].id
                yield page
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


def _points(page: Sequence[SystemSample], wanted: SeriesLabel) -> list[Points]:
    """The values of a page by series, in the order of their labels."""
    found: dict[SeriesLabel, list[tuple[SystemSample, float]]] = {}
    for sample in page:
        for agent, part, name, value in _leaves(sample):
            label = SeriesLabel(
                metric_group=sample.metric_group, agent=agent, part=part, name=name
            )
            if _fits(label, wanted):
                found.setdefault(label, []).append((sample, value))
    return [
        Points(
            label,
            [value for _, value in points],
            [sample.batch for sample, _ in points],
            [sample.reported_at for sample, _ in points],
        )
        for label, points in sorted(found.items(), key=lambda item: _order(item[0]))
    ]


def _order(label: SeriesLabel) -> tuple[str, str, str]:
    return label.agent, label.part, label.name


def _leaves(sample: SystemSample) -> Iterator[tuple[str, str, str, float]]:
    """The numbers of a sample: agent, part, name and value."""
    for agent, metrics in sample.metrics.items():
        for key, value in metrics.items() if isinstance(metrics, dict) else ():
            if isinstance(value, dict):
                yield from (
                    (agent, key, name, float(v)) for name, v in value.items() if _is_number(v)
                )
            elif _is_number(value):
                yield agent, "", key, float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

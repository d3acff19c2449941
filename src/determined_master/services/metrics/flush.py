"""Gathering metric reports: what waits together is stored together.

A report is answered after the transaction that holds it has committed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from determined_master.domain.errors import DetError, InvalidArgument
from determined_master.services.metrics.reports import MetricReport, TrialFacts
from determined_master.services.metrics.series_points import SeriesPoints
from determined_master.services.metrics.storing import MetricStore
from determined_master.services.metrics.summaries import WRITE_EVERY_S, Summaries
from determined_master.services.updates.live.news import LiveNews
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.store.db import Conn, Database

SHARDS = 2
"""Flushes under way at a time: one gathers while the other waits for its commit. A trial's
reports always go the same way, so they stay in order."""
MAX_REPORTS_A_FLUSH = 1000
MAX_VALUES_A_FLUSH = 10_000
"""Making rows of them and adding them up holds the loop: some 10 ms, as those reports do."""
MAX_WAITING = 10_000
MAX_DEADLOCKS = 3
"""The engine locks the same rows in its own order; the loser retries."""

Outcomes = list[DetError | None]
Waiting = tuple[Sequence[MetricReport], TrialFacts, "asyncio.Future[Outcomes]"]
"""Reports of one trial that came in one request, and where their outcomes go."""


class Flusher:
    """Gathers reports of all trials and stores them in few transactions."""

    def __init__(self, db: Database, news: LiveNews | None = None) -> None:
        """`news` gets each stored report."""
        self._db = db
        self._news = news or LiveNews()
        self.summaries = Summaries(db)
        self.points = SeriesPoints(db)
        self.store = MetricStore(self.summaries, self.points)
        self._queues: list[asyncio.Queue[Waiting]] = [
            asyncio.Queue(MAX_WAITING) for _ in range(SHARDS)
        ]

    async def report(self, report: MetricReport, facts: TrialFacts) -> None:
        """Store one report; returns after its commit.

        Raises:
            DetError: the report is refused; nothing of it is stored.
        """
        [error] = await self.report_many([report], facts)
        if error is not None:
            raise error

    async def report_many(self, reports: Sequence[MetricReport], facts: TrialFacts) -> Outcomes:
        """Store several reports of one trial; one answer for each, after their commit."""
        queue = self._queues[reports[0].trial_id % SHARDS]
        answers: list[asyncio.Future[Outcomes]] = []
        for piece in _pieces(reports):
            answer: asyncio.Future[Outcomes] = asyncio.get_running_loop().create_future()
            await queue.put((piece, facts, answer))
            answers.append(answer)
        if len(answers) == 1:
            return await answers[0]
        return [outcome for outcomes in await asyncio.gather(*answers) for outcome in outcomes]

    async def run(self) -> None:
        """Flush forever; cancelled at the master's end."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_summaries())
            group.create_task(self.points.run())
            for queue in self._queues:
                group.create_task(self._flush_from(queue))

    async def _flush_from(self, queue: asyncio.Queue[Waiting]) -> None:
        while True:
            batch = [await queue.get()]
            try:
                async with self._db.acquire() as conn:
                    while batch:
                        await self._flush(conn, batch + _more(queue, batch))
                        batch = []
                        # Over a connection that was lost nothing more is taken up.
                        if not conn.is_closed() and not queue.empty():
                            batch = [queue.get_nowait()]
            except DATABASE_ERRORS as error:
                _fail(batch, error)

    async def _flush(self, conn: Conn, batch: Sequence[Waiting]) -> None:
        reports = [(report, facts) for group, facts, _ in batch for report in group]
        try:
            outcomes = await self._store(conn, reports)
        except Exception as error:  # the loop must live on; each caller gets the error
            _fail(batch, error)
            return
        self._publish(reports, outcomes)
        start = 0
        for group, _, answer in batch:
            if not answer.done():
                answer.set_result(outcomes[start : start + len(group)])
            start += len(group)

    async def _store(
        self, conn: Conn, reports: Sequence[tuple[MetricReport, TrialFacts]], deadlocks: int = 0
    ) -> Outcomes:
        try:
            if await self.store.store_known(conn, reports):
                return [None] * len(reports)
            async with conn.transaction():
                return await self.store.write(conn, reports)
        except asyncpg.DeadlockDetectedError:
            self._forget(reports)
            if deadlocks == MAX_DEADLOCKS:
                raise
            return await self._store(conn, reports, deadlocks + 1)
        except asyncpg.DataError as error:
            # one report that PostgreSQL cannot hold must not cost its neighbours
            self._forget(reports)
            if len(reports) == 1:
                return [InvalidArgument(f"the report cannot be stored: {error}")]
            return [(await self._store(conn, [single]))[0] for single in reports]
        except BaseException:
            self._forget(reports)
            raise

    def _publish(
        self, reports: Sequence[tuple[MetricReport, TrialFacts]], outcomes: Outcomes
    ) -> None:
        if self._news.is_watched:
            for (report, facts), refusal in zip(reports, outcomes, strict=True):
                if refusal is None:
                    publish_report(self._news, report, facts)

    def _forget(self, reports: Sequence[tuple[MetricReport, TrialFacts]]) -> None:
        self.summaries.forget({report.trial_id for report, _ in reports})

    async def _write_summaries(self) -> None:
        while True:
            with contextlib.suppress(*DATABASE_ERRORS):  # they are written a second later
                await self.summaries.write_due()
            await asyncio.sleep(WRITE_EVERY_S / 2)


def publish_report(news: LiveNews, report: MetricReport, facts: TrialFacts) -> None:
    """Publish a stored report to those who watch."""
    news.report(
        report.trial_id,
        facts.experiment_id,
        report.group,
        report.steps,
        report.reported_at,
        report.metrics,
    )


def _pieces(reports: Sequence[MetricReport]) -> list[Sequence[MetricReport]]:
    """Reports that come together, in as many flushes as their values take."""
    if len(reports) == 1:
        return [reports]
    pieces: list[Sequence[MetricReport]] = []
    start = size = 0
    for i, report in enumerate(reports):
        size += _values_of(report)
        if size >= MAX_VALUES_A_FLUSH:
            pieces.append(reports[start : i + 1])
            start, size = i + 1, 0
    return [*pieces, reports[start:]] if start < len(reports) else pieces


def _more(queue: asyncio.Queue[Waiting], batch: Sequence[Waiting]) -> list[Waiting]:
    """More waiting reports, as many as fit into one flush."""
    more: list[Waiting] = []
    count, values = _size_of(batch[0])
    while count < MAX_REPORTS_A_FLUSH and values < MAX_VALUES_A_FLUSH and not queue.empty():
        more.append(queue.get_nowait())
        further = _size_of(more[-1])
        count, values = count + further[0], values + further[1]
    return more


def _size_of(waiting: Waiting) -> tuple[int, int]:
    """Reports and values."""
    reports = waiting[0]
    return len(reports), sum(map(_values_of, reports))


def _values_of(report: MetricReport) -> int:
    return len(report.metrics) + sum(map(len, report.batch_metrics or ()))


def _fail(batch: Sequence[Waiting], error: BaseException) -> None:
    for _, _, answer in batch:
        if not answer.done():
            answer.set_exception(error)

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
from determined_master.services.metric_reports import Report, TrialFacts
from determined_master.services.metric_store import MetricStore
from determined_master.services.metric_summaries import WRITE_EVERY_S, Summaries
from determined_master.services.series_points import SeriesPoints
from determined_master.store.losses import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.store.pool import Conn, Pool

SHARDS = 2
"""Flushes under way at a time: one gathers while the other waits for its commit. A trial's
reports always go the same way, so they stay in order."""
MAX_REPORTS_A_FLUSH = 2000
MAX_WAITING = 10_000
MAX_DEADLOCKS = 3
"""The engine locks the same rows in its own order; whoever loses tries again."""

Outcomes = list[DetError | None]
Waiting = tuple[Sequence[Report], TrialFacts, "asyncio.Future[Outcomes]"]
"""Reports of one trial that came in one request, and where their outcomes go."""


class Flusher:
    """Gathers reports of all trials and stores them in few transactions."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.summaries = Summaries(pool)
        self.points = SeriesPoints(pool)
        self.store = MetricStore(self.summaries, self.points)
        self._queues: list[asyncio.Queue[Waiting]] = [
            asyncio.Queue(MAX_WAITING) for _ in range(SHARDS)
        ]

    async def report(self, report: Report, facts: TrialFacts) -> None:
        """Store one report; returns after its commit.

        Raises:
            DetError: the report is refused; nothing of it is stored.
        """
        [error] = await self.report_many([report], facts)
        if error is not None:
            raise error

    async def report_many(self, reports: Sequence[Report], facts: TrialFacts) -> Outcomes:
        """Store several reports of one trial; one answer for each, after their commit."""
        answer: asyncio.Future[Outcomes] = asyncio.get_running_loop().create_future()
        queue = self._queues[reports[0].trial_id % SHARDS]
        await queue.put((reports, facts, answer))
        return await answer

    async def run(self) -> None:
        """Flush for ever; cancelled at the master's end."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_summaries())
            group.create_task(self.points.run())
            for queue in self._queues:
                group.create_task(self._flush_from(queue))

    async def _flush_from(self, queue: asyncio.Queue[Waiting]) -> None:
        while True:
            batch = [await queue.get()]
            try:
                async with self._pool.acquire() as conn:
                    while batch:
                        await self._flush(conn, batch + _more(queue, batch))
                        batch = []
                        # Over a connection that was lost nothing more is taken up.
                        if not conn.is_closed() and not queue.empty():
                            batch = [queue.get_nowait()]
            except DATABASE_ERRORS as error:
                _tell(batch, error)

    async def _flush(self, conn: Conn, batch: Sequence[Waiting]) -> None:
        reports = [(report, facts) for group, facts, _ in batch for report in group]
        try:
            outcomes = await self._store(conn, reports)
        except Exception as error:  # the loop must live on; each caller is told
            _tell(batch, error)
            return
        start = 0
        for group, _, answer in batch:
            if not answer.done():
                answer.set_result(outcomes[start : start + len(group)])
            start += len(group)

    async def _store(
        self, conn: Conn, reports: Sequence[tuple[Report, TrialFacts]], deadlocks: int = 0
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

    def _forget(self, reports: Sequence[tuple[Report, TrialFacts]]) -> None:
        self.summaries.forget({report.trial_id for report, _ in reports})

    async def _write_summaries(self) -> None:
        while True:
            with contextlib.suppress(*DATABASE_ERRORS):  # they are written a second later
                await self.summaries.write_due()
            await asyncio.sleep(WRITE_EVERY_S / 2)


def _more(queue: asyncio.Queue[Waiting], batch: Sequence[Waiting]) -> list[Waiting]:
    """What else waits, as much as goes into one flush."""
    more: list[Waiting] = []
    size = sum(len(group) for group, _, _ in batch)
    while size < MAX_REPORTS_A_FLUSH and not queue.empty():
        more.append(queue.get_nowait())
        size += len(more[-1][0])
    return more


def _tell(batch: Sequence[Waiting], error: BaseException) -> None:
    for _, _, answer in batch:
        if not answer.done():
            answer.set_exception(error)

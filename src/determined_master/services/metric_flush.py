"""Gathering metric reports: what waits together is stored together.

A report is answered after the transaction that holds it has committed.
"""

from __future__ import annotations

import asyncio
<<<<<<< HEAD
import contextlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from determined_master.domain.errors import DetError
from determined_master.engine.connection import DATABASE_ERRORS
from determined_master.services.metric_store import MetricStore, Report, TrialFacts
from determined_master.services.metric_summaries import WRITE_EVERY_S, Summaries

if TYPE_CHECKING:
    from determined_master.store.pool import Pool

log = logging.getLogger(__name__)

SHARDS = 2
"""Flushes under way at a time: one gathers while the other waits for its commit. A trial's
reports always go the same way, so they stay in order."""
=======
import math
from collections.abc import Sequence
from typing import Any

import asyncpg
import msgspec

from determined_master.domain.errors import AlreadyExists, DetError, InvalidArgument, NotFound
from determined_master.domain.summary import add_report, as_number
from determined_master.services.metric_reports import Report, TrialFacts
from determined_master.services.metric_reruns import archive_redone
from determined_master.store import metrics as rows
from determined_master.store.pool import Conn

>>>>>>> main
MAX_REPORTS_A_FLUSH = 2000
MAX_WAITING = 10_000

<<<<<<< HEAD
Outcomes = list[DetError | None]
Waiting = tuple[Sequence[Report], TrialFacts, "asyncio.Future[Outcomes]"]
"""Reports of one trial that came in one request, and where their outcomes go."""

=======
>>>>>>> main

class Flusher:
    """Gathers reports of all trials and stores them in few transactions."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.summaries = Summaries(pool)
        self.store = MetricStore(self.summaries)
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
            for queue in self._queues:
                group.create_task(self._flush_from(queue))

    async def _flush_from(self, queue: asyncio.Queue[Waiting]) -> None:
        while True:
            batch = [await queue.get()]
            size = len(batch[0][0])
            while size < MAX_REPORTS_A_FLUSH and not queue.empty():
                batch.append(queue.get_nowait())
                size += len(batch[-1][0])
            await self._flush(batch)

    async def _flush(self, batch: Sequence[Waiting]) -> None:
        reports = [(report, facts) for group, facts, _ in batch for report in group]
        try:
            async with self._pool.acquire() as conn, conn.transaction():
<<<<<<< HEAD
                outcomes = await self.store.store(conn, reports)
        except Exception as error:  # the loop must live on; each caller is told
            self.summaries.forget({report.trial_id for report, _ in reports})
            for _, _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            return
        start = 0
        for group, _, answer in batch:
            if not answer.done():
                answer.set_result(outcomes[start : start + len(group)])
            start += len(group)

    async def _write_summaries(self) -> None:
        while True:
            with contextlib.suppress(*DATABASE_ERRORS):  # they are written a second later
                await self.summaries.write_due()
            await asyncio.sleep(WRITE_EVERY_S / 2)
=======
                outcomes = await store_reports(conn, [(r, f) for r, f, _ in batch])
        except asyncpg.DataError as error:
            # One report that PostgreSQL cannot hold must not cost its neighbours.
            if len(batch) > 1:
                for single in batch:
                    await self._flush([single])
                return
            outcomes = [InvalidArgument(f"the report cannot be stored: {error}")]
        except Exception as error:  # the loop must live on; each caller is told
            outcomes = [error] * len(batch)
        for (_, _, answer), outcome in zip(batch, outcomes, strict=True):
            if answer.done():
                continue
            if outcome is None:
                answer.set_result(None)
            else:
                answer.set_exception(outcome)


async def store_reports(
    conn: Conn, reports: Sequence[tuple[Report, TrialFacts]]
) -> list[Exception | None]:
    """Store reports inside the caller's transaction, and what follows from them.

    Returns:
        For each report None, or why it is refused.
    """
    locks = await rows.lock_trials(conn, sorted({r.trial_id for r, _ in reports}))
    outcomes: list[Exception | None] = []
    accepted: list[tuple[Report, TrialFacts]] = []
    for report, facts in reports:
        error = _refusal(report, locks.get(report.trial_id))
        outcomes.append(error)
        if error is None:
            accepted.append((report, facts))
    if accepted:
        await archive_redone(conn, accepted, locks)
        await _store_accepted(conn, reports, outcomes, locks)
    return outcomes


def _refusal(report: Report, lock: rows.TrialLock | None) -> DetError | None:
    if lock is None:
        return NotFound(f"trial '{report.trial_id}' not found")
    if not report.group or "." in report.group:
        return InvalidArgument(
            f"metric group {report.group!r} is empty or has a dot: choose another name"
        )
    if report.run_id != lock.run_id:
        return InvalidArgument(
            f"invalid run id, {report.run_id} != {lock.run_id}: trial {report.trial_id} has "
            "been started again since, only its latest run may report"
        )
    for name in ("epoch", "epochs"):
        if name in report.metrics and as_number(report.metrics[name]) is None:
            return InvalidArgument(f"metric {name!r} must be a number")
    return None


async def _store_accepted(
    conn: Conn,
    reports: Sequence[tuple[Report, TrialFacts]],
    outcomes: list[Exception | None],
    locks: dict[int, rows.TrialLock],
) -> None:
    indexes = [i for i, outcome in enumerate(outcomes) if outcome is None]
    keys = {i: _key(reports[i][0]) for i in indexes}
    first_of_key: dict[tuple[Any, ...], int] = {}
    for i in indexes:
        first_of_key.setdefault(keys[i], i)
    stored = await rows.insert_reports(conn, [_row(*reports[i]) for i in first_of_key.values()])
    touched: dict[int, _Touched] = {}
    for i in indexes:
        report, facts = reports[i]
        row_id = stored.get(keys[i]) if first_of_key[keys[i]] == i else None
        if row_id is None:
            outcomes[i] = await _merge(conn, report)
            continue
        lock = locks[report.trial_id]
        trial = touched.setdefault(report.trial_id, _Touched(lock))
        trial.add(report, facts, row_id)
    if touched:
        await rows.update_trials(conn, [t.write() for t in touched.values()])
    for trial in sorted(touched.values(), key=lambda t: t.lock.experiment_id):
        if trial.best_metric is not None:
            await rows.update_best(
                conn, trial.lock.experiment_id, trial.lock.id, trial.best_metric
            )


async def _merge(conn: Conn, report: Report) -> DetError | None:
    """A report whose key is taken: equal values change nothing, new names are added."""
    stored = await rows.find_report(
        conn, report.trial_id, report.group, report.steps, report.run_id
    )
    if stored is None:
        return None
    clash = [
        name
        for name, value in report.metrics.items()
        if name in stored.metrics and stored.metrics[name] != value
    ]
    if clash:
        return AlreadyExists(
            f"trial {report.trial_id} has already reported {', '.join(sorted(clash)[:5])} of "
            f"group {report.group!r} at step {report.steps} with another value: "
            "report a step once, or under another group"
        )
    added = {n: v for n, v in report.metrics.items() if n not in stored.metrics}
    if added:
        merged = _text({**stored.metrics, **added})
        batches = None if stored.batch_metrics is None else _text(stored.batch_metrics)
        await rows.update_report(conn, stored.id, report.trial_id, merged, batches)
    return None


class _Touched:
    """What one flush changes in one trial."""

    def __init__(self, lock: rows.TrialLock) -> None:
        self.lock = lock
        self.summary = lock.summary_metrics
        self.total_batches = lock.total_batches
        self.latest: int | None = None
        self.best: int | None = None
        self.best_metric: float | None = None
        self.searcher_metric: float | None = None

    def add(self, report: Report, facts: TrialFacts, row_id: int) -> None:
        add_report(self.summary, report.group, report.metrics)
        self.total_batches = max(self.total_batches, report.steps)
        if report.group != "validation":
            return
        self.latest = row_id
        value = as_number(report.metrics.get(facts.searcher_metric))
        if value is None or math.isnan(value):
            return
        self.searcher_metric = value
        signed = value if facts.smaller_is_better else -value
        known = self.best_metric if self.best_metric is not None else self.lock.best_metric
        if known is None or signed < known:
            self.best, self.best_metric = row_id, signed

    def write(self) -> rows.TrialWrite:
        return rows.TrialWrite(
            trial_id=self.lock.id,
            summary=_text(self.summary),
            total_batches=self.total_batches,
            latest_validation=self.latest,
            best_validation=self.best,
            best_metric=self.best_metric,
            searcher_metric=self.searcher_metric,
        )


def _key(report: Report) -> tuple[Any, ...]:
    return (report.trial_id, report.group, report.steps, report.run_id)


def _row(report: Report, facts: TrialFacts) -> rows.ReportRow:
    metric = None
    if report.group == "validation":
        metric = as_number(report.metrics.get(facts.searcher_metric))
    return rows.ReportRow(
        trial_id=report.trial_id,
        metric_group=report.group,
        steps=report.steps,
        run_id=report.run_id,
        reported_at=report.reported_at,
        metrics=_text(report.metrics),
        batch_metrics=None if report.batch_metrics is None else _text(report.batch_metrics),
        searcher_metric=metric,
    )


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
>>>>>>> main

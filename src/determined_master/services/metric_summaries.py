"""Summaries of trials that report, in memory; their rows follow at a distance.

To write the summary of a trial with 100 metrics costs five times as much as the report that
changes it, so a summary is written at most once a while. What is in memory is good for one
version of the trial: the row's `metrics_version`, read under its lock. Any mismatch (another
process wrote, a transaction was rolled back) drops it. A summary that was not written when the
master died is made again from the reports.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import clock
from determined_master.domain.summary import Summary, add_report
from determined_master.store import metrics as rows

if TYPE_CHECKING:
    from determined_master.store.pool import Conn, Pool

WRITE_EVERY_S = 1.0
MAX_KEPT = 1000
MAX_WRITTEN_AT_ONCE = 50
"""Encoding them holds the loop: 18 KB each with 100 metrics."""


class TrialSummary:
    """The summary of one trial and which version of the trial it tells of."""

    __slots__ = ("figures", "is_written", "version", "written_at_s")

    def __init__(self, figures: Summary, version: int) -> None:
        self.figures = figures
        self.version = version
        self.is_written = True
        self.written_at_s = 0.0

    def text(self) -> str:
        """Its JSON."""
        return msgspec.json.encode(self.figures).decode()


class Summaries:
    """The summaries of trials that have reported lately."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._kept: OrderedDict[int, TrialSummary] = OrderedDict()
        self._is_repaired = False

    async def of_locked(
        self, conn: Conn, locks: Mapping[int, rows.TrialLock]
    ) -> dict[int, TrialSummary]:
        """The summaries of trials whose rows the caller holds locked; reports may be added."""
        found: dict[int, TrialSummary] = {}
        for trial_id, lock in locks.items():
            kept = self._kept.get(trial_id)
            if kept is not None and kept.version == lock.metrics_version:
                found[trial_id] = kept
        missing = [i for i in locks if i not in found]
        if missing:
            fresh = await rows.list_fresh_summaries(conn, missing)
            for i in missing:
                figures = fresh[i] if i in fresh else (await recompute(conn, i))[0]
                found[i] = TrialSummary(figures, locks[i].metrics_version)
        return found

    def note(self, changed: Mapping[int, TrialSummary]) -> dict[int, str | None]:
        """Keep summaries that reports were added to, within the caller's transaction.

        Returns:
            For each trial the text to write with it, None when that can wait.
        """
        now_s = clock.monotonic_s()
        texts: dict[int, str | None] = {}
        for trial_id, summary in changed.items():
            is_due = now_s - summary.written_at_s >= WRITE_EVERY_S
            texts[trial_id] = summary.text() if is_due else None
            summary.version += 1
            summary.is_written = is_due
            summary.written_at_s = now_s if is_due else summary.written_at_s
            self._kept[trial_id] = summary
            self._kept.move_to_end(trial_id)
        self._evict()
        return texts

    def find(self, trial_id: int) -> str | None:
        """The JSON of a summary that has not been written yet."""
        kept = self._kept.get(trial_id)
        return None if kept is None or kept.is_written else kept.text()

    def forget(self, trial_ids: Iterable[int]) -> None:
        """Drop summaries whose transaction may have been rolled back."""
        for trial_id in trial_ids:
            self._kept.pop(trial_id, None)
        self._is_repaired = False

    async def write_due(self) -> None:
        """Write those that have waited long enough; repair those that were forgotten."""
        if not self._is_repaired:
            await self.repair()
        now_s = clock.monotonic_s()
        due = {
            i: s
            for i, s in self._kept.items()
            if not s.is_written and now_s - s.written_at_s >= WRITE_EVERY_S
        }
        texts = [(i, s.version, s.text()) for i, s in list(due.items())[:MAX_WRITTEN_AT_ONCE]]
        if not texts:
            return
        async with self._pool.acquire() as conn:
            written = await rows.update_summaries(conn, texts)
        for trial_id, version, _ in texts:
            if trial_id in written:
                due[trial_id].written_at_s = now_s
                due[trial_id].is_written = due[trial_id].version == version

    async def repair(self) -> None:
        """Make those again that are stale and that nobody keeps, as after a master's death."""
        self._is_repaired = True
        position = 0
        while True:
            async with self._pool.acquire() as conn:
                stale = await rows.list_stale(conn, position, 100)
                for trial_id in stale:
                    if trial_id not in self._kept:
                        await _remake(conn, trial_id)
            if not stale:
                return
            position = stale[-1]

    def _evict(self) -> None:
        while len(self._kept) > MAX_KEPT:
            oldest = next(iter(self._kept))
            if not self._kept[oldest].is_written:
                return  # it is written within the second
            del self._kept[oldest]


async def recompute(conn: Conn, trial_id: int) -> tuple[Summary, int]:
    """Summary and total of batches of a trial from what still counts of its reports."""
    summary: Summary = {}
    total, position = 0, (trial_id, 0)
    while True:
        page = await rows.list_reports(conn, [trial_id], None, after=position)
        _add(summary, page)
        total = max([total, *(row.steps for row in page)])
        if len(page) < rows.PAGE:
            return summary, total
        position = (trial_id, page[-1].id)


async def _remake(conn: Conn, trial_id: int) -> None:
    async with conn.transaction():
        lock = (await rows.lock_trials(conn, [trial_id])).get(trial_id)
        if lock is not None:
            figures, _ = await recompute(conn, trial_id)
            text = TrialSummary(figures, lock.metrics_version).text()
            await rows.update_summaries(conn, [(trial_id, lock.metrics_version, text)])


def _add(summary: Summary, page: Iterable[rows.StoredReport]) -> None:
    for row in page:
        values: Mapping[str, Any] = row.metrics
        add_report(summary, row.metric_group, values)

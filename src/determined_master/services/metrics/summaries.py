"""Summaries of trials that report, in memory; their rows follow at a distance.

To write the summary of a trial with 100 metrics costs five times as much as the report that
changes it, so a summary is written at most once a while, and no more bytes a second than fifty
trials of 100 metrics have: where there are more of either, each is written less often. The copy
in memory is good for one version of the trial: the row's `metrics_version`, read under its lock.
Any mismatch (another process wrote, a transaction was rolled back) drops it. A summary that was
not written when the master died is made again from the reports.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.metrics.summary import SYSTEM_GROUPS, Summary, add_report
from determined_master.records.metrics import StoredReport
from determined_master.store.metrics import metrics as rows
from determined_master.store.metrics import summaries as stored

if TYPE_CHECKING:
    from determined_master.services.metrics.reports import MetricReport
    from determined_master.store.db import Conn, Database

WRITE_EVERY_S = 1.0
MAX_KEPT = 1000
MAX_BYTES_AT_ONCE = 256 * 1024
"""Encoding them holds the loop: 0.05 ms for 17 KB, as 100 metrics have."""
MAX_BYTES_A_ROUND = 512 * 1024
"""17 KB cost PostgreSQL 0.7 ms, so this is 5 % of a processor with two rounds a second."""
LOOKED_AT_AT_ONCE = 2000


class TrialSummary:
    """The summary of one trial, and the trial as of its last stored report."""

    __slots__ = ("figures", "is_written", "lock", "redone_after")

    def __init__(self, figures: Summary, lock: rows.TrialLock) -> None:
        self.figures = figures
        self.lock = lock
        self.is_written = True
        self.redone_after: tuple[int, int] | None = None
        """A run and the step from which on nothing of earlier runs is left to archive."""

    def is_redone(self, report: MetricReport) -> bool:
        """Whether what earlier runs reported from this report's place on was archived before."""
        run_id, steps = self.redone_after or (0, 0)
        return run_id == report.run_id and report.steps > steps

    def note_run(self, report: MetricReport) -> None:
        """Archive what earlier runs reported from this report on."""
        run_id, steps = self.redone_after or (0, 0)
        if report.group not in SYSTEM_GROUPS and (run_id != report.run_id or report.steps < steps):
            self.redone_after = (report.run_id, report.steps)

    def text(self) -> str:
        """Its JSON."""
        return msgspec.json.encode(self.figures).decode()


class Summaries:
    """The summaries of trials that have reported lately."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kept: OrderedDict[int, TrialSummary] = OrderedDict()
        self._due: dict[int, None] = {}
        """Those that have changed since they were written, the longest waiting first."""
        self._forgotten: set[int] = set()
        self._is_looked_through = False

    async def of_locked(
        self, conn: Conn, locks: Mapping[int, rows.TrialLock]
    ) -> dict[int, TrialSummary]:
        """The summaries of trials whose rows the caller holds locked; reports may be added."""
        found: dict[int, TrialSummary] = {}
        for trial_id, lock in locks.items():
            kept = self._kept.get(trial_id)
            if kept is not None and kept.lock.metrics_version == lock.metrics_version:
                kept.lock = lock
                found[trial_id] = kept
        missing = [i for i in locks if i not in found]
        if missing:
            fresh = await stored.list_fresh_summaries(conn, missing)
            for i in missing:
                figures = fresh[i] if i in fresh else (await recompute(conn, i))[0]
                found[i] = TrialSummary(figures, locks[i])
        return found

    def known(self, trial_id: int) -> TrialSummary | None:
        """The summary of a trial, which may have changed in the database."""
        return self._kept.get(trial_id)

    def keep(self, trial_id: int, summary: TrialSummary, lock: rows.TrialLock) -> None:
        """Keep a summary that reports were added to; `lock` is the trial after them."""
        summary.lock = lock
        summary.is_written = False
        self._kept[trial_id] = summary
        self._kept.move_to_end(trial_id)
        self._due.setdefault(trial_id)
        while len(self._kept) > MAX_KEPT:
            oldest = next(iter(self._kept))
            if not self._kept[oldest].is_written:
                return  # it soon is
            del self._kept[oldest]

    def find(self, trial_id: int, *, also_written: bool = False) -> str | None:
        """The JSON of a summary that has not been written yet, or of any that is kept."""
        kept = self._kept.get(trial_id)
        is_due = kept is not None and (also_written or not kept.is_written)
        return kept.text() if kept is not None and is_due else None

    def unwritten(self, trial_ids: Iterable[int] | None = None) -> set[int]:
        """Those of the trials, or of all, whose summary has not been written yet."""
        some = self._due if trial_ids is None else trial_ids
        return {i for i in some if i in self._kept and not self._kept[i].is_written}

    def names(self, trial_id: int) -> list[tuple[str, str]]:
        """Groups and names of metrics in a kept summary."""
        kept = self._kept.get(trial_id)
        return [] if kept is None else [(g, n) for g, names in kept.figures.items() for n in names]

    def forget(self, trial_ids: Iterable[int]) -> None:
        """Drop summaries whose transaction may have been rolled back."""
        for trial_id in trial_ids:
            self._kept.pop(trial_id, None)
            self._forgotten.add(trial_id)

    async def write_due(self) -> None:
        """Write those that have changed, as many as go into a round; repair the forgotten ones.

        With more in memory than are to be kept, all are written, so that they can go.
        """
        if not self._is_looked_through:
            await self.repair()
            self._is_looked_through = True
        if self._forgotten:
            await self._repair_forgotten()
        waiting = list(self._due)
        is_crowded = len(self._kept) > MAX_KEPT
        left = MAX_BYTES_A_ROUND
        while waiting and (left > 0 or is_crowded):
            taken, size = self._take(waiting)
            left -= size
            if taken:
                async with self._db.acquire() as conn:
                    await self._write(conn, taken)

    def _take(self, waiting: list[int]) -> tuple[list[tuple[int, TrialSummary, str]], int]:
        """Encode the first of those that wait, about as much as may be held; with its size."""
        taken: list[tuple[int, TrialSummary, str]] = []
        size = count = 0
        while count < len(waiting) and size < MAX_BYTES_AT_ONCE:
            trial_id = waiting[count]
            count += 1
            summary = self._kept.get(trial_id)
            if summary is None or summary.is_written:
                self._due.pop(trial_id, None)
                continue
            taken.append((trial_id, summary, summary.text()))
            size += len(taken[-1][2])
        del waiting[:count]
        return taken, size

    async def _write(self, conn: Conn, taken: Sequence[tuple[int, TrialSummary, str]]) -> None:
        versions = [(i, summary.lock.metrics_version, text) for i, summary, text in taken]
        written = await stored.update_summaries(conn, versions)
        for (trial_id, summary, _), (_, version, _) in zip(taken, versions, strict=True):
            self._due.pop(trial_id, None)
            if trial_id in written and summary.lock.metrics_version == version:
                summary.is_written = True
            if trial_id in self.unwritten([trial_id]):
                self._due[trial_id] = None  # locked, or changed since: it is the others' turn

    async def repair(self) -> None:
        """Rebuild stale summaries without an owner, as after a master's crash."""
        position: int | None = 0
        while position is not None:
            async with self._db.acquire() as conn:
                stale, position = await stored.find_stale(conn, position, LOOKED_AT_AT_ONCE)
                await self._remake_some(conn, stale)

    async def _repair_forgotten(self) -> None:
        wanted, self._forgotten = self._forgotten, set()
        try:
            async with self._db.acquire() as conn:
                await self._remake_some(conn, await stored.list_stale(conn, sorted(wanted)))
        except BaseException:
            self._forgotten |= wanted
            raise

    async def _remake_some(self, conn: Conn, trial_ids: Iterable[int]) -> None:
        for trial_id in trial_ids:
            if trial_id not in self._kept:
                await _remake(conn, trial_id)


async def recompute(conn: Conn, trial_id: int) -> tuple[Summary, int]:
    """Summary and total of batches of a trial from what still counts of its reports."""
    summary: Summary = {}
    total, after = 0, 0
    while True:
        page = await rows.list_reports(conn, trial_id, None, after=after)
        _add(summary, page)
        steps = (row.steps for row in page if row.metric_group not in SYSTEM_GROUPS)
        total = max([total, *steps])
        if len(page) < rows.PAGE:
            return summary, total
        after = page[-1].id


async def _remake(conn: Conn, trial_id: int) -> None:
    async with conn.transaction():
        lock = (await rows.lock_trials(conn, [trial_id])).get(trial_id)
        if lock is not None:
            figures, _ = await recompute(conn, trial_id)
            text = TrialSummary(figures, lock).text()
            await stored.update_summaries(conn, [(trial_id, lock.metrics_version, text)])


def _add(summary: Summary, page: Iterable[StoredReport]) -> None:
    for row in page:
        values: Mapping[str, Any] = row.metrics
        add_report(summary, row.metric_group, values)

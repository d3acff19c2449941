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

from determined_master.domain.summary import SYSTEM_GROUPS, Summary, add_report
from determined_master.store import metrics as rows

if TYPE_CHECKING:
    from determined_master.store.pool import Conn, Pool

WRITE_EVERY_S = 1.0
MAX_KEPT = 1000
MAX_WRITTEN_AT_ONCE = 20
"""Encoding them holds the loop: 18 KB each with 100 metrics."""
LOOKED_AT_AT_ONCE = 2000


class TrialSummary:
    """The summary of one trial, and the trial as it was when its last report was stored."""

    __slots__ = ("figures", "is_written", "lock", "redone_after")

    def __init__(self, figures: Summary, lock: rows.TrialLock) -> None:
        self.figures = figures
        self.lock = lock
        self.is_written = True
        self.redone_after: tuple[int, int] | None = None
        """A run and the step from which on nothing of earlier runs is left to archive."""

    def text(self) -> str:
        """Its JSON."""
        return msgspec.json.encode(self.figures).decode()


class Summaries:
    """The summaries of trials that have reported lately."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._kept: OrderedDict[int, TrialSummary] = OrderedDict()
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
            fresh = await rows.list_fresh_summaries(conn, missing)
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

    def unwritten(self, trial_ids: Iterable[int]) -> set[int]:
        """Those of the trials whose summary has not been written yet."""
        return {i for i in trial_ids if i in self._kept and not self._kept[i].is_written}

    def forget(self, trial_ids: Iterable[int]) -> None:
        """Drop summaries whose transaction may have been rolled back."""
        for trial_id in trial_ids:
            self._kept.pop(trial_id, None)
            self._forgotten.add(trial_id)

    async def write_due(self) -> None:
        """Write those that have changed; repair those that were forgotten."""
        if not self._is_looked_through:
            await self.repair()
            self._is_looked_through = True
        if self._forgotten:
            await self._repair_forgotten()
        due = {i: s for i, s in self._kept.items() if not s.is_written}
        while due:
            some = [due.popitem() for _ in range(min(MAX_WRITTEN_AT_ONCE, len(due)))]
            texts = [(i, s.lock.metrics_version, s.text()) for i, s in some]
            async with self._pool.acquire() as conn:
                written = await rows.update_summaries(conn, texts)
            for (trial_id, summary), (_, version, _) in zip(some, texts, strict=True):
                if trial_id in written and summary.lock.metrics_version == version:
                    summary.is_written = True

    async def repair(self) -> None:
        """Make those again that are stale and that nobody keeps, as after a master's death."""
        position: int | None = 0
        while position is not None:
            async with self._pool.acquire() as conn:
                stale, position = await rows.find_stale(conn, position, LOOKED_AT_AT_ONCE)
                await self._remake_some(conn, stale)

    async def _repair_forgotten(self) -> None:
        wanted, self._forgotten = self._forgotten, set()
        try:
            async with self._pool.acquire() as conn:
                await self._remake_some(conn, await rows.list_stale(conn, sorted(wanted)))
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
            await rows.update_summaries(conn, [(trial_id, lock.metrics_version, text)])


def _add(summary: Summary, page: Iterable[rows.StoredReport]) -> None:
    for row in page:
        values: Mapping[str, Any] = row.metrics
        add_report(summary, row.metric_group, values)

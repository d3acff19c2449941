"""Storing metric reports inside a transaction, and what follows from them.

A validation that the search wants to hear of goes with the event for the search, in the
engine's transaction; all others with whatever else waits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from determined_master.domain.errors import AlreadyExists, DetError, InvalidArgument, NotFound
from determined_master.domain.metrics.limits import MAX_NAMES, too_many_names
from determined_master.domain.metrics.summary import (
    SYSTEM_GROUPS,
    add_report,
    as_number,
    group_key,
)
from determined_master.records.metrics import StoredReport
from determined_master.services.metrics.reports import MetricReport, TrialFacts
from determined_master.services.metrics.reruns import archive_redone
from determined_master.services.metrics.series_points import SeriesPoints
from determined_master.services.metrics.summaries import Summaries, TrialSummary
from determined_master.store.db import Conn
from determined_master.store.metrics import blocks as metric_blocks
from determined_master.store.metrics import metrics as rows


class MetricStore:
    """Stores reports and keeps what trials show of them."""

    def __init__(self, summaries: Summaries, points: SeriesPoints) -> None:
        self._summaries = summaries
        self._points = points

    async def store_known(
        self, conn: Conn, reports: Sequence[tuple[MetricReport, TrialFacts]]
    ) -> bool:
        """Store reports by one statement outside a transaction, if nothing has changed in between.

        Returns:
            False when nothing was stored; `store` then finds out why.
        """
        touched: dict[int, _Touched] = {}
        for report, facts in reports:
            trial = touched.get(report.trial_id)
            if trial is None:
                summary = self._summaries.known(report.trial_id)
                if summary is None:
                    return False
                trial = touched[report.trial_id] = _Touched(summary.lock, summary)
            if not trial.is_expected(report) or trial.name_problem(report) is not None:
                return False
            trial.add(report, facts)
        rows_of = [_row(*report) for report in reports]
        if not await rows.store_known(conn, rows_of, [t.write_known() for t in touched.values()]):
            return False
        self._keep(touched)
        return True

    async def write(
        self, conn: Conn, items: Sequence[tuple[MetricReport, TrialFacts]]
    ) -> list[DetError | None]:
        """Store reports inside the caller's transaction; an engine's `RowWriter`.

        Returns:
            For each report None, or why it is refused.
        """
        locks = await rows.lock_trials(conn, sorted({r.trial_id for r, _ in items}))
        outcomes = [_refusal(report, locks.get(report.trial_id)) for report, _ in items]
        accepted = [i for i, outcome in enumerate(outcomes) if outcome is None]
        if not accepted:
            return outcomes
        touched = await self._touch(conn, locks, [items[i] for i in accepted])
        for i in accepted:
            outcomes[i] = touched[items[i][0].trial_id].name_problem(items[i][0])
        accepted = [i for i in accepted if outcomes[i] is None]
        if not accepted:
            return outcomes
        ids = await rows.insert_reports(conn, [_row(*items[i]) for i in accepted])
        taken = [items[i][0] for i, row_id in zip(accepted, ids, strict=True) if row_id is None]
        stored = await rows.list_taken(conn, list(map(_key, taken))) if taken else {}
        changed: dict[int, _Touched] = {}
        for i, row_id in zip(accepted, ids, strict=True):
            report, facts = items[i]
            if row_id is None:
                outcomes[i] = await _merge(conn, report, stored)
                continue
            changed[report.trial_id] = touched[report.trial_id]
            changed[report.trial_id].add(report, facts, row_id)
        if changed:
            await rows.update_trials(conn, [t.write() for t in changed.values()])
            self._keep(changed)
        return outcomes

    async def _touch(
        self,
        conn: Conn,
        locks: Mapping[int, rows.TrialLock],
        accepted: Sequence[tuple[MetricReport, TrialFacts]],
    ) -> dict[int, _Touched]:
        """Facts of the trials, once new runs have replaced older ones."""
        maybe = [item for item in accepted if not self._is_redone(item[0], locks)]
        redone = await archive_redone(conn, maybe)
        touched: dict[int, _Touched] = {}
        for i, now in redone.items():
            lock = msgspec.structs.replace(
                locks[i], total_batches=now.total_batches, best_metric=now.best
            )
            touched[i] = _Touched(lock, TrialSummary(now.summary, lock))
        others = {r.trial_id: locks[r.trial_id] for r, _ in accepted if r.trial_id not in redone}
        for i, summary in (await self._summaries.of_locked(conn, others)).items():
            touched[i] = _Touched(locks[i], summary)
        return touched

    def _is_redone(self, report: MetricReport, locks: Mapping[int, rows.TrialLock]) -> bool:
        """Whether nothing of earlier runs can be left that the report takes the place of."""
        kept = self._summaries.known(report.trial_id)
        version = locks[report.trial_id].metrics_version
        return kept is not None and kept.lock.metrics_version == version and kept.is_redone(report)

    def _keep(self, changed: Mapping[int, _Touched]) -> None:
        for trial_id, trial in changed.items():
            for report in trial.reports:
                add_report(trial.summary.figures, report.group, report.metrics)
                if report.run_id > 1:
                    trial.summary.note_run(report)
            self._summaries.keep(trial_id, trial.summary, trial.lock_after())
            self._points.note(trial_id, len(trial.reports))


def _refusal(report: MetricReport, lock: rows.TrialLock | None) -> DetError | None:
    if lock is None:
        return NotFound(f"trial '{report.trial_id}' not found")
    if not report.group or "." in report.group:
        return InvalidArgument(
            f"metric group {report.group!r} is empty or has a dot: choose another name"
        )
    if report.run_id != lock.run_id:
        return InvalidArgument(
            f"invalid run id, {report.run_id} != {lock.run_id}: trial {report.trial_id} has "
            "been started again since, only its latest attempt may report"
        )
    for name in ("epoch", "epochs"):
        if name in report.metrics and as_number(report.metrics[name]) is None:
            return InvalidArgument(f"metric {name!r} must be a number")
    return None


def _key(report: MetricReport) -> rows.ReportKey:
    return report.trial_id, report.group, report.steps, report.run_id


async def _merge(
    conn: Conn, report: MetricReport, taken: dict[rows.ReportKey, StoredReport]
) -> DetError | None:
    """A report whose key is taken: equal values change nothing, new names are added."""
    stored = taken.get(_key(report))
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
        merged = msgspec.structs.replace(stored, metrics={**stored.metrics, **added})
        taken[_key(report)] = merged
        batches = None if stored.batch_metrics is None else _text(stored.batch_metrics)
        await rows.update_report(conn, stored.id, report.trial_id, _text(merged.metrics), batches)
        await metric_blocks.delete_blocks(conn, report.trial_id, stored.id)
    return None


class _Touched:
    """What some reports change in one trial."""

    def __init__(self, lock: rows.TrialLock, summary: TrialSummary) -> None:
        self.lock = lock
        self.summary = summary
        self.reports: list[MetricReport] = []
        self.total_batches = lock.total_batches
        self.latest: MetricReport | None = None
        self.best: MetricReport | None = None
        self.best_metric: float | None = None
        self.searcher_metric: float | None = None
        self._ids: dict[int, int] = {}
        self._most_names = sum(map(len, summary.figures.values()))
        """No fewer than the trial has with these reports: each name counts as a new one."""
        self._unread: list[MetricReport] = []
        self._fresh: set[tuple[str, str]] = set()
        """Names that the trial gets by those reports that were read for them."""

    def name_problem(self, report: MetricReport) -> DetError | None:
        """Why its trial would have too many names with it; each report is asked about once."""
        self._most_names += len(report.metrics)
        self._unread.append(report)
        if self._most_names <= MAX_NAMES:
            return None
        # Most names are not new. To read each report for them would cost as much as to add it.
        fresh = [name for earlier in self._unread[:-1] for name in self._fresh_names(earlier)]
        self._fresh.update(fresh)
        self._unread = []
        added = set(self._fresh_names(report)) - self._fresh
        count = sum(map(len, self.summary.figures.values())) + len(self._fresh) + len(added)
        if added and count > MAX_NAMES:
            return too_many_names(count)
        self._fresh |= added
        return None

    def _fresh_names(self, report: MetricReport) -> list[tuple[str, str]]:
        key = group_key(report.group)
        known = self.summary.figures.get(key, {})
        return [(key, name) for name in report.metrics if name not in known]

    def is_expected(self, report: MetricReport) -> bool:
        """Whether it can be stored without looking at the trial first."""
        if report.run_id > 1 and report.group not in SYSTEM_GROUPS:
            return self.summary.is_redone(report) and _refusal(report, self.lock) is None
        return _refusal(report, self.lock) is None

    def add(self, report: MetricReport, facts: TrialFacts, row_id: int = 0) -> None:
        """Take a report into account, whose row may not have an id yet."""
        self.reports.append(report)
        if report.group not in SYSTEM_GROUPS:
            self.total_batches = max(self.total_batches, report.steps)
        if report.group != "validation":
            return
        self.latest = report
        self._ids[report.steps] = row_id
        value = as_number(report.metrics.get(facts.searcher_metric))
        if value is None or math.isnan(value):
            return
        self.searcher_metric = value
        signed = value if facts.smaller_is_better else -value
        known = self.lock.best_metric if self.best_metric is None else self.best_metric
        if known is None or signed < known:
            self.best, self.best_metric = report, signed

    def lock_after(self) -> rows.TrialLock:
        """The trial's row after these reports."""
        best = self.lock.best_metric if self.best_metric is None else self.best_metric
        return rows.TrialLock(
            id=self.lock.id,
            experiment_id=self.lock.experiment_id,
            run_id=self.lock.run_id,
            total_batches=self.total_batches,
            best_metric=best,
            metrics_version=self.lock.metrics_version + 1,
        )

    def write(self) -> rows.TrialWrite:
        """What to write, validations by the ids of their rows."""
        return rows.TrialWrite(
            trial_id=self.lock.id,
            total_batches=self.total_batches,
            latest_validation=None if self.latest is None else self._ids[self.latest.steps],
            best_validation=None if self.best is None else self._ids[self.best.steps],
            best_metric=self.best_metric,
            searcher_metric=self.searcher_metric,
        )

    def write_known(self) -> rows.KnownWrite:
        """What to write, validations by their steps."""
        return rows.KnownWrite(
            trial_id=self.lock.id,
            run_id=self.lock.run_id,
            version=self.lock.metrics_version,
            total_batches=self.total_batches,
            latest_steps=None if self.latest is None else self.latest.steps,
            best_steps=None if self.best is None else self.best.steps,
            best_metric=self.best_metric,
            searcher_metric=self.searcher_metric,
        )


def _row(report: MetricReport, facts: TrialFacts) -> rows.ReportRow:
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

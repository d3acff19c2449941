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
from determined_master.domain.summary import add_report, as_number
from determined_master.services.metric_reports import Report, TrialFacts
from determined_master.services.metric_reruns import archive_redone
from determined_master.services.metric_summaries import Summaries, TrialSummary
from determined_master.store import metrics as rows
from determined_master.store.pool import Conn


class MetricStore:
    """Stores reports and keeps what trials show of them."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries

    async def store(
        self, conn: Conn, reports: Sequence[tuple[Report, TrialFacts]]
    ) -> list[DetError | None]:
        """Store reports inside the caller's transaction.

        Returns:
            For each report None, or why it is refused.
        """
        locks = await rows.lock_trials(conn, sorted({r.trial_id for r, _ in reports}))
        outcomes = [_refusal(report, locks.get(report.trial_id)) for report, _ in reports]
        accepted = [i for i, outcome in enumerate(outcomes) if outcome is None]
        if not accepted:
            return outcomes
        touched = await self._touch(conn, locks, [reports[i] for i in accepted])
        ids = await rows.insert_reports(conn, [_row(*reports[i]) for i in accepted])
        changed: dict[int, _Touched] = {}
        for i, row_id in zip(accepted, ids, strict=True):
            report, facts = reports[i]
            if row_id is None:
                outcomes[i] = await _merge(conn, report)
                continue
            trial = touched[report.trial_id]
            trial.add(report, facts, row_id)
            changed[report.trial_id] = trial
        if changed:
            texts = self._summaries.note({i: t.summary for i, t in changed.items()})
            await rows.update_trials(conn, [t.write(texts[i]) for i, t in changed.items()])
        return outcomes

    async def _touch(
        self,
        conn: Conn,
        locks: Mapping[int, rows.TrialLock],
        accepted: Sequence[tuple[Report, TrialFacts]],
    ) -> dict[int, _Touched]:
        """What is known of the trials, once new runs have taken the place of older ones."""
        redone = await archive_redone(conn, accepted)
        touched = {
            i: _Touched(locks[i], TrialSummary(now.summary, locks[i].metrics_version), now.best)
            for i, now in redone.items()
        }
        for i, now in redone.items():
            touched[i].total_batches = now.total_batches
        others = {r.trial_id: locks[r.trial_id] for r, _ in accepted if r.trial_id not in redone}
        for i, summary in (await self._summaries.of_locked(conn, others)).items():
            touched[i] = _Touched(locks[i], summary, locks[i].best_metric)
        return touched


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
    """What one transaction changes in one trial."""

    def __init__(self, lock: rows.TrialLock, summary: TrialSummary, best: float | None) -> None:
        self.lock = lock
        self.summary = summary
        self.total_batches = lock.total_batches
        self._known_best = best
        self.latest: int | None = None
        self.best: int | None = None
        self.best_metric: float | None = None
        self.searcher_metric: float | None = None

    def add(self, report: Report, facts: TrialFacts, row_id: int) -> None:
        add_report(self.summary.figures, report.group, report.metrics)
        self.total_batches = max(self.total_batches, report.steps)
        if report.group != "validation":
            return
        self.latest = row_id
        value = as_number(report.metrics.get(facts.searcher_metric))
        if value is None or math.isnan(value):
            return
        self.searcher_metric = value
        signed = value if facts.smaller_is_better else -value
        if self._known_best is None or signed < self._known_best:
            self.best, self.best_metric, self._known_best = row_id, signed, signed

    def write(self, summary: str | None) -> rows.TrialWrite:
        return rows.TrialWrite(
            trial_id=self.lock.id,
            summary=summary,
            total_batches=self.total_batches,
            latest_validation=self.latest,
            best_validation=self.best,
            best_metric=self.best_metric,
            searcher_metric=self.searcher_metric,
        )


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

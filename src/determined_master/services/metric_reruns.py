"""Runs that start again: what they report takes the place of what was reported before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from determined_master.domain.summary import add_report
from determined_master.services.metric_reports import Report, TrialFacts
from determined_master.store import metrics as rows
from determined_master.store.pool import Conn

PAGE = 1000


async def archive_redone(
    conn: Conn, accepted: Sequence[tuple[Report, TrialFacts]], locks: dict[int, rows.TrialLock]
) -> None:
    """Archive what earlier runs reported from the first of these reports on.

    That is all of later steps, and at the same step what is of the same group. Summaries, totals
    and the best and latest validation of the trial are then those of what still counts;
    `locks` is brought up to date.
    """
    first: dict[int, tuple[Report, TrialFacts]] = {}
    groups: dict[tuple[int, int], set[str]] = {}
    for report, facts in accepted:
        if report.run_id > 1:
            groups.setdefault((report.trial_id, report.steps), set()).add(report.group)
            before = first.get(report.trial_id)
            if before is None or report.steps < before[0].steps:
                first[report.trial_id] = (report, facts)
    for trial_id, (report, facts) in first.items():
        same_step = sorted(groups[trial_id, report.steps])
        if await rows.archive_later_reports(
            conn, report.run_id, trial_id, report.steps, same_step
        ):
            locks[trial_id] = await _recompute(conn, locks[trial_id], facts)


async def _recompute(conn: Conn, lock: rows.TrialLock, facts: TrialFacts) -> rows.TrialLock:
    summary: dict[str, Any] = {}
    total, position = 0, (lock.id, 0)
    while True:
        page = await rows.list_reports(conn, [lock.id], None, after=position, limit=PAGE)
        for row in page:
            add_report(summary, row.metric_group, row.metrics)
            total = max(total, row.steps)
        if len(page) < PAGE:
            break
        position = (lock.id, page[-1].id)
    best = await rows.reset_validations(conn, lock.id, smaller_is_better=facts.smaller_is_better)
    return msgspec.structs.replace(
        lock, summary_metrics=summary, total_batches=total, best_metric=best
    )

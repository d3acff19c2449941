"""Restarted runs: their reports replace earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.domain.metrics.summary import SYSTEM_GROUPS, Summary
from determined_master.services.metrics.reports import MetricReport, TrialFacts
from determined_master.services.metrics.summaries import recompute
from determined_master.store.db import Conn
from determined_master.store.metrics import blocks as metric_blocks
from determined_master.store.metrics import metrics as rows


class RerunState(msgspec.Struct, frozen=True):
    """What still counts of a trial's reports."""

    summary: Summary
    total_batches: int
    best: float | None


async def archive_redone(
    conn: Conn, accepted: Sequence[tuple[MetricReport, TrialFacts]]
) -> dict[int, RerunState]:
    """Archive what earlier runs reported from the first of these reports on.

    These are all reports of later steps, and of the same group at the same step.

    Returns:
        Summary, total and best of the trials that lost reports, from those that still count;
        best and latest validation of their rows are brought up to date.
    """
    first: dict[int, tuple[MetricReport, TrialFacts]] = {}
    groups: dict[tuple[int, int], set[str]] = {}
    for report, facts in accepted:
        if report.run_id > 1 and report.group not in SYSTEM_GROUPS:
            groups.setdefault((report.trial_id, report.steps), set()).add(report.group)
            before = first.get(report.trial_id)
            if before is None or report.steps < before[0].steps:
                first[report.trial_id] = (report, facts)
    redone: dict[int, RerunState] = {}
    for trial_id, (report, facts) in first.items():
        same_step = sorted(groups[trial_id, report.steps])
        first_id = await rows.archive_later_reports(
            conn, report.run_id, trial_id, report.steps, same_step
        )
        if first_id is not None:
            await metric_blocks.delete_blocks(conn, trial_id, first_id)
            summary, total = await recompute(conn, trial_id)
            best = await rows.reset_validations(
                conn, trial_id, smaller_is_better=facts.smaller_is_better
            )
            redone[trial_id] = RerunState(summary, total, best)
    return redone

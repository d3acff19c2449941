"""From a trial's page to its shape in the REST API."""

from __future__ import annotations

from determined_master.api.http.protojson import raw_json
from determined_master.api.shapes import (
    checkpoint_workload,
    metrics_workload,
    seconds_between,
    struct_of,
)
from determined_master.records.metrics import StoredReport
from determined_master.services.experiments.trials import TrialPage
from determined_master.services.metrics.service import as_stored
from determined_wire.rest.types.trial import MetricsReport, Trial, TrialState


def trial_message(page: TrialPage) -> Trial:
    """A trial with its best and latest validation and its best checkpoint."""
    row = page.row
    return struct_of(
        Trial,
        row,
        start_time=row.started_at,
        end_time=row.ended_at,
        state=TrialState[f"STATE_{page.shown_state}"],
        total_batches_processed=row.total_batches,
        best_validation=metrics_workload(page.best),
        latest_validation=metrics_workload(page.latest),
        best_checkpoint=checkpoint_workload(page.best_checkpoint),
        wall_clock_time=seconds_between(row.started_at, row.ended_at),
        warm_start_checkpoint_uuid=row.warm_start_checkpoint or "",
        total_checkpoint_size=row.checkpoint_size,
        summary_metrics=raw_json(row.summary_metrics),
        task_ids=page.task_ids,
        searcher_metric_value=row.searcher_metric,
    )


def metrics_report(row: StoredReport) -> MetricsReport:
    """One report as lists of reports show it; its time is cut to milliseconds."""
    return MetricsReport(
        trial_id=row.trial_id,
        end_time=row.reported_at.replace(microsecond=row.reported_at.microsecond // 1000 * 1000),
        metrics=as_stored(row.metric_group, row),
        total_batches=row.steps,
        archived=row.archived,
        id=row.id,
        trial_run_id=row.run_id,
        group=row.metric_group,
    )

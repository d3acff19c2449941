"""Routes of metric reports."""

from __future__ import annotations

from determined_master import clock
from determined_master.api.http.access import of_task, on
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import REPORTS
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.metrics.summary import SYSTEM_GROUPS
from determined_master.services.metrics.reports import MetricReport
from determined_master.services.metrics.service import Metrics
from determined_wire import own
from determined_wire.rest import trials as wire
from determined_wire.rest.types.trial import TrialMetrics


@route(
    "POST",
    "/api/v1/trials/{metrics.trial_id}/metrics",
    large_body=True,
    access=on("trial", "metrics.trial_id", "report", "task"),
    task=of_task("metrics.trial_id", "trial_id"),
    in_task=REPORTS,
)
async def report_metrics(
    call: Call, request: wire.ReportTrialMetricsRequest, metrics: Metrics
) -> wire.ReportTrialMetricsResponse:
    """One report; answered when it is durable."""
    await metrics.report(call.caller, _report(request.metrics, request.group))
    return wire.ReportTrialMetricsResponse()


@route(
    "POST",
    "/api/v1/trials/{trial_id}/metrics/batch",
    body="*",
    large_body=True,
    access=on("trial", "trial_id", "report", "task"),
    task=of_task("trial_id"),
    in_task=REPORTS,
)
async def report_metrics_batch(
    call: Call, request: own.ReportTrialMetricsBatchRequest, metrics: Metrics
) -> own.ReportTrialMetricsBatchResponse:
    """Up to 1,000 reports of one trial; answered when they are durable."""
    reports = [_report(r.metrics, r.group) for r in request.reports]
    if any(r.trial_id != request.trial_id for r in reports):
        raise InvalidArgument(f"all reports must be of trial {request.trial_id}, as in the path")
    answers = await metrics.report_many(call.caller, reports)
    results = [own.ReportResult(error=str(a) if a else "") for a in answers]
    return own.ReportTrialMetricsBatchResponse(results=results)


@route(
    "POST",
    "/api/v1/trials/{training_metrics.trial_id}/training_metrics",
    large_body=True,
    access=on("trial", "training_metrics.trial_id", "report", "task"),
    task=of_task("training_metrics.trial_id", "trial_id"),
    in_task=REPORTS,
)
async def report_training_metrics(
    call: Call, request: wire.ReportTrialTrainingMetricsRequest, metrics: Metrics
) -> wire.ReportTrialTrainingMetricsResponse:
    """One training report, as older clients send it."""
    report = _report(request.training_metrics, "training")
    await metrics.report(call.caller, report)
    return wire.ReportTrialTrainingMetricsResponse()


@route(
    "POST",
    "/api/v1/trials/{validation_metrics.trial_id}/validation_metrics",
    large_body=True,
    access=on("trial", "validation_metrics.trial_id", "report", "task"),
    task=of_task("validation_metrics.trial_id", "trial_id"),
    in_task=REPORTS,
)
async def report_validation_metrics(
    call: Call, request: wire.ReportTrialValidationMetricsRequest, metrics: Metrics
) -> wire.ReportTrialValidationMetricsResponse:
    """One validation report, as older clients send it."""
    report = _report(request.validation_metrics, "validation")
    await metrics.report(call.caller, report)
    return wire.ReportTrialValidationMetricsResponse()


def _report(metrics: TrialMetrics | None, group: str) -> MetricReport:
    if metrics is None or metrics.metrics is None:
        raise InvalidArgument("the report has no metrics")
    values = metrics.metrics
    return MetricReport(
        trial_id=metrics.trial_id,
        run_id=metrics.trial_run_id,
        group=group,
        steps=metrics.steps_completed or 0,
        reported_at=metrics.report_time or clock.now(),
        metrics=values.avg_metrics or {},
        batch_metrics=values.batch_metrics or None,
        is_sample=not metrics.steps_completed and group in SYSTEM_GROUPS,
    )

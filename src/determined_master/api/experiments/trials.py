"""Routes of trials: reading and ending them, and what their own code reports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from determined_master.api.experiments.trial_shapes import metrics_report, trial_message
from determined_master.api.http.access import of_task, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.long_lists import written
from determined_master.api.http.routes import Call, route, stream_route
from determined_master.api.http.task_use import READS, REPORTS, WORKS
from determined_master.api.shapes import checkpoint_workload, cut, metrics_workload
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.trial.messages import EarlyExitReason
from determined_master.records.checkpoints import CheckpointRow
from determined_master.records.experiments import DEFAULT_LIMIT, WorkloadKey
from determined_master.records.metrics import StoredReport
from determined_master.services.broken_rows import naming_broken_row
from determined_master.services.experiments.trials import Trials
from determined_master.services.logs.retention import LogRetention
from determined_master.services.metrics.service import Metrics
from determined_wire.rest import experiments as experiment_wire
from determined_wire.rest import trials as wire
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.trial import (
    MetricsReport,
    Trial,
    TrialEarlyExitExitedReason,
)

TRIALS_AT_ONCE = 100
"""With 20 hyperparameters and 20 metrics each takes 25 µs."""
ALL_WORKLOADS = ("training", "validation", "checkpoint")
WORKLOADS = {
    "CHECKPOINT": ("checkpoint",),
    "VALIDATION": ("validation",),
    "CHECKPOINT_OR_VALIDATION": ("validation", "checkpoint"),
}
WORKLOADS_AT_ONCE = 100
"""Likewise with 20 metrics; a report may have a thousand."""
EARLY_EXITS: dict[TrialEarlyExitExitedReason, EarlyExitReason] = {
    TrialEarlyExitExitedReason.EXITED_REASON_INVALID_HP: "INVALID_HP",
    TrialEarlyExitExitedReason.EXITED_REASON_INIT_INVALID_HP: "INIT_INVALID_HP",
}


@route(
    "GET",
    "/api/v1/trials/{trial_id}",
    access=on("trial", "trial_id"),
    task=of_task("trial_id"),
    in_task=READS,
)
async def get_trial(
    call: Call, request: wire.GetTrialRequest, trials: Trials
) -> wire.GetTrialResponse:
    """One trial."""
    with naming_broken_row(f"trial {request.trial_id}"):
        page = await trials.get(call.caller, request.trial_id)
        return wire.GetTrialResponse(trial=trial_message(page))


@route(
    "GET",
    "/api/v1/experiments/{experiment_id}/trials",
    access=on("experiment", "experiment_id"),
    in_task=READS,
)
async def get_experiment_trials(
    call: Call, request: experiment_wire.GetExperimentTrialsRequest, trials: Trials
) -> experiment_wire.GetExperimentTrialsResponse:
    """The trials of an experiment, a page of them."""
    sort = request.sort_by.removeprefix("SORT_BY_").lower()
    ids = await trials.ids_of(
        call.caller,
        request.experiment_id,
        [s.removeprefix("STATE_") for s in request.states],
        sort,
        descending=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    page, pagination = cut(ids, request.offset, request.limit, DEFAULT_LIMIT)

    async def messages_of(some: Sequence[int]) -> list[Trial]:
        found = await trials.pages(some)
        return [trial_message(found[i]) for i in some if i in found]

    return experiment_wire.GetExperimentTrialsResponse(
        trials=await written(Trial, page, TRIALS_AT_ONCE, messages_of), pagination=pagination
    )


@route("GET", "/api/v1/trials/{trial_id}/workloads", access=on("trial", "trial_id"), in_task=READS)
async def get_trial_workloads(
    call: Call, request: wire.GetTrialWorkloadsRequest, trials: Trials
) -> wire.GetTrialWorkloadsResponse:
    """Reports and checkpoints of a trial in the order of steps."""
    asked = request.filter.removeprefix("FILTER_OPTION_")
    keys = await trials.workload_keys(
        call.caller,
        request.trial_id,
        WORKLOADS.get(asked, ALL_WORKLOADS),
        newest_first=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    page, pagination = cut(keys, request.offset, request.limit or -1)

    async def items(some: Sequence[WorkloadKey]) -> list[wire.WorkloadContainer]:
        found = await trials.workloads(request.trial_id, some)
        return [_workload(row, with_batches=request.include_batch_metrics) for row in found]

    return wire.GetTrialWorkloadsResponse(
        workloads=await written(wire.WorkloadContainer, page, WORKLOADS_AT_ONCE, items),
        pagination=pagination,
    )


def _workload(row: StoredReport | CheckpointRow, *, with_batches: bool) -> wire.WorkloadContainer:
    if isinstance(row, CheckpointRow):
        saved = checkpoint_workload(row, with_metadata=True)
        return wire.WorkloadContainer(checkpoint=saved)
    work = metrics_workload(row, with_batches=with_batches)
    if row.metric_group == "training":
        return wire.WorkloadContainer(training=work)
    return wire.WorkloadContainer(validation=work)


retain_trial_logs = pass_through(
    "PUT /api/v1/trials/{trial_id}/retain_logs",
    "Say for how many days the logs of one trial are kept; -1 is forever.",
    LogRetention.retain_trial,
    takes=("num_days",),
    access=on("trial", "trial_id", "control", "trial"),
    in_task=WORKS,
)
get_remaining_days = pass_through(
    "GET /api/v1/trials/{id}/remaining_log_retention_days",
    "For how many days more the logs of a trial are kept; -1 is forever.",
    LogRetention.remaining_days,
    answer="remaining_days",
    access=on("trial", "id"),
    in_task=READS,
)
kill_trial = pass_through(
    "POST /api/v1/trials/{id}/kill",
    "End a trial at once.",
    Trials.kill,
    access=on("trial", "id", "control", "experiment"),
    in_task=WORKS,
)


@route(
    "POST",
    "/api/v1/trials/{trial_id}/early_exit",
    access=on("trial", "trial_id", "report", "task"),
    task=of_task("trial_id"),
    in_task=REPORTS,
)
async def report_early_exit(
    call: Call, request: wire.ReportTrialSearcherEarlyExitRequest, trials: Trials
) -> wire.ReportTrialSearcherEarlyExitResponse:
    """User code says that the hyperparameters make no sense."""
    given = request.early_exit.reason if request.early_exit else None
    reason = EARLY_EXITS.get(given) if given else None
    if reason is None:
        raise InvalidArgument(
            f"early exit reason {given or 'UNSPECIFIED'} is unknown: use one of "
            + ", ".join(EARLY_EXITS)
        )
    await trials.report_early_exit(call.caller, request.trial_id, reason)
    return wire.ReportTrialSearcherEarlyExitResponse()


report_progress = pass_through(
    "POST /api/v1/trials/{trial_id}/progress",
    "How far the trial is, 0 to 1.",
    Trials.report_progress,
    takes=("progress",),
    access=on("trial", "trial_id", "report", "task"),
    task=of_task("trial_id"),
    in_task=REPORTS,
)


@route(
    "POST",
    "/api/v1/trials/{trial_id}/runner/metadata",
    access=on("trial", "trial_id", "report", "task"),
    task=of_task("trial_id"),
    in_task=REPORTS,
)
async def post_runner_metadata(
    call: Call, request: wire.PostTrialRunnerMetadataRequest, trials: Trials
) -> wire.PostTrialRunnerMetadataResponse:
    """The state that the trial's code reports."""
    text = request.metadata.state if request.metadata else ""
    await trials.report_status(call.caller, request.trial_id, text)
    return wire.PostTrialRunnerMetadataResponse()


@stream_route(
    "GET",
    "/api/v1/trials/metrics/trial_metrics",
    wire.GetMetricsResponse,
    access=on("trial", "trial_ids"),
    in_task=READS,
)
async def get_metrics(
    call: Call, request: wire.GetMetricsRequest, metrics: Metrics
) -> AsyncIterator[wire.GetMetricsResponse]:
    """Reports of one group; nothing without a group."""
    if request.trial_ids and not request.group:
        return
    async for page in _reports(call, request.trial_ids, request.group, metrics):
        yield wire.GetMetricsResponse(metrics=page)


@stream_route(
    "GET",
    "/api/v1/trials/metrics/training_metrics",
    wire.GetTrainingMetricsResponse,
    access=on("trial", "trial_ids"),
    in_task=READS,
)
async def get_training_metrics(
    call: Call, request: wire.GetTrainingMetricsRequest, metrics: Metrics
) -> AsyncIterator[wire.GetTrainingMetricsResponse]:
    """Reports of the training group."""
    async for page in _reports(call, request.trial_ids, "training", metrics):
        yield wire.GetTrainingMetricsResponse(metrics=page)


@stream_route(
    "GET",
    "/api/v1/trials/metrics/validation_metrics",
    wire.GetValidationMetricsResponse,
    access=on("trial", "trial_ids"),
    in_task=READS,
)
async def get_validation_metrics(
    call: Call, request: wire.GetValidationMetricsRequest, metrics: Metrics
) -> AsyncIterator[wire.GetValidationMetricsResponse]:
    """Reports of the validation group."""
    async for page in _reports(call, request.trial_ids, "validation", metrics):
        yield wire.GetValidationMetricsResponse(metrics=page)


async def _reports(
    call: Call, trial_ids: Sequence[int], group: str, metrics: Metrics
) -> AsyncIterator[list[MetricsReport]]:
    async for page in metrics.stream(call.caller, sorted(trial_ids), group):
        yield [metrics_report(row) for row in page]

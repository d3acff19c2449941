"""Routes of trials: reading and ending them, and what their own code reports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from determined_master.api.routes import Call, route, stream_route
from determined_master.api.shapes import (
    checkpoint,
    checkpoint_workload,
    cut,
    metrics_workload,
    seconds_between,
)
from determined_master.api.shapes_trials import metrics_report, trial_message
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.trial.messages import EarlyExitReason
from determined_master.services.experiment_lists import DEFAULT_LIMIT
from determined_master.services.trials import TrialPage
from determined_wire.rest import experiments as experiment_wire
from determined_wire.rest import trials as wire
from determined_wire.rest.types.checkpoint import SortBy
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.trial import (
    MetricsReport,
    TrialEarlyExitExitedReason,
)

CHECKPOINT_SORTS = {
    SortBy.SORT_BY_UUID: "uuid",
    SortBy.SORT_BY_TRIAL_ID: "trial_id",
    SortBy.SORT_BY_BATCH_NUMBER: "steps",
    SortBy.SORT_BY_END_TIME: "reported_at",
    SortBy.SORT_BY_STATE: "state",
    SortBy.SORT_BY_SEARCHER_METRIC: "searcher_metric",
}
EARLY_EXITS: dict[TrialEarlyExitExitedReason, EarlyExitReason] = {
    TrialEarlyExitExitedReason.EXITED_REASON_INVALID_HP: "INVALID_HP",
    TrialEarlyExitExitedReason.EXITED_REASON_INIT_INVALID_HP: "INIT_INVALID_HP",
}


@route("GET", "/api/v1/trials/{trial_id}")
async def get_trial(call: Call, request: wire.GetTrialRequest) -> wire.GetTrialResponse:
    """One trial."""
    page = await call.services.trials.get(call.caller, request.trial_id)
    return wire.GetTrialResponse(trial=trial_message(page))


@route("GET", "/api/v1/experiments/{experiment_id}/trials")
async def get_experiment_trials(
    call: Call, request: experiment_wire.GetExperimentTrialsRequest
) -> experiment_wire.GetExperimentTrialsResponse:
    """The trials of an experiment, a page of them."""
    states = [s.removeprefix("STATE_") for s in request.states]
    pages = await call.services.trials.list_of(call.caller, request.experiment_id)
    if states:
        pages = [p for p in pages if p.shown_state in states or p.row.state in states]
    pages = _sorted(pages, request)
    page, pagination = cut(pages, request.offset, request.limit, DEFAULT_LIMIT)
    return experiment_wire.GetExperimentTrialsResponse(
        trials=[trial_message(p) for p in page], pagination=pagination
    )


@route("GET", "/api/v1/trials/{id}/checkpoints")
async def get_trial_checkpoints(
    call: Call, request: wire.GetTrialCheckpointsRequest
) -> wire.GetTrialCheckpointsResponse:
    """The checkpoints of a trial, a page of them."""
    found = await call.services.checkpoints.list_of(
        call.caller,
        trial_id=request.id,
        states=[s.removeprefix("STATE_") for s in request.states],
        sort=CHECKPOINT_SORTS.get(request.sort_by_attr or SortBy.SORT_BY_BATCH_NUMBER, "steps"),
        metric=request.sort_by_metric,
        newest_first=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    page, pagination = cut(found, request.offset, request.limit)
    return wire.GetTrialCheckpointsResponse(
        checkpoints=[checkpoint(row) for row in page], pagination=pagination
    )


@route("GET", "/api/v1/trials/{trial_id}/workloads")
async def get_trial_workloads(
    call: Call, request: wire.GetTrialWorkloadsRequest
) -> wire.GetTrialWorkloadsResponse:
    """Reports and checkpoints of a trial in the order of steps."""
    reports, saved = await call.services.trials.workloads(call.caller, request.trial_id)
    asked = request.filter.removeprefix("FILTER_OPTION_")
    items: list[tuple[int, datetime, wire.WorkloadContainer]] = []
    for row in reports:
        work = metrics_workload(row, with_batches=request.include_batch_metrics)
        if row.metric_group == "training":
            if asked == "UNSPECIFIED":
                container = wire.WorkloadContainer(training=work)
                items.append((row.steps, row.reported_at, container))
        elif asked != "CHECKPOINT":
            container = wire.WorkloadContainer(validation=work)
            items.append((row.steps, row.reported_at, container))
    if asked != "VALIDATION":
        items += [
            (
                row.steps,
                row.reported_at,
                wire.WorkloadContainer(checkpoint=checkpoint_workload(row, with_metadata=True)),
            )
            for row in saved
        ]
    items.sort(key=lambda item: item[:2], reverse=request.order_by is OrderBy.ORDER_BY_DESC)
    page, pagination = cut(items, request.offset, request.limit or -1)
    return wire.GetTrialWorkloadsResponse(
        workloads=[item[2] for item in page], pagination=pagination
    )


@route("PUT", "/api/v1/trials/{trial_id}/retain_logs")
async def retain_trial_logs(
    call: Call, request: wire.PutTrialRetainLogsRequest
) -> wire.PutTrialRetainLogsResponse:
    """Say for how many days the logs of one trial are kept; -1 is for ever."""
    await call.services.log_retention.retain_trial(call.caller, request.trial_id, request.num_days)
    return wire.PutTrialRetainLogsResponse()


@route("GET", "/api/v1/trials/{id}/remaining_log_retention_days")
async def get_remaining_days(
    call: Call, request: wire.GetTrialRemainingLogRetentionDaysRequest
) -> wire.GetTrialRemainingLogRetentionDaysResponse:
    """For how many days more the logs of a trial are kept; -1 is for ever."""
    days = await call.services.log_retention.remaining_days(call.caller, request.id)
    return wire.GetTrialRemainingLogRetentionDaysResponse(remaining_days=days)


@route("POST", "/api/v1/trials/{id}/kill")
async def kill_trial(call: Call, request: wire.KillTrialRequest) -> wire.KillTrialResponse:
    """End a trial at once."""
    await call.services.trials.kill(call.caller, request.id)
    return wire.KillTrialResponse()


@route("POST", "/api/v1/trials/{trial_id}/early_exit")
async def report_early_exit(
    call: Call, request: wire.ReportTrialSearcherEarlyExitRequest
) -> wire.ReportTrialSearcherEarlyExitResponse:
    """User code says that the hyperparameters make no sense."""
    given = request.early_exit.reason if request.early_exit else None
    reason = EARLY_EXITS.get(given) if given else None
    if reason is None:
        raise InvalidArgument(
            f"early exit reason {given or 'UNSPECIFIED'} is unknown: use one of "
            + ", ".join(EARLY_EXITS)
        )
    await call.services.trials.report_early_exit(call.caller, request.trial_id, reason)
    return wire.ReportTrialSearcherEarlyExitResponse()


@route("POST", "/api/v1/trials/{trial_id}/progress")
async def report_progress(
    call: Call, request: wire.ReportTrialProgressRequest
) -> wire.ReportTrialProgressResponse:
    """How far the trial is, 0 to 1."""
    await call.services.trials.report_progress(call.caller, request.trial_id, request.progress)
    return wire.ReportTrialProgressResponse()


@route("POST", "/api/v1/trials/{trial_id}/runner/metadata")
async def post_runner_metadata(
    call: Call, request: wire.PostTrialRunnerMetadataRequest
) -> wire.PostTrialRunnerMetadataResponse:
    """What the trial's code says that it is doing."""
    text = request.metadata.state if request.metadata else ""
    await call.services.trials.report_status(call.caller, request.trial_id, text)
    return wire.PostTrialRunnerMetadataResponse()


@stream_route("GET", "/api/v1/trials/metrics/trial_metrics", wire.GetMetricsResponse)
async def get_metrics(
    call: Call, request: wire.GetMetricsRequest
) -> AsyncIterator[wire.GetMetricsResponse]:
    """Reports of one group; nothing without a group."""
    if request.trial_ids and not request.group:
        return
    async for page in _reports(call, request.trial_ids, request.group):
        yield wire.GetMetricsResponse(metrics=page)


@stream_route("GET", "/api/v1/trials/metrics/training_metrics", wire.GetTrainingMetricsResponse)
async def get_training_metrics(
    call: Call, request: wire.GetTrainingMetricsRequest
) -> AsyncIterator[wire.GetTrainingMetricsResponse]:
    """Reports of the training group."""
    async for page in _reports(call, request.trial_ids, "training"):
        yield wire.GetTrainingMetricsResponse(metrics=page)


@stream_route(
    "GET", "/api/v1/trials/metrics/validation_metrics", wire.GetValidationMetricsResponse
)
async def get_validation_metrics(
    call: Call, request: wire.GetValidationMetricsRequest
) -> AsyncIterator[wire.GetValidationMetricsResponse]:
    """Reports of the validation group."""
    async for page in _reports(call, request.trial_ids, "validation"):
        yield wire.GetValidationMetricsResponse(metrics=page)


async def _reports(
    call: Call, trial_ids: Sequence[int], group: str
) -> AsyncIterator[list[MetricsReport]]:
    async for page in call.services.metrics.stream(call.caller, sorted(trial_ids), group):
        yield [metrics_report(row) for row in page]


def _sorted(
    pages: list[TrialPage], request: experiment_wire.GetExperimentTrialsRequest
) -> list[TrialPage]:
    name = request.sort_by.removeprefix("SORT_BY_").lower()
    keys = {
        "start_time": lambda p: p.row.started_at,
        "end_time": lambda p: (p.row.ended_at is None, p.row.ended_at),
        "state": lambda p: p.shown_state,
        "batches_processed": lambda p: p.row.total_batches,
        "restarts": lambda p: p.row.restarts,
        "checkpoint_size": lambda p: p.row.checkpoint_size,
        "duration": lambda p: seconds_between(p.row.started_at, p.row.ended_at),
        "best_validation_metric": lambda p: (p.row.best_metric is None, p.row.best_metric),
        "latest_validation_metric": lambda p: (
            p.row.searcher_metric is None,
            p.row.searcher_metric,
        ),
    }
    descending = request.order_by is OrderBy.ORDER_BY_DESC
    return sorted(pages, key=keys.get(name, lambda p: p.row.id), reverse=descending)

"""Streams of an experiment's metrics: a message now, and one each period until it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator

from determined_master.api.http.access import on
from determined_master.api.http.protojson import raw_json
from determined_master.api.http.routes import Call, stream_route
from determined_master.api.http.task_use import READS
from determined_master.api.metrics.series import data_points, one_metric
from determined_master.domain.errors import InvalidArgument
from determined_master.services.metrics.series import Range, SeriesReads
from determined_wire.rest import experiments as wire
from determined_wire.rest.types.metric import MetricIdentifier

NAMES = "/api/v1/experiments/metrics-stream/metric-names"
STREAM = "/api/v1/experiments/{experiment_id}/metrics-stream"


@stream_route(
    "GET", NAMES, wire.ExpMetricNamesResponse, access=on("experiment", "ids"), in_task=READS
)
async def stream_metric_names(
    call: Call, request: wire.ExpMetricNamesRequest, series: SeriesReads
) -> AsyncIterator[wire.ExpMetricNamesResponse]:
    """Names of the metrics that experiments have reported."""
    if not request.ids:
        raise InvalidArgument("must specify at least one experiment id")
    async for names in series.names(call.caller, request.ids, request.period_seconds):
        metrics = names.metrics
        yield wire.ExpMetricNamesResponse(
            searcher_metrics=names.searcher,
            training_metrics=[m.name for m in metrics if m.group == "training"],
            validation_metrics=[m.name for m in metrics if m.group == "validation"],
            metric_names=[MetricIdentifier(group=m.group, name=m.name) for m in metrics],
        )


@stream_route(
    "GET",
    f"{STREAM}/batches",
    wire.MetricBatchesResponse,
    access=on("experiment", "experiment_id"),
    in_task=READS,
)
async def stream_batches(
    call: Call, request: wire.MetricBatchesRequest, series: SeriesReads
) -> AsyncIterator[wire.MetricBatchesResponse]:
    """Steps at which a metric was reported."""
    metric = one_metric(request.metric_name, request.metric_type, request.group)
    async for steps in series.steps(
        call.caller, request.experiment_id, metric, request.period_seconds
    ):
        yield wire.MetricBatchesResponse(batches=steps)


@stream_route(
    "GET",
    f"{STREAM}/trials-snapshot",
    wire.TrialsSnapshotResponse,
    access=on("experiment", "experiment_id"),
    in_task=READS,
)
async def stream_snapshot(
    call: Call, request: wire.TrialsSnapshotRequest, series: SeriesReads
) -> AsyncIterator[wire.TrialsSnapshotResponse]:
    """The value of a metric near some steps, of all trials."""
    metric = one_metric(request.metric_name, request.metric_type, request.group)
    around = (request.batches_processed, max(0, request.batches_margin))
    async for found in series.snapshot(
        call.caller, request.experiment_id, metric, around, request.period_seconds
    ):
        yield wire.TrialsSnapshotResponse(
            trials=[
                wire.TrialsSnapshotResponseTrial(
                    trial_id=row.trial_id,
                    hparams=raw_json(row.hparams),
                    metric=row.value,
                    batches_processed=row.steps,
                )
                for row in found
            ]
        )


@stream_route(
    "GET",
    f"{STREAM}/trials-sample",
    wire.TrialsSampleResponse,
    access=on("experiment", "experiment_id"),
    in_task=READS,
)
async def stream_sample(
    call: Call, request: wire.TrialsSampleRequest, series: SeriesReads
) -> AsyncIterator[wire.TrialsSampleResponse]:
    """Series of a metric, of the best trials."""
    metric = one_metric(request.metric_name, request.metric_type, request.group)
    part = Range(request.start_batches, request.end_batches, request.max_datapoints)
    async for sample in series.sample(
        call.caller,
        request.experiment_id,
        metric,
        (part, max(0, request.max_trials)),
        request.period_seconds,
    ):
        yield wire.TrialsSampleResponse(
            trials=[
                wire.TrialsSampleResponseTrial(
                    trial_id=t.trial_id,
                    hparams=None if t.hparams is None else raw_json(t.hparams),
                    data=data_points(t.points),
                )
                for t in sample.trials
            ],
            promoted_trials=sample.promoted,
            demoted_trials=sample.demoted,
        )

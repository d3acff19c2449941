"""Routes of system metrics, as profilers of older clients report and charts read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from determined_master.api.http.access import of_task, on
from determined_master.api.http.routes import Call, route, stream_route
from determined_master.api.http.task_use import READS, REPORTS
from determined_master.domain.errors import InvalidArgument
from determined_master.records.metrics import SeriesLabel, SystemSample
from determined_master.services.metrics.system_metrics import SystemMetrics
from determined_wire.rest import trials as wire
from determined_wire.rest.types.trial import (
    TrialProfilerMetricLabels,
    TrialProfilerMetricsBatch,
)
from determined_wire.rest.types.trial import (
    TrialProfilerMetricLabelsProfilerMetricType as MetricType,
)

GROUPS: dict[MetricType, str] = {
    MetricType.PROFILER_METRIC_TYPE_TIMING: "timing",
    MetricType.PROFILER_METRIC_TYPE_MISC: "misc",
    MetricType.PROFILER_METRIC_TYPE_SYSTEM: "system",
}
TYPES = {group: type_ for type_, group in GROUPS.items()}


@route(
    "POST",
    "/api/v1/trials/profiler/metrics",
    large_body=True,
    access=on("trial", "batches.labels.trial_id", "report", "task"),
    task=of_task("batches.labels.trial_id", "trial_id"),
    in_task=REPORTS,
)
async def post_profiler_metrics(
    call: Call, request: wire.PostTrialProfilerMetricsBatchRequest, system_metrics: SystemMetrics
) -> wire.PostTrialProfilerMetricsBatchResponse:
    """Samples of one or more series, of trials."""
    samples = [sample for batch in request.batches for sample in _samples(batch)]
    await system_metrics.report(call.caller, samples)
    return wire.PostTrialProfilerMetricsBatchResponse()


@stream_route(
    "GET",
    "/api/v1/trials/{trial_id}/profiler/available_series",
    wire.GetTrialProfilerAvailableSeriesResponse,
    access=on("trial", "trial_id"),
    in_task=READS,
)
async def get_available_series(
    call: Call, request: wire.GetTrialProfilerAvailableSeriesRequest, system_metrics: SystemMetrics
) -> AsyncIterator[wire.GetTrialProfilerAvailableSeriesResponse]:
    """The samples of a trial."""
    found = system_metrics.series(call.caller, request.trial_id, follow=request.follow)
    async for labels in found:
        yield wire.GetTrialProfilerAvailableSeriesResponse(
            labels=[_labels(request.trial_id, label) for label in labels]
        )


@stream_route(
    "GET",
    "/api/v1/trials/{labels.trial_id}/profiler/metrics",
    wire.GetTrialProfilerMetricsResponse,
    access=on("trial", "labels.trial_id"),
    in_task=READS,
)
async def get_profiler_metrics(
    call: Call, request: wire.GetTrialProfilerMetricsRequest, system_metrics: SystemMetrics
) -> AsyncIterator[wire.GetTrialProfilerMetricsResponse]:
    """The values of a trial's series that have these labels."""
    asked = request.labels or TrialProfilerMetricLabels()
    wanted = SeriesLabel(
        metric_group="", agent=asked.agent_id, part=asked.gpu_uuid, name=asked.name
    )
    found = system_metrics.points(call.caller, asked.trial_id, wanted, follow=request.follow)
    async for points in found:
        labels = _labels(asked.trial_id, points.label)
        if asked.metric_type not in (
            MetricType.PROFILER_METRIC_TYPE_UNSPECIFIED,
            labels.metric_type,
        ):
            continue
        yield wire.GetTrialProfilerMetricsResponse(
            batch=TrialProfilerMetricsBatch(
                values=points.values,
                batches=points.batches,
                timestamps=points.times,
                labels=labels,
            )
        )


def _labels(trial_id: int, label: SeriesLabel) -> TrialProfilerMetricLabels:
    return TrialProfilerMetricLabels(
        trial_id=trial_id,
        name=label.name,
        agent_id=label.agent,
        gpu_uuid=label.part,
        metric_type=TYPES.get(label.metric_group, MetricType.PROFILER_METRIC_TYPE_SYSTEM),
    )


def _samples(batch: TrialProfilerMetricsBatch) -> list[SystemSample]:
    labels = batch.labels
    if labels is None or not labels.name:
        raise InvalidArgument("a batch of samples must have labels with a name")
    counts = (len(batch.values), len(batch.timestamps), len(batch.batches))
    if counts[0] != counts[1] or counts[2] not in (0, counts[0]):
        raise InvalidArgument(
            f"a batch of {labels.name!r} has {counts[0]} values, {counts[1]} timestamps and "
            f"{counts[2]} batches: it needs as many of each"
        )
    samples = []
    for number, (value, at) in enumerate(zip(batch.values, batch.timestamps, strict=True)):
        metrics: dict[str, Any] = {labels.name: msgspec.to_builtins(value)}
        if labels.gpu_uuid:
            metrics = {labels.gpu_uuid: metrics}
        samples.append(
            SystemSample(
                trial_id=labels.trial_id,
                run_id=0,
                metric_group=GROUPS.get(labels.metric_type, "system"),
                batch=batch.batches[number] if batch.batches else 0,
                reported_at=at,
                metrics={labels.agent_id: metrics},
            )
        )
    return samples

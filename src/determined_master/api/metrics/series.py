"""Routes of metrics over steps, and of an experiment's best values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from determined_master.api.http.access import on
from determined_master.api.http.protojson import json_number, json_object, ready_list
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.metrics.summary import as_number
from determined_master.records.metrics import MetricName, PointRow
from determined_master.services.metrics.series import Range, SeriesReads, TrialSeries
from determined_wire.rest import experiments as experiment_wire
from determined_wire.rest import trials as wire
from determined_wire.rest.types.experiment import ValidationHistoryEntry
from determined_wire.rest.types.shared import DataPoint, MetricType
from determined_wire.rest.types.trial import Trial, TrialState

TYPES = {
    MetricType.METRIC_TYPE_TRAINING: "training",
    MetricType.METRIC_TYPE_VALIDATION: "validation",
    MetricType.METRIC_TYPE_PROFILING: "profiling",
}
TYPE_OF = {group: type_ for type_, group in TYPES.items()}


@route("GET", "/api/v1/trials/time-series", access=on("trial", "trial_ids"), in_task=READS)
async def compare_trials(
    call: Call, request: wire.CompareTrialsRequest, series: SeriesReads
) -> wire.CompareTrialsResponse:
    """Series of metrics of several trials, in a bounded number of points that keeps spikes."""
    part = Range(request.start_batches, request.end_batches, request.max_datapoints)
    found = await series.compare(call.caller, request.trial_ids, _metrics(request), part, _texts)
    return wire.CompareTrialsResponse(trials=[_comparable(one) for one in found])


@route(
    "GET",
    "/api/v1/experiments/{experiment_id}/validation-history",
    access=on("experiment", "experiment_id"),
    in_task=READS,
)
async def get_validation_history(
    call: Call, request: experiment_wire.GetExperimentValidationHistoryRequest, series: SeriesReads
) -> experiment_wire.GetExperimentValidationHistoryResponse:
    """Each validation that was the experiment's best until then."""
    found = await series.improvements(call.caller, request.experiment_id)
    return experiment_wire.GetExperimentValidationHistoryResponse(
        validation_history=[
            ValidationHistoryEntry(trial_id=t, end_time=_to_ms(at), searcher_metric=value)
            for t, at, value in found
        ]
    )


def data_points(points: Sequence[PointRow]) -> Sequence[DataPoint]:
    """Points as charts read them; as text, since there may be thousands."""
    return ready_list(DataPoint, msgspec.json.encode([_point(p) for p in points]))


def _texts(points: Sequence[PointRow]) -> list[bytes]:
    return [_ENCODER.encode(_point(p)) for p in points]


def one_metric(name: str, type_: MetricType, group: str) -> MetricName:
    """The one metric that a stream is about.

    Raises:
        InvalidArgument: the request names none, or no group.
    """
    if not name:
        raise InvalidArgument("must specify a metric name")
    chosen = group or TYPES.get(type_, "")
    if not chosen:
        raise InvalidArgument("must specify a metric type or group")
    return MetricName(chosen, name)


def _metrics(request: wire.CompareTrialsRequest) -> list[MetricName]:
    found = []
    for metric_id in request.metric_ids:
        group, dot, name = metric_id.partition(".")
        if not dot or not group or not name:
            raise InvalidArgument(f"metric id {metric_id!r} must have the form <group>.<name>")
        found.append(MetricName(group, name))
    chosen = request.group or TYPES.get(request.metric_type)
    groups = [chosen] if chosen else ["training", "validation"]
    return found + [MetricName(g, name) for name in request.metric_names for g in groups]


def _comparable(series: TrialSeries) -> wire.ComparableTrial:
    row = series.row
    trial = Trial(
        id=row.id,
        experiment_id=row.experiment_id,
        start_time=row.started_at,
        end_time=row.ended_at,
        state=TrialState[f"STATE_{row.state}"],
        restarts=row.restarts,
        hparams=row.hparams,
    )
    metrics = [
        wire.DownsampledMetrics(
            data=ready_list(DataPoint, points),
            type=TYPE_OF.get(group, MetricType.METRIC_TYPE_UNSPECIFIED),
            group=group,
        )
        for group, points in series.groups
    ]
    return wire.ComparableTrial(trial=trial, metrics=metrics)


_ENCODER = msgspec.json.Encoder()


class _Point(msgspec.Struct, omit_defaults=True):
    """A data point in the order and forms of its JSON."""

    batches: int
    values: Any
    time: str
    epoch: Any = None


def _point(point: PointRow) -> _Point:
    at = point.reported_at
    if at.tzinfo is not UTC:
        at = at.astimezone(UTC)
    time = at.isoformat(timespec="milliseconds")[:23].removesuffix(".000")
    values, epoch = json_object(point.metrics), as_number(point.epoch)
    return _Point(point.steps, values, f"{time}Z", None if epoch is None else json_number(epoch))


def _to_ms(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)

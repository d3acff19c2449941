"""The route of curves: metrics of several trials over their steps."""

from __future__ import annotations

import asyncio
from itertools import groupby

from determined_master.api.routes import Call, route
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.summary import as_number
from determined_master.services.trials import TrialPage
from determined_master.store.metric_series import PointRow, SeriesFilter
from determined_wire.rest import trials as wire
from determined_wire.rest.types.shared import DataPoint, MetricType
from determined_wire.rest.types.trial import Trial, TrialState

DEFAULT_POINTS = 1000
FEWEST_POINTS = 3
"""First, last, and one between them."""
TYPES = {
    "training": MetricType.METRIC_TYPE_TRAINING,
    "validation": MetricType.METRIC_TYPE_VALIDATION,
}


@route("GET", "/api/v1/trials/time-series")
async def get_time_series(
    call: Call, request: wire.CompareTrialsRequest
) -> wire.CompareTrialsResponse:
    """Metrics of trials over their steps; of each group at most `max_datapoints` reports."""
    names = _names_by_group(request)
    wanted = SeriesFilter(
        trial_ids=request.trial_ids,
        groups=list(names),
        names=sorted(set().union(*names.values())),
        start_steps=request.start_batches,
        end_steps=request.end_batches or None,
    )
    most = max(FEWEST_POINTS, request.max_datapoints or DEFAULT_POINTS)
    points = await call.services.metrics.series(call.caller, wanted, most)
    ids = sorted(set(request.trial_ids))
    pages = await asyncio.gather(*(call.services.trials.get(call.caller, i) for i in ids))
    return wire.CompareTrialsResponse(
        trials=[
            wire.ComparableTrial(
                trial=_trial(page),
                metrics=_series([p for p in points if p.trial_id == page.row.id], names),
            )
            for page in pages
        ]
    )


def _names_by_group(request: wire.CompareTrialsRequest) -> dict[str, set[str]]:
    """What is asked for, by `<group>.<name>` or by names of one group or of one kind."""
    found: dict[str, set[str]] = {}
    for metric_id in request.metric_ids:
        group, dot, name = metric_id.partition(".")
        if not dot:
            raise InvalidArgument(f"metric id {metric_id!r} must be written <group>.<name>")
        found.setdefault(group, set()).add(name)
    if request.metric_names:
        of_type = [group for group, kind in TYPES.items() if kind is request.metric_type]
        for group in [request.group] if request.group else of_type or list(TYPES):
            found.setdefault(group, set()).update(request.metric_names)
    if not found:
        raise InvalidArgument("must specify at least one metric: metric_ids or metric_names")
    return found


def _series(points: list[PointRow], names: dict[str, set[str]]) -> list[wire.DownsampledMetrics]:
    made = []
    for group, rows in groupby(points, key=lambda row: row.metric_group):
        data = [_point(row, names[group]) for row in rows if row.metrics.keys() & names[group]]
        if data:
            kind = TYPES.get(group, MetricType.METRIC_TYPE_UNSPECIFIED)
            made.append(wire.DownsampledMetrics(data=data, type=kind, group=group))
    return made


def _point(row: PointRow, names: set[str]) -> DataPoint:
    epoch = row.metrics.get("epoch")
    return DataPoint(
        batches=row.steps,
        values={name: row.metrics[name] for name in sorted(names & row.metrics.keys())},
        time=row.reported_at,
        epoch=as_number(epoch),
    )


def _trial(page: TrialPage) -> Trial:
    """Only what is stored of the trial itself; clients of curves read no more."""
    row = page.row
    return Trial(
        id=row.id,
        experiment_id=row.experiment_id,
        start_time=row.started_at,
        end_time=row.ended_at,
        state=TrialState[f"STATE_{page.shown_state}"],
        restarts=row.restarts,
        hparams=row.hparams,
    )

"""Routes of series for charts."""

from __future__ import annotations

from determined_master.api.http.access import on
from determined_master.api.http.protojson import ready
from determined_master.api.http.routes import Call, route
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.metrics.charts import HIGHEST, LOWEST, ChartAxis
from determined_master.records.metrics import MetricName
from determined_master.services.metrics.chart_answers import ChartQuery
from determined_master.services.metrics.charts import Charts, buckets_of
from determined_wire.ui import series as wire

AXES = ("batches", "time", "epochs")
METRIC = "metric:"


@route("POST", "/api/ui/v1/series", access=on("trial", "trial_ids"), body="*")
async def get_series(
    call: Call, request: wire.GetSeriesRequest, charts: Charts
) -> wire.GetSeriesResponse:
    """Series of metrics over an axis: every value, or buckets that keep the extremes."""
    metrics = [MetricName(metric.group, metric.name) for metric in request.metrics]
    wanted = ChartQuery(
        _axis(request),
        buckets_of(request.buckets, len(request.trial_ids) * len(metrics)),
        request.shares_places,
    )
    texts = await charts.read(call.caller, request.trial_ids, metrics, wanted)
    return wire.GetSeriesResponse(series=[ready(wire.ChartSeries, text) for text in texts])


def _axis(request: wire.GetSeriesRequest) -> ChartAxis:
    name = request.x or "batches"
    if name not in AXES and not (name.startswith(METRIC) and len(name) > len(METRIC)):
        raise InvalidArgument(f"x is {name!r}: it must be {', '.join(AXES)} or {METRIC}NAME")
    low = LOWEST if request.x_min is None else request.x_min
    high = HIGHEST if request.x_max is None else request.x_max
    if not low <= high:
        raise InvalidArgument(f"xMin is {low} and xMax is {high}: xMin must not be above xMax")
    return ChartAxis(name, low, high)

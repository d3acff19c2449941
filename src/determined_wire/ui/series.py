"""Messages of series for charts."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Double, DoubleValue, Int32, Message


class ChartMetric(Message, frozen=True):
    """A metric and its group."""

    group: str = ""
    name: str = ""


class GetSeriesRequest(Message, frozen=True):
    """Asks for the series of some metrics of some trials, over an axis."""

    trial_ids: Sequence[Int32] = ()
    metrics: Sequence[ChartMetric] = ()
    x: str = ""
    """`batches` (the default), `time`, `epochs` or `metric:NAME`."""
    x_min: DoubleValue | None = None
    x_max: DoubleValue | None = None
    buckets: Int32 = 0
    shares_places: bool = False
    """Series of a trial and group with the same places may be sent with those of one alone."""


class NonFinite(Message, frozen=True):
    """A value that is not finite, as text, and its place on the axis."""

    x: Double = 0
    value: str = ""


class ChartSeries(Message, frozen=True):
    """One series by columns; `min`, `max` and `n` are empty unless it is bucketed."""

    trial_id: Int32 = 0
    group: str = ""
    name: str = ""
    count: Int32 = 0
    bucketed: bool = False
    x: Sequence[Double] = ()
    last: Sequence[Double] = ()
    min: Sequence[Double] = ()
    max: Sequence[Double] = ()
    n: Sequence[Int32] = ()
    time: Sequence[Double] = ()
    non_finite: Sequence[NonFinite] = ()
    non_finite_count: Int32 = 0
    without_x: Int32 = 0
    places_of: str = ""
    """`x`, `n` and `time` are left out: those of this metric of the trial and group hold."""


class GetSeriesResponse(Message, frozen=True):
    """One series for each trial and metric."""

    series: Sequence[ChartSeries] = ()

"""Requests of charts, and the JSON of series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.metrics import charts as domain

if TYPE_CHECKING:
    from determined_master.domain.metrics.charts import ChartAxis, Columns
    from determined_master.records.metrics import SeriesRequest


class ChartQuery(msgspec.Struct, frozen=True):
    """An axis with its range, and most buckets of a series."""

    axis: ChartAxis
    buckets: int
    shares_places: bool = False
    """Whether series with the same places are sent with the places of the first alone."""


class _Chart(msgspec.Struct, frozen=True, rename="camel"):
    trial_id: int
    group: str
    name: str
    count: int
    bucketed: bool
    x: list[float]
    last: list[float]
    min: list[float]
    max: list[float]
    n: list[int]
    time: list[float]
    non_finite: list[dict[str, object]]
    non_finite_count: int
    without_x: int
    places_of: str


def encode(
    reports: SeriesRequest,
    name: str,
    columns: Columns,
    unusual: Sequence[tuple[float, float]] = (),
    unusual_count: int = 0,
    without: int = 0,
    places_of: str = "",
) -> bytes:
    """One series as JSON.

    Args:
        reports: whose they are.
        name: the metric.
        columns: its values.
        unusual: those that are not finite, each after its place.
        unusual_count: how many there are; more than these.
        without: how many have no place on the axis.
        places_of: the metric of the same group that has the same places, which are left out here.
    """
    count, is_bucketed, x, last, low, high, n, at = columns
    if places_of:
        x, n, at = [], [], []
    shown = [{"x": x, "value": domain.WORDS[domain.word_of(value)]} for x, value in unusual]
    chart = _Chart(
        *(reports.trial_id, reports.group, name, count, is_bucketed, x, last, low, high, n, at),
        *(shown, unusual_count, without, places_of),
    )
    return msgspec.json.encode(chart)

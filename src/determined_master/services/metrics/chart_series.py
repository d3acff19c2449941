"""The values of a chart's series as they are read, until they are columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from determined_master.domain.metrics import charts as domain
from determined_master.domain.metrics.charts import ChartAxis, ChartSpan, Columns, ValueBuckets
from determined_master.domain.metrics.columns import are_finite


class Series:
    """The values of one metric as they are collected."""

    def __init__(self) -> None:
        self.x: list[float] = []
        self.values: list[float] = []
        self.at: list[float] = []
        self.spans: list[ChartSpan] = []
        self.unusual: list[tuple[float, float]] = []
        """Values that are not finite, each after its place."""
        self.without = 0

    def add(self, rows: ReportRows, values: Sequence[object], axis: ChartAxis) -> None:
        """Add values of reports within the range of the axis."""
        for x, value, at in zip(rows.x, values, rows.at, strict=True):
            number = value if type(value) is float else domain.read_number(value)
            if number is None:
                continue
            if x is None:
                self.without += 1
            elif axis.low <= x <= axis.high:
                if number - number == 0:
                    self.x.append(x)
                    self.values.append(number)
                    self.at.append(at)
                else:
                    self.unusual.append((x, number))

    def join(self) -> bool:
        """Put single values among the spans; whether all lie in a row without overlaps."""
        self.spans += map(domain.span_of, self.x, self.values, self.at)
        if not domain.are_ordered(self.spans):
            self.spans.sort(key=lambda span: span[:2])
        return domain.are_ordered(self.spans)

    def columns(self, buckets: int) -> Columns:
        """The series as it is sent."""
        if self.spans:
            return domain.bucketed(self.spans, buckets)
        if any(a > b for a, b in itertools.pairwise(self.x)):
            order = sorted(range(len(self.x)), key=self.x.__getitem__)
            self.x, self.values, self.at = (
                [column[n] for n in order] for column in (self.x, self.values, self.at)
            )
        if domain.is_raw(len(self.x), buckets):
            return domain.raw_columns(self.x, self.values, self.at)
        return domain.value_columns(self.values, domain.buckets_of(self.x, self.at, buckets))


class ReportRows:
    """The places and times of reports; what all of their metrics share."""

    def __init__(self, x: Sequence[float | None], at: Sequence[float], axis: ChartAxis) -> None:
        self.x = x
        self.at = at
        self._buckets: ValueBuckets | None = None
        places = [place for place in x if place is not None]
        self.is_plain = (
            len(places) == len(x)
            and all(a <= b for a, b in itertools.pairwise(places))
            and (not places or (axis.low <= places[0] and places[-1] <= axis.high))
        )
        """Whether each report has a place in the range, in order."""

    def columns(self, values: list[Any], buckets: int, finite: int = 0) -> Columns | None:
        """The series of a metric that all of these reports have, all finite; else None.

        Most metrics are like that, and it takes a tenth of the time.

        Args:
            values: one for each report.
            buckets: most of them.
            finite: so many of the first values are known to be finite numbers.
        """
        if not self.is_plain:
            return None
        others = values[finite:]
        if not set(map(type, others)) <= {int, float} or not are_finite(others):
            return None
        x: list[Any] = list(self.x)
        if domain.is_raw(len(x), buckets):
            return domain.raw_columns(x, values, list(self.at))
        if self._buckets is None:
            self._buckets = domain.buckets_of(x, self.at, buckets)
        return domain.value_columns(values, self._buckets)

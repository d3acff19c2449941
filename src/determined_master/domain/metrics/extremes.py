"""The lowest and the highest values of a series, which a chart must show.

A series is divided into parts of so many reports, in the order of arrival. Each part keeps the two
extremes and their steps. A chart with fewer points merges the extremes of several parts, so it
shows outliers however long the series is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from determined_master.domain.metrics.summary import as_number

BLOCK_REPORTS = 1024
PART_REPORTS = 32
_LOW, _HIGH = itemgetter(0), itemgetter(1)


class Extremes(NamedTuple):
    """The lowest and highest number of a metric among some reports."""

    low: float
    high: float
    low_steps: int
    high_steps: int


Values = tuple[int, Mapping[str, Any]]
"""Steps and metrics of one report."""


def extremes_of(
    reports: Sequence[Values], part_reports: int = PART_REPORTS
) -> dict[str, list[Extremes]]:
    """The extremes of each part of a group's reports, by metric.

    NaN and other values that are not numbers are skipped; a part without a number is omitted.
    Cost: O(values), about two million a second.
    """
    found: dict[str, list[Extremes]] = {}
    for start in range(0, len(reports), part_reports):
        for name, part in _of_part(reports[start : start + part_reports]).items():
            low, low_steps, high, high_steps = part
            extremes = Extremes(_float(low), _float(high), low_steps, high_steps)
            found.setdefault(name, []).append(extremes)
    return found


def joined(parts: Sequence[Extremes]) -> Extremes:
    """The extremes of several parts together; the first of equal values.

    Raises:
        ValueError: there is no part.
    """
    low, high = min(parts, key=_LOW), max(parts, key=_HIGH)
    return Extremes(low.low, high.high, low.low_steps, high.high_steps)


def thinned(parts: Sequence[Extremes], buckets: int) -> set[int]:
    """Steps of the extremes of at most so many buckets, each of equally many consecutive parts."""
    each = max(1, -(-len(parts) // buckets))
    if each == 1:
        chosen: Iterable[Extremes] = parts
    else:
        chosen = (joined(parts[i : i + each]) for i in range(0, len(parts), each))
    steps: set[int] = set()
    for part in chosen:
        steps.add(part.low_steps)
        steps.add(part.high_steps)
    return steps


def _of_part(reports: Sequence[Values]) -> dict[str, list[Any]]:
    """Lowest number, its steps, highest and its steps by metric; the numbers are not converted."""
    known: dict[str, list[Any]] = {}
    for steps, metrics in reports:
        for name, value in metrics.items():
            kind = type(value)
            number = value if kind is float or kind is int else as_number(value)
            if number is None or number != number:
                continue
            before = known.get(name)
            if before is None:
                known[name] = [number, steps, number, steps]
            elif number < before[0]:
                before[0], before[1] = number, steps
            elif number > before[2]:
                before[2], before[3] = number, steps
    return known


def _float(number: float) -> float:
    """As a double; an infinity for an integer beyond the range of doubles."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")

"""Series as charts show them: buckets with the last value, the extremes and the number of values.

A long series is stored in parts of 32 reports, in the order of arrival. A part has all that a
bucket needs, so buckets are made of whole parts and no value is lost, however long the series is.
The values of a shorter one are read as columns (`columns.py`).
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from determined_master.domain.metrics.extremes import PART_REPORTS, Extremes, joined
from determined_master.domain.metrics.steps import StepCode
from determined_master.domain.metrics.summary import as_number

MAX_RAW = 2000
"""A series of at most so many values is sent as it is."""
WORDS = ("NaN", "Infinity", "-Infinity")
NUMBERS = (math.nan, math.inf, -math.inf)
"""By the same index."""

_PARTS = {"i": struct.Struct("<iiidddddii"), "q": struct.Struct("<qqidddddqq")}
_EXTREMES = {"i": struct.Struct("<12x2d24x2i"), "q": struct.Struct("<20x2d24x2q")}
"""Of a part the fields of its extremes alone."""
_UNUSUAL = {"i": struct.Struct("<idB"), "q": struct.Struct("<qdB")}


LOWEST, HIGHEST = -math.inf, math.inf


class ChartAxis(NamedTuple):
    """An axis, and its range with both ends."""

    name: str
    """`batches`, `time`, `epochs`, or `metric:NAME`."""
    low: float = LOWEST
    high: float = HIGHEST

    @property
    def is_stored(self) -> bool:
        """Whether blocks know it."""
        return self.name in ("batches", "time")


class Part(NamedTuple):
    """Consecutive finite values of a metric; times in unix seconds."""

    first_steps: int
    last_steps: int
    n: int
    low: float
    high: float
    last: float
    first_at: float
    last_at: float
    low_steps: int
    high_steps: int


class Unusual(NamedTuple):
    """A value that is not finite: its index in `WORDS`."""

    steps: int
    at: float
    word: int


ChartSpan = tuple[float, float, int, float, float, float, float]
"""Values between two places of the axis: first and last place, number, lowest, highest, the last
value and its time. A plain tuple: a long series has 30,000 of them."""


class Columns(NamedTuple):
    """A series by columns; `low`, `high` and `n` are empty where every value is there."""

    total: int
    is_bucketed: bool
    x: list[float]
    last: list[float]
    low: list[float]
    high: list[float]
    n: list[int]
    at: list[float]


Report = tuple[int, float, Mapping[str, Any]]
"""Steps, time (unix seconds) and metrics of one report."""


class Charted(NamedTuple):
    """A metric in a block; `reports` counts the reports that have it."""

    reports: int
    first_steps: int
    last_steps: int
    first_at: float
    last_at: float
    parts: list[Part]
    unusual: list[Unusual]

    @property
    def extremes(self) -> Extremes | None:
        """The lowest and the highest value; None if all are NaN."""
        extremes = [Extremes(p.low, p.high, p.low_steps, p.high_steps) for p in self.parts]
        extremes += infinities(self.unusual)
        return joined(extremes) if extremes else None


def infinities(unusual: Iterable[Unusual]) -> list[Extremes]:
    """The infinities among unusual values, which the extremes of no part have."""
    numbers = [(NUMBERS[one.word], one.steps) for one in unusual]
    return [Extremes(n, n, steps, steps) for n, steps in numbers if n == n]


def charts_of(reports: Sequence[Report]) -> dict[str, Charted]:
    """Parts and unusual values of each metric of a group's reports.

    Values that are not numbers are skipped.
    """
    found: dict[str, tuple[list[Part], list[Unusual]]] = {}
    for start in range(0, len(reports), PART_REPORTS):
        _add_part(found, reports[start : start + PART_REPORTS])
    return {name: _charted(*kept) for name, kept in found.items()}


def read_number(value: Any) -> float | None:
    """A value as a double, infinite beyond their range; None for what is no number."""
    try:
        return as_number(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def word_of(number: float) -> int:
    """The index in `WORDS` of a number that is not finite."""
    return 0 if number != number else 1 if number > 0 else 2


def is_raw(count: int, buckets: int) -> bool:
    """Whether so many values are sent as they are: buckets would not be smaller."""
    return count <= min(MAX_RAW, 2 * buckets)


def raw_columns(x: list[float], values: list[float], at: list[float]) -> Columns:
    """Every value: by place, with its time (unix seconds)."""
    return Columns(len(x), False, x, values, [], [], [], at)


def bucket_ends(x: Sequence[float], buckets: int) -> list[int]:
    """Where each bucket ends among values: at most so many of equal width, none empty.

    Args:
        x: places in order; shape (n,).
        buckets: at least 1.
    """
    if not x:
        return []
    start, width = x[0], x[-1] - x[0]
    scale = buckets / width if width > 0 else 0.0
    most = buckets - 1
    indexes = [min(int((place - start) * scale), most) for place in x]
    ends = [n for n, (a, b) in enumerate(itertools.pairwise(indexes), 1) if a != b]
    return [*ends, len(x)]


class ValueBuckets(NamedTuple):
    """Where values lie: the end, last place, number of values and last time of each bucket."""

    ends: list[int]
    x: list[float]
    n: list[int]
    at: list[float]


def buckets_of(x: Sequence[float], at: Sequence[float], buckets: int) -> ValueBuckets:
    """The buckets of values, which all metrics of the same reports share.

    Args:
        x: places in order; shape (n,).
        at: times (unix seconds); shape (n,).
        buckets: at least 1.
    """
    ends = bucket_ends(x, buckets)
    lasts = [end - 1 for end in ends]
    n = [b - a for a, b in itertools.pairwise([0, *ends])]
    return ValueBuckets(ends, [x[last] for last in lasts], n, [at[last] for last in lasts])


def value_columns(values: Sequence[float], buckets: ValueBuckets) -> Columns:
    """Single values in buckets."""
    ends, x, n, at = buckets
    parts = [values[a:b] for a, b in itertools.pairwise([0, *ends])]
    last = [values[end - 1] for end in ends]
    return Columns(len(values), True, x, last, list(map(min, parts)), list(map(max, parts)), n, at)


def span_of(x: float, value: float, at: float) -> ChartSpan:
    """A value as a span."""
    return x, x, 1, value, value, value, at


def are_ordered(spans: Sequence[ChartSpan]) -> bool:
    """Whether no two spans overlap, so that each bucket is a row of them."""
    return all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def bucketed(spans: Sequence[ChartSpan], buckets: int) -> Columns:
    """At most so many buckets of equal width, each of whole spans; empty ones are left out.

    Args:
        spans: shape (n,), by place, without overlaps.
        buckets: at least 1.

    Cost: O(n).
    """
    x: list[float] = []
    last: list[float] = []
    low: list[float] = []
    high: list[float] = []
    n: list[int] = []
    at: list[float] = []
    start = spans[0][0] if spans else 0.0
    width = spans[-1][1] - start if spans else 0.0
    scale = buckets / width if width > 0 else 0.0
    current = -1
    for _, end, size, least, most, value, time in spans:
        index = min(int((end - start) * scale), buckets - 1)
        if index != current:
            current = index
            x.append(end)
            last.append(value)
            low.append(least)
            high.append(most)
            n.append(size)
            at.append(time)
            continue
        x[-1], last[-1], at[-1] = end, value, time
        n[-1] += size
        if least < low[-1]:
            low[-1] = least
        if most > high[-1]:
            high[-1] = most
    return Columns(sum(n), True, x, last, low, high, n, at)


def pack_parts(parts: Iterable[Part], code: StepCode) -> bytes:
    """Parts as bytes, 60 each, or 76 with large steps."""
    packed = _PARTS[code]
    return b"".join(packed.pack(*part) for part in parts)


def unpack_parts(packed: bytes, code: StepCode) -> Iterable[tuple[Any, ...]]:
    """The inverse of `pack_parts`, as plain tuples in the order of a part's fields."""
    return _PARTS[code].iter_unpack(packed)


def unpack_extremes(packed: bytes, code: StepCode) -> Iterable[Extremes]:
    """The extremes of packed parts: half the cost of whole parts."""
    return map(Extremes._make, _EXTREMES[code].iter_unpack(packed))


def pack_unusual(unusual: Iterable[Unusual], code: StepCode) -> bytes:
    """Unusual values as bytes, 13 each, or 17 with large steps."""
    packed = _UNUSUAL[code]
    return b"".join(packed.pack(*one) for one in unusual)


def unpack_unusual(packed: bytes, code: StepCode) -> Iterable[Unusual]:
    """The inverse of `pack_unusual`."""
    return map(Unusual._make, _UNUSUAL[code].iter_unpack(packed))


def _add_part(
    found: dict[str, tuple[list[Part], list[Unusual]]], reports: Sequence[Report]
) -> None:
    open_: dict[str, list[Any]] = {}
    for steps, at, metrics in reports:
        for name, value in metrics.items():
            number = value if type(value) is float else read_number(value)
            if number is None:
                continue
            if number - number != 0:  # NaN and infinities
                kept = found.setdefault(name, ([], []))
                kept[1].append(Unusual(steps, at, word_of(number)))
                continue
            known = open_.get(name)
            if known is None:
                open_[name] = [steps, steps, 1, number, number, number, at, at, steps, steps]
            else:
                _extend(known, steps, number, at)
    for name, known in open_.items():
        found.setdefault(name, ([], []))[0].append(Part._make(known))


def _extend(known: list[Any], steps: int, number: float, at: float) -> None:
    known[2] += 1
    if number < known[3]:
        known[3], known[8] = number, steps
    elif number > known[4]:
        known[4], known[9] = number, steps
    if steps >= known[1]:
        known[1], known[5] = steps, number
    elif steps < known[0]:
        known[0] = steps
    if at >= known[7]:
        known[7] = at
    elif at < known[6]:
        known[6] = at


def _charted(parts: list[Part], unusual: list[Unusual]) -> Charted:
    steps = [s for p in parts for s in (p.first_steps, p.last_steps)]
    steps += [u.steps for u in unusual]
    times = [t for p in parts for t in (p.first_at, p.last_at)] + [u.at for u in unusual]
    return Charted(
        sum(p.n for p in parts) + len(unusual),
        min(steps),
        max(steps),
        min(times),
        max(times),
        parts,
        unusual,
    )

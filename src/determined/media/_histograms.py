"""Histograms: how often numbers fall into bins of equal width."""

from __future__ import annotations

import math
import sys
from typing import Any, List, NamedTuple, Tuple

from determined.media._values import Encoded, Media, as_list, json_of

MAX_BINS = 512
MAX_NUMBERS = 50_000_000
"""Numbers from which one histogram is made."""
_LARGEST = sys.float_info.max


class Histogram(Media):
    """How often numbers fall into bins of equal width.

    Args:
        values: numbers, a NumPy array or a tensor, of any shape. NaN and infinities are counted
            apart. At most `MAX_NUMBERS`.
        bins: how many, from 1 to `MAX_BINS`.

    Raises:
        TypeError: a value is no number.
        ValueError: there are no values, too many values, or a wrong number of bins.
    """

    def __init__(self, values: Any, bins: int = 64) -> None:
        if not isinstance(bins, int) or not 1 <= bins <= MAX_BINS:
            raise ValueError(f"bins is {bins!r}; it must be a whole number from 1 to {MAX_BINS}")
        tally = _of_array(values, bins) if hasattr(values, "__array__") else _of_list(values, bins)
        self.edges, self.counts, self.not_finite = tally

    def encode(self) -> Encoded:
        """JSON: `counts`, their `edges` (one more), and `notFinite`, a count."""
        value = {"edges": self.edges, "counts": self.counts, "notFinite": self.not_finite}
        return json_of("histogram", value)


class _Tally(NamedTuple):
    edges: List[float]
    counts: List[int]
    not_finite: int


def _of_array(values: Any, bins: int) -> _Tally:
    """As `_of_list`, without a Python object for each number."""
    import numpy

    if hasattr(values, "detach"):
        values = values.detach().cpu().double()
    array = numpy.asarray(values)
    if array.dtype.kind not in "buif":
        raise TypeError(f"a histogram takes numbers, got an array of type {array.dtype}")
    _check_count(array.size)
    numbers = array.astype("float64").ravel()
    finite = numbers[numpy.isfinite(numbers)]
    not_finite = int(numbers.size - finite.size)
    if not finite.size:
        return _Tally([0.0, 1.0], [0], not_finite)
    low, high = _range(float(finite.min()), float(finite.max()), bins)
    places = (finite / 2 - low / 2) / (high / 2 - low / 2) * bins
    counts = numpy.bincount(places.astype("int64").clip(0, bins - 1), minlength=bins)
    return _Tally(_edges(low, high, bins), counts.tolist(), not_finite)


def _of_list(values: Any, bins: int) -> _Tally:
    numbers = _numbers(values)
    finite = [number for number in numbers if math.isfinite(number)]
    not_finite = len(numbers) - len(finite)
    if not finite:
        return _Tally([0.0, 1.0], [0], not_finite)
    low, high = _range(min(finite), max(finite), bins)
    counts = [0] * bins
    for value in finite:
        place = (value / 2 - low / 2) / (high / 2 - low / 2) * bins
        counts[min(bins - 1, max(0, int(place)))] += 1
    return _Tally(_edges(low, high, bins), counts, not_finite)


def _numbers(values: Any) -> List[float]:
    numbers: List[float] = []
    waiting: List[Any] = [values]
    while waiting:
        value = as_list(waiting.pop())
        if isinstance(value, (list, tuple)):
            waiting.extend(reversed(value))
            continue
        if isinstance(value, (str, bytes)) or not hasattr(type(value), "__float__"):
            raise TypeError(
                f"a histogram takes numbers, got {type(value).__name__}: {value!r:.80}"
            )
        numbers.append(float(value))
        _check_count(len(numbers))
    _check_count(len(numbers))
    return numbers


def _check_count(count: int) -> None:
    if not count:
        raise ValueError("the histogram has no values; give it at least one number")
    if count > MAX_NUMBERS:
        raise ValueError(
            f"the histogram has more than {MAX_NUMBERS} values; give it a sample of them"
        )


def _range(low: float, high: float, bins: int) -> Tuple[float, float]:
    """The first and the last edge; values that are all equal get bins around them."""
    ulp = math.ulp(max(abs(low), abs(high), 1.0))
    if high / 2 - low / 2 > ulp * bins:  # halves: the whole range of floats must stay finite
        return low, high
    margin = max(0.5, ulp * bins * 4)
    return max(low - margin, -_LARGEST), min(high + margin, _LARGEST)


def _edges(low: float, high: float, bins: int) -> List[float]:
    half = high / 2 - low / 2
    return [min(low + half * (n / bins) + half * (n / bins), high) for n in range(bins)] + [high]

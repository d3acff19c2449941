"""How much each hyperparameter of a search matters for a metric.

A forest of extremely randomised regression trees predicts the metric's rank from hyperparameters.
The importance of a hyperparameter is its share of the variance that the trees' splits remove.
Ranks make the answer independent of the scale of metrics and of single outliers.
Source: Geurts et al. 2006, Machine Learning 63(1) 3-42; Louppe et al. 2013, NIPS 26.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal

import msgspec

ParameterKind = Literal["number", "log", "category", "constant"]
MAX_RUNS = 2000
MAX_PARAMETERS = 40
FEW_RUNS = 30
LEAST_RUNS = 4
TREES = 16
MAX_DEPTH = 8
LEAST_LEAF = 3
BINS = 32
LOG_RATIO = 100.0
"""Positive numbers that spread over so much are shown on a logarithmic axis."""


class Importance(msgspec.Struct, frozen=True):
    """One hyperparameter: its share of the explained variance, 0 to 1, and rank correlation."""

    name: str
    kind: ParameterKind
    importance: float
    correlation: float | None
    """Spearman's with a good metric; None for categories and constants."""
    values: int
    """How many distinct ones."""


class _Column(msgspec.Struct, frozen=True):
    name: str
    kind: ParameterKind
    bins: list[int]
    numbers: list[float] | None
    values: int


def importances(
    hparams: Sequence[Mapping[str, Any]],
    metrics: Sequence[float],
    *,
    smaller_is_better: bool,
    random: Random,
) -> list[Importance]:
    """The hyperparameters of runs, the most important first.

    Args:
        hparams: of each run; nested names are joined by dots; shape (n,), n at most `MAX_RUNS`.
        metrics: of each run, finite; shape (n,).
        smaller_is_better: the direction of the metric.
        random: seeded by the caller: the same seed gives the same answer.

    Cost: O(trees x depth x n x parameters), about a second for 2,000 runs and 40 parameters.
    """
    flat = [dict(_flattened(one)) for one in hparams]
    ranks = _ranks([-m for m in metrics] if smaller_is_better else metrics)
    columns = [_column(name, [f.get(name) for f in flat], ranks) for name in _chosen(flat)]
    gains = _gains([c.bins for c in columns], ranks, random)
    total = sum(gains)
    found = [
        Importance(
            column.name,
            column.kind,
            round(gain / total, 6) if total else 0.0,
            None if column.numbers is None else _correlation(column.numbers, ranks),
            column.values,
        )
        for column, gain in zip(columns, gains, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.importance, one.name))


def count_parameters(hparams: Sequence[Mapping[str, Any]]) -> int:
    """How many hyperparameters runs have, by their dotted names."""
    return len({name for one in hparams for name, _ in _flattened(one)})


def _flattened(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _flattened(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, inner


def _chosen(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    """At most `MAX_PARAMETERS` names: those with the most distinct values, by name."""
    values: dict[str, set[str]] = {}
    for one in flat:
        for name, value in one.items():
            values.setdefault(name, set()).add(repr(value))
    order = sorted(values, key=lambda name: (min(len(values[name]), 2) * -1, name))
    return sorted(order[:MAX_PARAMETERS])


def _column(name: str, values: Sequence[Any], ranks: Sequence[float]) -> _Column:
    distinct = {_text(v) for v in values}
    if len(distinct) < 2:
        return _Column(name, "constant", [0] * len(values), None, len(distinct))
    numbers = [_number(v) for v in values]
    known = [n for n in numbers if n is not None]
    if len(known) < len(numbers):
        return _Column(name, "category", _by_mean(values, ranks), None, len(distinct))
    low, high = min(known), max(known)
    kind: ParameterKind = "log" if low > 0 and high / low >= LOG_RATIO else "number"
    return _Column(name, kind, _by_rank(known), known, len(distinct))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    number = _number(value)
    return repr(number) if number is not None else json.dumps(value, sort_keys=True, default=str)


def _by_rank(numbers: Sequence[float]) -> list[int]:
    """Bins of about equally many values; equal numbers are in one bin."""
    ranks = _ranks(numbers)
    n = len(numbers)
    return [min(int((rank - 0.5) * BINS / n), BINS - 1) for rank in ranks]


def _by_mean(values: Sequence[Any], ranks: Sequence[float]) -> list[int]:
    """Bins of categories in the order of their mean rank; rare ones share the last bins."""
    texts = [_text(v) for v in values]
    sums: Counter[str] = Counter()
    counts = Counter(texts)
    for text, rank in zip(texts, ranks, strict=True):
        sums[text] += rank  # type: ignore[assignment]
    order = sorted(counts, key=lambda text: (sums[text] / counts[text], text))
    each = -(-len(order) // BINS)
    place = {text: n // each for n, text in enumerate(order)}
    return [place[text] for text in texts]


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    for n in range(1, len(order) + 1):
        if n == len(order) or values[order[n]] != values[order[start]]:
            mean = (start + n + 1) / 2
            for index in order[start:n]:
                ranks[index] = mean
            start = n
    return ranks


def _correlation(numbers: Sequence[float], ranks: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None where one of the two does not vary."""
    own = _ranks(numbers)
    mean = (len(ranks) + 1) / 2
    cross = sum((a - mean) * (b - mean) for a, b in zip(own, ranks, strict=True))
    size = math.sqrt(sum((a - mean) ** 2 for a in own) * sum((b - mean) ** 2 for b in ranks))
    return round(cross / size, 6) if size else None


def _gains(
    columns: Sequence[Sequence[int]], targets: Sequence[float], random: Random
) -> list[float]:
    """The variance that the splits at each column remove, over all trees."""
    gains = [0.0] * len(columns)
    if len(targets) < LEAST_RUNS or not columns:
        return gains
    everything = range(len(targets))
    for _ in range(TREES):
        # Without replacement: all of a few runs are needed.
        rows = random.sample(everything, max(LEAST_RUNS, math.ceil(0.8 * len(targets))))
        _grow(columns, targets, rows, MAX_DEPTH, random, gains)
    return gains


def _grow(
    columns: Sequence[Sequence[int]],
    targets: Sequence[float],
    rows: list[int],
    depth: int,
    random: Random,
    gains: list[float],
) -> None:
    best = _best_split(columns, targets, rows, random)
    if best is None:
        return
    gain, index, edge = best
    gains[index] += gain
    if depth <= 1:
        return
    column = columns[index]
    left = [row for row in rows if column[row] <= edge]
    right = [row for row in rows if column[row] > edge]
    for part in (left, right):
        if len(part) >= 2 * LEAST_LEAF:
            _grow(columns, targets, part, depth - 1, random, gains)


def _best_split(
    columns: Sequence[Sequence[int]], targets: Sequence[float], rows: list[int], random: Random
) -> tuple[float, int, int] | None:
    """The best of one random edge for each column: gain in squared error, column, edge."""
    values = [targets[row] for row in rows]
    total = sum(values)
    best: tuple[float, int, int] | None = None
    for index, column in enumerate(columns):
        bins = [column[row] for row in rows]
        low, high = min(bins), max(bins)
        if low == high:
            continue
        edge = random.randrange(low, high)
        gain = _gain(values, total, bins, edge)
        if gain > (0 if best is None else best[0]):
            best = (gain, index, edge)
    return best


def _gain(values: Sequence[float], total: float, bins: Sequence[int], edge: int) -> float:
    """The squared error that a split removes; 0 where a side would have too few rows."""
    part = [v for v, b in zip(values, bins, strict=True) if b <= edge]
    n, count = len(values), len(part)
    if count < LEAST_LEAF or n - count < LEAST_LEAF:
        return 0.0
    left = sum(part)
    right = total - left
    return left * left / count + right * right / (n - count) - total * total / n

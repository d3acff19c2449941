"""Requirements of a space for a grid search: a count on each range, and a reasonable size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sizes import ConfigLimits, remedy

_RANGES = ("int", "double", "log")


def check_grid(
    config: Mapping[str, Any], at: str, limits: ConfigLimits, report: ProblemReport
) -> None:
    """Report problems that prevent a grid search over a canonical space.

    A range inside a list needs a count too. A list is one constant, so a range in it is probably a
    mistake.
    """
    points = 1
    for path, spec in _leaves(config, at):
        kind = spec.get("type")
        if kind == "categorical":
            points *= max(1, len(spec.get("vals") or ()))
        elif kind in _RANGES:
            points *= _points(spec, path, report)
        elif kind == "const":
            for inner, lookalike in _within(spec.get("val"), path):
                _points(lookalike, inner, report)
    if points > limits.max_trials:
        text = f"the grid has {_counted(points)} points, {remedy('max_trials', limits.max_trials)}"
        report.problem(at, f"{text}; the random searcher tries some points of a large space")


def _points(spec: Mapping[str, Any], path: str, report: ProblemReport) -> int:
    """The number of points on the axis of a range."""
    count = spec.get("count")
    if count is None:
        if report.has_problem_at(f"{path}.count"):
            return 1  # one was given, and it is wrong
        text = "grid search is in use but count was not provided; add `count`"
        report.problem(path, text)
        return 1
    return min(count, _width(spec) or count) if spec.get("type") == "int" else int(count)


def _width(spec: Mapping[str, Any]) -> int | None:
    low, high = spec.get("minval"), spec.get("maxval")
    return high - low + 1 if isinstance(low, int) and isinstance(high, int) else None


def _leaves(config: Mapping[str, Any], at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, spec in config.items():
        if not isinstance(spec, Mapping):
            continue
        if "type" in spec:
            yield f"{at}.{name}", spec
        else:
            yield from _leaves(spec, f"{at}.{name}")


def _within(value: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Values in the lists of a constant that look like ranges."""
    for i, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, Mapping) and item.get("type") in _RANGES:
            yield f"{at}[{i}]", item
        else:
            yield from _within(item, f"{at}[{i}]")


def _counted(points: int) -> str:
    if points < 10**18:
        return f"{points:,}"
    return f"about 10^{int(math.log10(points))}"

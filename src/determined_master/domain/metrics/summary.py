"""Running summaries of a trial's metrics.

A summary maps group to metric to figures: `avg_metrics` for training, `validation_metrics`
for validation, the group's own name for any other. A number has count, sum, min, max, mean and
last; other values have only last; each has the type of its last value. Not-a-number and the
infinities are the texts that stand for them in JSON.

Count, sum, min, max and mean are those of the finite numbers, so that one NaN or text does not
hide them. `others` counts the values that were none, since the first number. A large last value
stays in its report alone: each list of trials carries the summaries.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from typing import Any

GROUP_KEYS = {"training": "avg_metrics", "validation": "validation_metrics"}
"""The keys of the two built-in groups; other groups use their own names."""

SYSTEM_GROUPS = frozenset({"cpu", "memory", "disk", "network", "gpu"})
"""Machine metrics, which have a time and no steps. They do not count as progress of a trial,
and a restarted run does not discard them."""

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}")

MAX_LAST = 4096
"""Characters and values of a last value, about: of a larger one, only the type is kept."""

_PLAIN = (float, int)
_MAX_FLOAT = sys.float_info.max

Summary = dict[str, dict[str, dict[str, Any]]]


def group_key(group: str) -> str:
    """The key of a group in summaries and stored reports."""
    return GROUP_KEYS.get(group, group)


def as_number(value: Any) -> float | None:
    """The value as a number, including texts that stand for numbers in JSON; None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    return NOT_FINITE.get(value) if isinstance(value, str) else None


def as_json(number: float) -> float | int | str:
    """The number in a form that JSON supports."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def add_report(summary: Summary, group: str, metrics: Mapping[str, Any]) -> None:
    """Add one report to a summary, in place.

    Args:
        summary: the summary of one trial, changed.
        group: the group as reported.
        metrics: values by name.
    """
    figures = summary.setdefault(group_key(group), {})
    for name, value in metrics.items():
        before = figures.get(name)
        kind = type(value)
        if (
            (kind is float or kind is int)
            and before is not None
            and type(before.get("sum")) in _PLAIN
            and _add_plain(before, value)
        ):
            continue
        figures[name] = _with_value(before or {}, value)


def kind_of(value: Any) -> str:
    """The type of a value that is not a number, as summaries name it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "date" if _DATE.match(value) else "string"
    return "array" if isinstance(value, list | tuple) else "object"


def _size(value: Any, most: int) -> int:
    """Characters of keys and texts in a value, and its other values; no further than `most`."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, dict | list | tuple):
        return 1
    size = len(value)
    for item in (*value, *value.values()) if isinstance(value, dict) else value:
        size += _size(item, most - size)
        if size > most:
            break
    return size


def _add_plain(figures: dict[str, Any], value: float) -> bool:
    """Add a finite number to figures with a finite sum, in place: the common case.

    Returns:
        False, and nothing is added, where the sum leaves the range of floating-point numbers.
    """
    try:
        total = figures["sum"] + value
    except OverflowError:  # a fraction and a whole number beyond that range
        return False
    if not -_MAX_FLOAT <= total <= _MAX_FLOAT:
        return False
    count = figures["count"] + 1
    figures["count"] = count
    figures["last"] = value
    figures["type"] = "number"
    figures["mean"] = total / count
    figures["sum"] = total
    if value > figures["max"]:
        figures["max"] = value
    if value < figures["min"]:
        figures["min"] = value
    return True


def _with_value(before: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """The figures after any value: the finite numbers stay, the others are counted."""
    number = as_number(value)
    kind = kind_of(value) if number is None else "number"
    is_kept = number is not None or _size(value, MAX_LAST) <= MAX_LAST
    figures = {**before, "last": value if is_kept else None, "type": kind}
    if number is not None and math.isfinite(number):
        return figures | _figures_with(before, number, value)
    if number is not None and "count" not in before:
        figures |= {"count": 0, "max": "NaN", "mean": "NaN", "min": "NaN", "sum": "NaN"}
    if "count" in figures:
        figures["others"] = figures.get("others", 0) + 1
    return figures


def _figures_with(before: Mapping[str, Any], number: float, value: Any) -> dict[str, Any]:
    """The figures of numbers that change with a finite number."""
    high, low = as_number(before.get("max")), as_number(before.get("min"))
    if high is None or low is None or not (math.isfinite(high) and math.isfinite(low)):
        figures = {"count": 1, "max": value, "mean": value, "min": value, "sum": value}
        # Figures of an earlier version counted values that made them NaN or infinite.
        others = before.get("others", 0) + before.get("count", 0)
        return figures | ({"others": others} if others else {})
    count = before["count"] + 1
    total = (as_number(before["sum"]) or 0.0) + number  # a sum of finite numbers may be infinite
    return {
        "count": count,
        "max": as_json(max(high, number)),
        "mean": as_json(total / count),
        "min": as_json(min(low, number)),
        "sum": as_json(total),
    }

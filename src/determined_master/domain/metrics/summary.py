"""Running summaries of a trial's metrics.

A summary maps group to metric to figures: `avg_metrics` for training, `validation_metrics`
for validation, the group's own name for any other. A number has count, sum, min, max, mean and
last; other values have only last; each has its type. Not-a-number and the infinities are the texts
that stand for them in JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

GROUP_KEYS = {"training": "avg_metrics", "validation": "validation_metrics"}
"""The keys of the two built-in groups; other groups use their own names."""

SYSTEM_GROUPS = frozenset({"cpu", "memory", "disk", "network", "gpu"})
"""Machine metrics, which have a time and no steps. They do not count as progress of a trial,
and a restarted run does not discard them."""

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}")

_PLAIN = (float, int)

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
        ):
            _add_plain(before, value)
            continue
        number = as_number(value)
        if number is None:
            figures[name] = {"last": value, "type": kind_of(value)}
        else:
            figures[name] = _with_number(before, number, value)


def kind_of(value: Any) -> str:
    """The type of a value that is not a number, as summaries name it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "date" if _DATE.match(value) else "string"
    return "array" if isinstance(value, list | tuple) else "object"


def _add_plain(figures: dict[str, Any], value: float) -> None:
    """Add a finite number to figures of finite numbers, in place: the common case."""
    count = figures["count"] + 1
    total = figures["sum"] + value
    figures["count"] = count
    figures["last"] = value
    figures["mean"] = total / count
    figures["sum"] = total
    if value > figures["max"]:
        figures["max"] = value
    if value < figures["min"]:
        figures["min"] = value


def _with_number(before: dict[str, Any] | None, number: float, value: Any) -> dict[str, Any]:
    if before is None or before["type"] != "number":
        return {
            "count": 1,
            "last": value,
            "max": value,
            "mean": value,
            "min": value,
            "sum": value,
            "type": "number",
        }
    count = before["count"] + 1
    total = (as_number(before["sum"]) or 0.0) + number
    high, low = as_number(before["max"]), as_number(before["min"])
    return {
        "count": count,
        "last": value,
        "max": as_json(_extreme(high, number, max)),
        "mean": as_json(total / count),
        "min": as_json(_extreme(low, number, min)),
        "sum": as_json(total),
        "type": "number",
    }


def _extreme(before: float | None, number: float, choose: Any) -> float:
    if before is None or math.isnan(before) or math.isnan(number):
        return math.nan
    return float(choose(before, number))

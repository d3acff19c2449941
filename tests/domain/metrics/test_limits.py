"""What one report may hold."""

from __future__ import annotations

from typing import Any

import pytest

from determined_master.domain.metrics.limits import (
    MAX_DEPTH,
    MAX_NAMES,
    MAX_TEXT,
    MAX_VALUES,
    find_problem,
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"loss": 0.5, "nested": {"a": [1, {"b": "NaN"}]}, "empty": [{}, []]},
        {"list": [0] * MAX_VALUES},
        {"n" * 1000: 1},
        {"é" * 500: 1},
        {"deep": nested(MAX_DEPTH)},
        {"text": "x" * MAX_TEXT},
        {"object": {f"{n:01000}": n for n in range(100)}},
        {"huge": 10**308, "low": -(10**308), "more": [10**308]},
    ],
)
def test_values_within_the_limits_are_accepted(metrics: dict[str, Any]) -> None:
    assert find_problem("validation", metrics) is None


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ({str(n): n for n in range(MAX_NAMES + 1)}, "10001 names of metrics in one trial: at"),
        ({"a": 1, "list": [0] * MAX_VALUES}, "100001 values in one report: at most"),
        ({"list": [0] * (MAX_VALUES + 1)}, "100001 values in one report"),
        ({"a": {"b": [[0] * 60_000, [0] * 60_000]}}, "120000 values in one report"),
        ({"é" * 501: 1}, "has 1002 bytes: at most 1000"),
        ({"deep": nested(MAX_DEPTH + 1)}, "metric 'deep' is nested deeper than 50 levels"),
        ({"loss": 1, "huge": 10**400}, "metric 'huge' has a number beyond 1.8e308"),
        ({"a": "x" * 40_000, "b": ["y" * 30_000]}, "70000 characters of text in one report: at"),
        ({"a": {"k" * 70_000: 1}}, "70000 characters of text"),
        ({"low": -(10**309)}, "metric 'low' has a number beyond"),
        ({"gpu": {"0": [1, {"x": 10**309}]}}, "metric 'gpu' has a number beyond"),
    ],
)
def test_an_exceeded_limit_is_named(metrics: dict[str, Any], told: str) -> None:
    assert told in str(find_problem("validation", metrics))


def test_values_of_batches_count_and_a_group_s_name_has_a_limit() -> None:
    batches = [{"loss": [0] * 1000}] * 101
    assert "101001 values" in str(find_problem("training", {"loss": 1}, batches))
    assert "has 1001 bytes" in str(find_problem("g" * 1001, {"loss": 1}))

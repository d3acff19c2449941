"""Summaries of metrics: finite numbers stay, whatever else is reported."""

from __future__ import annotations

from typing import Any

import pytest

from determined_master.domain.metrics.summary import MAX_LAST, Summary, add_report


def summary_of(*values: Any, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """The figures of a metric after these values."""
    summary: Summary = {"avg_metrics": {"loss": before}} if before is not None else {}
    for value in values:
        add_report(summary, "training", {"loss": value})
    return summary["avg_metrics"]["loss"]


def test_a_number_has_all_figures_and_no_others() -> None:
    assert summary_of(3, 1.0) == {
        "count": 2,
        "last": 1.0,
        "max": 3,
        "mean": 2.0,
        "min": 1.0,
        "sum": 4.0,
        "type": "number",
    }


@pytest.mark.parametrize("other", ["NaN", "Infinity", "-Infinity", "diverged", None, True, [1.0]])
@pytest.mark.parametrize("place", range(3))
def test_other_values_leave_the_figures_of_the_finite_numbers(other: Any, place: int) -> None:
    values: list[Any] = [3, 1.0]
    values.insert(place, other)
    figures = summary_of(*values)
    numbers = {name: figures[name] for name in ("count", "max", "mean", "min", "sum")}
    assert numbers == {"count": 2, "max": 3, "mean": 2.0, "min": 1.0, "sum": 4.0}
    assert figures["last"] == values[-1]
    is_counted = place > 0 or other in ("NaN", "Infinity", "-Infinity")
    assert figures.get("others", 0) == int(is_counted)


def test_the_type_is_that_of_the_last_value() -> None:
    assert summary_of(1, "late")["type"] == "string"
    assert summary_of(1, "late", 2)["type"] == "number"
    assert summary_of("early", 2)["type"] == "number"
    assert summary_of(1, "NaN")["type"] == "number"


def test_a_metric_without_numbers_has_its_last_value_alone() -> None:
    assert summary_of("a", "b") == {"last": "b", "type": "string"}


@pytest.mark.parametrize(
    "large",
    [
        "x" * (MAX_LAST + 1),
        [0.5] * (MAX_LAST + 1),
        {"k" * MAX_LAST: 1},
        [["x" * MAX_LAST], 1],
        {"a": [1] * MAX_LAST},
    ],
)
def test_a_large_last_value_stays_in_its_report(large: Any) -> None:
    figures = summary_of(large)
    assert figures["last"] is None
    assert figures["type"] in ("string", "array", "object")
    assert summary_of(large, 2.0)["last"] == 2.0
    assert summary_of(2.0, large)["sum"] == 2.0


def test_a_metric_that_was_never_finite_has_no_figures_yet() -> None:
    nothing = {"max": "NaN", "mean": "NaN", "min": "NaN", "sum": "NaN"}
    whole = {"count": 0, "last": "NaN", "others": 2, "type": "number", **nothing}
    assert summary_of("Infinity", "NaN") == whole
    assert summary_of("Infinity", "NaN", 2.0)["mean"] == 2.0


def test_figures_that_an_earlier_version_lost_begin_again() -> None:
    lost = {"max": "NaN", "mean": "NaN", "min": "NaN", "sum": "NaN"}
    before = {"count": 5, "last": 1.0, "type": "number", **lost}
    figures = summary_of(4.0, 2.0, before=before)
    assert (figures["count"], figures["mean"], figures["others"]) == (2, 3.0, 5)


@pytest.mark.parametrize("large", [1e308, int(1e308)])
@pytest.mark.parametrize("last", [-1e308, 0.5, 1])
def test_a_sum_may_leave_the_range_of_numbers(large: float, last: float) -> None:
    figures = summary_of(large, large, last)
    assert (figures["count"], figures["max"], figures["min"]) == (3, large, last)
    assert (figures["sum"], figures["mean"]) == ("Infinity", "Infinity")
    assert (figures["last"], figures.get("others", 0)) == (last, 0)

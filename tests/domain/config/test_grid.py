"""The size of a grid, and the counts that its axes need."""

from __future__ import annotations

from typing import Any

import pytest

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.grid import check_grid
from determined_master.domain.config.sizes import ConfigLimits

NO_COUNT = "grid search is in use but count was not provided; add `count`"
INT = {"type": "int", "minval": 1, "maxval": 4}
DOUBLE = {"type": "double", "minval": 0.0, "maxval": 1.0}


def problems(space: dict[str, Any], most: int = 10) -> list[tuple[str, str]]:
    report = ProblemReport()
    check_grid(space, "space", ConfigLimits(max_trials=most), report)
    return [(problem.path, problem.text) for problem in report.problems]


@pytest.mark.parametrize(
    ("space", "points"),
    [
        ({}, 1),
        ({"a": {"type": "categorical", "vals": [1, 2, 3]}}, 3),
        ({"a": {"type": "categorical", "vals": []}}, 1),
        ({"a": {"type": "categorical"}}, 1),
        ({"a": {"type": "const", "val": 7}, "b": 8}, 1),
        ({"a": {**INT, "count": 3}}, 3),
        ({"a": {**INT, "count": 9}}, 4),
        ({"a": {**INT, "minval": 4, "count": 9}}, 1),
        ({"a": {"type": "int", "minval": 1, "count": 9}}, 9),
        ({"a": {"type": "int", "maxval": 1, "count": 9}}, 9),
        ({"a": {**DOUBLE, "count": 9}}, 9),
        ({"a": {"type": "double", "minval": 1, "maxval": 2, "count": 9}}, 9),
        ({"a": {"type": "log", "minval": 1, "maxval": 2, "base": 10, "count": 9}}, 9),
        (
            {
                "text": "is no axis",
                "a": {"type": "categorical", "vals": [1, 2]},
                "g": {"h": {"b": {**INT, "count": 3}}},
                "c": {"type": "categorical", "vals": [1] * 5},
            },
            30,
        ),
    ],
)
def test_the_points_of_a_grid_are_the_product_of_its_axes(
    space: dict[str, Any], points: int
) -> None:
    assert problems(space, points) == []
    if points > 1:
        text = (
            f"the grid has {points} points, at most {points - 1} allowed: lower it, or ask an "
            "admin to raise config_limits.max_trials; the random searcher tries some points of a "
            "large space"
        )
        assert problems(space, points - 1) == [("space", text)]


@pytest.mark.parametrize(
    ("space", "paths"),
    [
        ({"a": INT, "b": {"c": DOUBLE}}, ["space.a", "space.b.c"]),
        ({"a": {"type": "log"}}, ["space.a"]),
        ({"a": {"type": "const", "val": [1, [2, INT], DOUBLE]}}, ["space.a[1][1]", "space.a[2]"]),
        ({"a": {"type": "const", "val": {"x": INT}}}, []),
        ({"a": {"type": "const", "val": [{**INT, "count": 1}, {"type": "const"}]}}, []),
    ],
)
def test_each_range_needs_a_count_also_in_a_list(space: dict[str, Any], paths: list[str]) -> None:
    assert problems(space) == [(path, NO_COUNT) for path in paths]


def test_a_wrong_count_is_reported_once_and_counts_as_one_point() -> None:
    report = ProblemReport()
    report.problem("space.a.count", "must be an int")
    space = {"a": INT, "b": {"type": "categorical", "vals": [1, 2]}}
    check_grid(space, "space", ConfigLimits(max_trials=2), report)
    assert [(p.path, p.text) for p in report.problems] == [("space.a.count", "must be an int")]
    report = ProblemReport()
    report.problem("space.b.count", "must be an int")
    check_grid(space, "space", ConfigLimits(max_trials=2), report)
    assert [p.path for p in report.problems] == ["space.a", "space.b.count"]


def test_a_missing_count_counts_as_one_point() -> None:
    space = {"a": INT, "b": {"type": "categorical", "vals": [1, 2]}}
    assert problems(space, 2) == [("space.a", NO_COUNT)]


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ([10**9, 10**9 - 1], "999,999,999,000,000,000"),
        ([10**9, 10**9], "about 10^18"),
        ([10**9, 10**9, 2], "about 10^18"),
        ([10**300] * 3, "about 10^900"),
    ],
)
def test_a_huge_grid_has_a_size_that_can_be_read(sizes: list[int], text: str) -> None:
    space = {f"a{n}": {**DOUBLE, "count": size} for n, size in enumerate(sizes)}
    [(_, found)] = problems(space)
    assert found.startswith(f"the grid has {text} points, at most 10 allowed")

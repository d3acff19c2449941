from itertools import product

import pytest
from tests.covers import covers
from tests.domain.search.builders import creates, grid

from determined_master.domain.config.sections.hyperparameters import (
    Categorical,
    Const,
    Double,
    Hyperparameter,
    Int,
    LogScale,
    Nested,
)
from determined_master.domain.search.grid import GridPoints
from determined_master.domain.search.method import SearchError, TrialCount, build
from determined_master.domain.search.simulate import SearchRun


def values(spec: Hyperparameter) -> list:
    points = GridPoints({"x": spec})
    return [points[i]["x"] for i in range(len(points))]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (Const([1, 2]), [[1, 2]]),
        (Categorical(vals=("b", "a")), ["b", "a"]),
        (Int(minval=0, maxval=20, count=3), [0, 10, 20]),
        (Int(minval=0, maxval=4, count=5), [0, 1, 2, 3, 4]),
        (Int(minval=0, maxval=4, count=50), [0, 1, 2, 3, 4]),
        (Int(minval=0, maxval=5, count=1), [3]),
        (Int(minval=-5, maxval=0, count=1), [-3]),
        (Int(minval=0, maxval=5, count=3), [0, 3, 5]),
        (Int(minval=-5, maxval=0, count=3), [-5, -3, 0]),
        (Double(minval=0, maxval=1, count=1), [0.5]),
        (Double(minval=0, maxval=1, count=3), [0, 0.5, 1]),
    ],
)
@covers("experiment-config 8.const 8.categorical 8.int 8.double 8.examples")
def test_points_of_one_hyperparameter(spec: Hyperparameter, expected: list) -> None:
    assert values(spec) == expected


@covers("experiment-config 8.log 8.examples")
def test_log_points_are_even_in_the_exponent() -> None:
    assert values(LogScale(minval=-5, maxval=-1, base=10, count=3)) == pytest.approx(
        [1e-5, 1e-3, 0.1]
    )
    assert values(LogScale(minval=-4, maxval=-2, base=10, count=1)) == pytest.approx([1e-3])


def test_the_ends_of_a_range_are_exact() -> None:
    assert values(Double(minval=0.1, maxval=0.7, count=7))[-1] == 0.7


@covers("experiment-config 8.axes 8.order")
def test_axes_are_sorted_by_name_and_the_last_varies_fastest() -> None:
    points = GridPoints(
        {
            "z": Categorical(vals=("p", "q")),
            "m": Nested(children={"b": Categorical(vals=(1, 2)), "a": Categorical(vals=(3, 4))}),
            "k": Nested(children={}),
        }
    )
    assert [points[i] for i in range(len(points))] == [
        {"k": {}, "m": {"a": a, "b": b}, "z": z} for a, b, z in product((3, 4), (1, 2), "pq")
    ]


@covers("experiment-config 8.order")
def test_the_first_trial_is_the_last_point() -> None:
    run = SearchRun(build(grid(max_concurrent_trials=2), {"x": Categorical(vals=(1, 2, 3, 4))}, 9))
    assert [c.hparams["x"] for c in creates(run.start().actions)] == [4, 3]
    assert [c.hparams["x"] for c in creates(run.end(run.open_trials[0], "clean").actions)] == [2]


@covers("experiment-config 8.concurrency 6.grid")
def test_an_invalid_point_is_not_tried_again() -> None:
    run = SearchRun(build(grid(), {"x": Categorical(vals=(1, 2, 3, 4))}, 9))
    run.start()
    while run.open_trials:
        run.end(run.open_trials[0], "invalid_hp")
    assert sorted(t.create.hparams["x"] for t in run.trials.values()) == [1, 2, 3, 4]


def test_a_million_points_are_never_listed() -> None:
    space = {f"h{i}": Int(minval=0, maxval=9, count=10) for i in range(6)}
    method = build(grid(), space, 1)
    assert method.preview() == (TrialCount(1_000_000),)
    assert creates(method.initial().actions)[0].hparams == {f"h{i}": 9 for i in range(6)}
    assert GridPoints(space)[123456] == {f"h{i}": i + 1 for i in range(6)}


def test_a_range_without_a_count_is_refused_by_name() -> None:
    with pytest.raises(SearchError, match=r"hyperparameter opt\.lr has no count"):
        build(grid(), {"opt": Nested(children={"lr": Double(minval=0, maxval=1)})}, 1)


@covers("experiment-config 8.empty")
def test_no_hyperparameters_make_no_trials() -> None:
    assert build(grid(), {}, 1).initial().actions == ()


@covers("experiment-config 8.concurrency 5.max_concurrent_trials 6.grid")
def test_no_limit_starts_every_point() -> None:
    method = build(grid(max_concurrent_trials=0), {"x": Int(minval=1, maxval=9, count=9)}, 1)
    assert len(method.initial().actions) == 9

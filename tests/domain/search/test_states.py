"""States that older releases stored, methods that are gone, and the bounds of progress."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.domain.search.builders import SPACE, adaptive, creates, grid, halving, random

from determined_master.domain.config.sections.hyperparameters import (
    Categorical,
    Double,
    Int,
    LogScale,
    Nested,
)
from determined_master.domain.search.decision import Create, SearchError, unit_interval
from determined_master.domain.search.grid import GridPoints, GridSearch
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.method import build
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.domain.search.removed import RemovedSearch
from determined_master.domain.search.simulate import (
    SearchRun,
    SimulatedReport,
    Training,
    simulate,
)

NO_MEMORY = SearchMemory()


@pytest.mark.parametrize("searcher", [random(max_trials=6), grid()], ids=["random", "grid"])
def test_a_state_without_the_trials_that_are_due_has_none(searcher: Any) -> None:
    """Releases before the portions stored no `due`."""
    method = build(searcher, SPACE, 1)
    state = method.initial().state
    older = {key: value for key, value in state.items() if key != "due"}
    assert state["due"] == 0
    for now in (state, older):
        decision = method.trial_ended(now, NO_MEMORY, "x", "clean")
        assert len(creates(decision.actions)) == 1
        assert (decision.state["due"], decision.has_more) == (0, False)
    assert method.create_more(older, NO_MEMORY) == method.create_more(state, NO_MEMORY)
    assert method.create_more(older, NO_MEMORY).actions == ()


@pytest.mark.parametrize("searcher", [random(max_trials=4), grid()], ids=["random", "grid"])
def test_a_search_whose_trials_are_all_created_creates_no_more(searcher: Any) -> None:
    method = build(searcher, SPACE, 1)
    state = method.initial().state
    finished = {**state, "left": 0, "created": 4}
    decision = method.trial_ended(finished, NO_MEMORY, "x", "clean")
    assert (decision.actions, decision.has_more, decision.state) == ((), False, finished)
    waiting = {**finished, "left": 2, "created": 2, "due": 2}
    decision = method.trial_ended(waiting, NO_MEMORY, "x", "clean")
    assert (decision.actions, decision.has_more, decision.state) == ((), True, waiting)
    one_due = {**finished, "left": 1, "created": 3, "due": 1}
    assert method.trial_ended(one_due, NO_MEMORY, "x", "clean").has_more


def test_the_first_draw_of_a_search_is_the_first_word_of_its_stream() -> None:
    """The position counts words, so equal seeds give equal ids in every method."""
    space = {"x": Categorical(vals=("a",))}
    ids = {
        creates(build(searcher, space, 9).initial().actions)[0].request_id
        for searcher in (grid(), random(), halving(), adaptive())
    }
    assert len(ids) == 1


def test_a_removed_method_says_so_whatever_it_is_asked_and_shows_no_progress() -> None:
    method = RemovedSearch("pbt")
    assert method.progress(None, NO_MEMORY, 0.7) == 0.0
    for call in (
        method.initial,
        method.preview,
        lambda: method.create_more(None, NO_MEMORY),
        lambda: method.trial_ended(None, NO_MEMORY, "x", "clean"),
        lambda: method.validation_completed(None, NO_MEMORY, "x", 1.0, 1.0, ()),
    ):
        with pytest.raises(SearchError) as caught:
            call()
        assert str(caught.value) == (
            "the search method pbt has been removed: this experiment's search cannot continue; "
            "start a new experiment with another searcher"
        )


@pytest.mark.parametrize(
    ("value", "expected"),
    [(-1, 0), (0, 0), (0.5, 0.5), (1, 1), (1.5, 1), (math.nan, 0), (math.inf, 0)],
)
def test_progress_lies_between_nothing_and_all(value: float, expected: float) -> None:
    assert unit_interval(value) == expected


def test_the_progress_of_brackets_is_their_mean() -> None:
    run = SearchRun(build(adaptive(max_rungs=3, max_trials=20), SPACE, 1))
    members = [row for row in run.start().records if isinstance(row, BracketMember)]
    brackets = [bracket.trials for bracket in run.method._brackets]  # type: ignore[attr-defined]
    assert len(brackets) == 2
    first = next(m.request_id for m in members if m.bracket == 0)
    run.validate(first, 1.0, 4)
    done = run.method.progress(run.state, run.memory, 0)
    assert done == pytest.approx(1 / (1.2 * brackets[0]) / 2)


def test_closed_trials_count_when_all_have_reached_the_first_rung_and_invalid_ones_never() -> None:
    run = SearchRun(build(halving(max_trials=2, max_concurrent_trials=2), SPACE, 1))
    run.start()
    a, b = run.open_trials
    run.validate(a, 1.0, 4)
    run.end(a, "invalid_hp")
    assert run.method.progress(run.state, run.memory, 0) == 0
    run.validate(b, 1.0, 64)
    c = next(trial for trial in run.open_trials if trial != b)
    run.validate(c, 2.0, 4)
    assert run.method.progress(run.state, run.memory, 0) == pytest.approx(1 / 1.2)
    run.end(b, "clean")
    assert run.method.progress(run.state, run.memory, 0) == pytest.approx(1 / 1.2)
    run.end(c, "clean")
    assert run.method.progress(run.state, run.memory, 0) == 1


def test_entries_of_rungs_are_numbered_in_the_order_of_the_search() -> None:
    run = SearchRun(build(halving(), SPACE, 1))
    run.start()
    numbers: list[int] = []
    for metric, trial in enumerate(run.open_trials):
        decision = run.validate(trial, float(metric), 16)
        numbers += [row.seq for row in decision.records if isinstance(row, RungEntry)]
        run.method.create_more(run.state, run.memory)
    assert numbers == list(range(len(numbers)))
    assert run.state["entries"] == len(numbers)
    assert run.method.create_more(run.state, run.memory).state == run.state


def test_a_grid_has_the_points_from_zero_to_its_size() -> None:
    points = GridPoints({"x": Int(minval=1, maxval=3, count=3)})
    assert [points[i] for i in range(len(points))] == [{"x": 1}, {"x": 2}, {"x": 3}]
    for index in (-1, 3):
        with pytest.raises(IndexError, match=f"^a grid of 3 points has no point {index}$"):
            points[index]


def test_a_large_grid_needs_no_memory() -> None:
    space = {"x": Int(minval=1, maxval=10**9, count=10**9)}
    assert GridSearch(space, 1, max_concurrent_trials=1).preview()[0].count == 10**9


@pytest.mark.parametrize(
    "spec",
    [
        Int(minval=0, maxval=1),
        Double(minval=0, maxval=1),
        LogScale(minval=0, maxval=1, base=10),
    ],
)
def test_a_range_of_any_kind_without_a_count_is_refused_by_its_whole_name(spec: Any) -> None:
    with pytest.raises(SearchError) as caught:
        GridPoints({"opt": Nested(children={"lr": spec})})
    assert str(caught.value) == (
        "hyperparameter opt.lr has no count; a grid search needs one for every int, double and "
        "log hyperparameter"
    )


def test_the_last_point_of_an_axis_is_its_upper_end_exactly() -> None:
    points = GridPoints({"x": Double(minval=0.1, maxval=0.7, count=4)})
    assert points[0] == {"x": 0.1}
    assert points[3] == {"x": 0.7}


def test_the_middle_of_whole_numbers_is_rounded_away_from_zero() -> None:
    def middle(low: int, high: int) -> int:
        return int(GridPoints({"x": Int(minval=low, maxval=high, count=1)})[0]["x"])

    assert [middle(0, 1), middle(-1, 0), middle(-1, 1), middle(1, 2), middle(0, 2)] == [
        1,
        -1,
        0,
        2,
        1,
    ]


def test_each_report_of_a_simulation_is_shown_before_the_method_sees_it() -> None:
    seen: list[tuple[float, str, float]] = []
    started: list[Create] = []

    def train(create: Create) -> Training:
        started.append(create)
        return Training([SimulatedReport(2.0, 1, 0.5), SimulatedReport(3.0, 2, 0.25)])

    method = build(random(max_trials=2, max_concurrent_trials=1), {}, 1)
    done = simulate(method, train, 1, lambda at, id, report: seen.append((at, id, report.metric)))
    a, b = (create.request_id for create in started)
    assert seen == [(2.0, a, 0.5), (5.0, a, 0.25), (7.0, b, 0.5), (10.0, b, 0.25)]
    assert [(t.started_s, t.ended_s, t.reports) for t in done.trials] == [(0, 5, 2), (5, 10, 2)]

import math

import pytest
from tests.covers import covers
from tests.domain.search.builders import SPACE, adaptive, creates, halving

from determined_master.domain.search.asha import FAILED, async_bracket
from determined_master.domain.search.method import SearchDecision, SearchError, Stop, build
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.domain.search.simulate import SearchRun


def start(**overrides) -> SearchRun:
    """One bracket with thresholds 4, 16, 64 and a divisor of 4."""
    fields = {"max_trials": 100, "max_concurrent_trials": 16} | overrides
    run = SearchRun(build(halving(**fields), SPACE, 1))
    run.start()
    return run


def entries(decision: SearchDecision) -> list[tuple[int, float, bool]]:
    rows = [row for row in decision.records if isinstance(row, RungEntry)]
    return [(row.rung, row.metric, row.stopped) for row in rows]


def stopped(decision: SearchDecision) -> bool:
    return any(isinstance(action, Stop) for action in decision.actions)


@covers("experiment-config 7.7")
def test_a_report_before_the_first_rung_changes_nothing() -> None:
    run = start()
    state = run.state
    assert run.validate(run.open_trials[0], 1.0, 3.99) == SearchDecision(state)


@covers("experiment-config 7.7")
def test_time_is_truncated_to_whole_units() -> None:
    run = start()
    a, b = run.open_trials[:2]
    assert entries(run.validate(a, 1.0, 4.9)) == [(0, 1.0, False)]
    assert entries(run.validate(b, 0.5, 15.9)) == [(0, 0.5, False)]


@covers("experiment-config 7.7")
def test_one_report_may_clear_several_rungs() -> None:
    run = start()
    trial = run.open_trials[0]
    assert entries(run.validate(trial, 1.0, 16)) == [(0, 1.0, False), (1, 1.0, False)]
    assert run.memory.member(trial).rung == 2


@covers("experiment-config 7.7 7.8")
def test_the_top_rung_stops_a_trial_and_makes_room_for_another() -> None:
    run = start()
    trial = run.open_trials[0]
    decision = run.validate(trial, 1.0, 64)
    assert entries(decision) == [(0, 1.0, False), (1, 1.0, False), (2, 1.0, True)]
    assert decision.actions[0] == Stop(trial)
    assert len(creates(decision.actions)) == 1


@covers("experiment-config 7.7")
def test_the_best_quarter_of_a_rung_continues_with_the_newcomer_counted() -> None:
    run = start(divisor=4)
    verdicts = [stopped(run.validate(t, m, 4)) for m, t in enumerate(run.open_trials[:8])]
    # each is worse than all before: only the first is in the best quarter, rounded up to one
    assert verdicts == [False] + [True] * 7
    # of nine and of ten two continue: 0.5 is the second best, 0.7 only the third
    assert not stopped(run.validate(run.open_trials[8], 0.5, 4))
    assert stopped(run.validate(run.open_trials[9], 0.7, 4))


@covers("experiment-config 7.7")
def test_among_equals_the_latest_goes_ahead() -> None:
    run = start()
    assert [stopped(run.validate(t, 1.0, 4)) for t in run.open_trials[:8]] == [False] * 8


def test_nan_goes_behind_everything_even_infinity() -> None:
    run = start()
    a, b, c, d = run.open_trials[:4]
    first = run.validate(a, math.nan, 4)
    assert entries(first) == [(0, math.inf, False)]  # alone, it is the best of its rung
    assert stopped(run.validate(b, math.nan, 4))
    assert not stopped(run.validate(c, math.inf, 4))  # ties with what came before: ahead
    assert not stopped(run.validate(d, 5.0, 4))


def test_infinite_metrics_are_ordered_like_numbers() -> None:
    run = start()
    a, b, c = run.open_trials[:3]
    assert not stopped(run.validate(a, 1.0, 4))
    assert stopped(run.validate(b, math.inf, 4))
    assert not stopped(run.validate(c, -math.inf, 4))


@covers("experiment-config 7.after_stop 7.never_resumed")
def test_a_report_after_the_verdict_changes_nothing() -> None:
    run = start()
    a, b = run.open_trials[:2]
    run.validate(a, 1.0, 4)
    run.validate(b, 2.0, 4)
    state = run.state
    assert run.validate(b, 0.1, 64) == SearchDecision(state)


@covers("experiment-config 7.8")
def test_a_stop_creates_no_trial_once_all_are_made() -> None:
    run = start(max_trials=2, max_concurrent_trials=2)
    decision = run.validate(run.open_trials[0], 1.0, 64)
    assert stopped(decision)
    assert creates(decision.actions) == []


def test_the_clean_end_of_a_stopped_trial_adds_nothing() -> None:
    run = start()
    trial = run.open_trials[0]
    run.validate(trial, 1.0, 64)
    decision = run.end(trial, "clean")
    assert (decision.actions, decision.records) == ((), ())


@covers("experiment-config 7.9")
def test_a_trial_that_leaves_by_itself_makes_room_for_another() -> None:
    run = start()
    trial = run.open_trials[0]
    decision = run.end(trial, "clean")
    assert len(creates(decision.actions)) == 1
    assert decision.records[0] == BracketMember(0, trial, state="closed")
    assert run.validate(trial, 1.0, 64) == SearchDecision(run.state)


@pytest.mark.parametrize("end", ["errored", "user_canceled"])
@covers("experiment-config 7.10")
def test_a_failed_trial_takes_the_last_place_of_its_rung_and_is_replaced(end) -> None:
    run = start()
    trial = run.open_trials[0]
    run.validate(trial, 1.0, 4)
    decision = run.end(trial, end)
    assert entries(decision) == [(1, FAILED, True)]
    assert len(creates(decision.actions)) == 1
    assert not stopped(decision)


def test_a_stopped_trial_that_fails_is_not_replaced_twice() -> None:
    run = start()
    trial = run.open_trials[0]
    run.validate(trial, 1.0, 64)
    decision = run.end(trial, "errored")
    assert (decision.actions, decision.records) == ((), ())


@covers("experiment-config 7.10")
def test_an_invalid_trial_leaves_its_rungs_and_is_replaced() -> None:
    run = start(max_trials=3, max_concurrent_trials=3)
    a, b, _ = run.open_trials
    run.validate(a, 1.0, 16)
    run.validate(b, 2.0, 4)
    decision = run.end(a, "invalid_hp")
    assert len(creates(decision.actions)) == 1
    assert run.memory.rung(0, 0) == [2.0]
    assert run.memory.rung(0, 1) == []


def test_a_stopped_trial_that_turns_out_invalid_is_replaced_once() -> None:
    run = start(max_trials=2, max_concurrent_trials=2)
    trial = run.open_trials[0]
    run.validate(trial, 1.0, 64)
    assert len(creates(run.end(trial, "invalid_hp").actions)) == 1

    run = start(max_trials=9, max_concurrent_trials=2)
    trial = run.open_trials[0]
    run.validate(trial, 1.0, 64)
    assert creates(run.end(trial, "invalid_hp").actions) == []


@pytest.mark.parametrize(
    ("metric", "time", "words"),
    [
        (None, 4.0, "needs 'loss' as a number .* reported accuracy, steps"),
        (1.0, None, "needs 'batches' as a number .* reported accuracy, steps"),
        (None, None, "needs 'loss' and 'batches'"),
        (1.0, math.nan, "'batches' as a finite number .* reported nan"),
    ],
)
@covers("experiment-config 7.7")
def test_a_report_without_what_is_needed_names_it_and_what_was_reported(
    metric, time, words
) -> None:
    run = start()
    with pytest.raises(SearchError, match=words):
        run.method.validation_completed(
            run.state, run.memory, run.open_trials[0], metric, time, ("accuracy", "steps")
        )


def test_a_report_without_any_metric_says_so() -> None:
    run = start()
    with pytest.raises(SearchError, match="reported no metrics"):
        run.method.validation_completed(run.state, run.memory, run.open_trials[0], None, None, ())


def test_a_trial_of_no_search_is_the_callers_mistake() -> None:
    run = start()
    with pytest.raises(ValueError, match="no trial with request id 'x'"):
        run.method.trial_ended(run.state, run.memory, "x", "clean")


@covers("experiment-config 7.6 5.max_concurrent_trials 6.async_halving")
def test_without_a_limit_as_many_run_as_let_one_reach_the_top() -> None:
    assert async_bracket(3, 4, 64, 100, 0).concurrency == 16
    assert async_bracket(3, 4, 64, 10, 0).concurrency == 10
    assert async_bracket(1, 4, 64, 10, 0).concurrency == 1


@covers("experiment-config 7.11")
def test_progress_follows_the_first_rung_then_the_closed_trials() -> None:
    run = start(max_trials=4, max_concurrent_trials=4)
    trials = run.open_trials
    for trial in trials[:2]:
        run.validate(trial, 1.0, 4)
    assert run.method.progress(run.state, run.memory, 0) == pytest.approx(2 / 4.8)
    for trial in trials[2:]:
        run.validate(trial, 9.0, 4)
    assert run.method.progress(run.state, run.memory, 0) == pytest.approx(4 / 4.8)
    for trial in trials:
        run.end(trial, "clean")
    assert run.method.progress(run.state, run.memory, 0) == 1


@covers("experiment-config 6.adaptive_asha")
def test_each_trial_is_judged_within_its_own_bracket() -> None:
    run = SearchRun(build(adaptive(max_rungs=3, max_trials=100), SPACE, 1))
    members = [row for row in run.start().records if isinstance(row, BracketMember)]
    # rungs 4, 16, 64 and 16, 64
    first, second = (next(m.request_id for m in members if m.bracket == b) for b in (0, 1))
    assert entries(run.validate(first, 1.0, 4)) == [(0, 1.0, False)]
    assert entries(run.validate(second, 1.0, 4)) == []
    assert entries(run.validate(second, 9.0, 16)) == [(0, 9.0, False)]
    decision = run.validate(second, 9.0, 64)
    (replacement,) = [r for r in decision.records if isinstance(r, BracketMember)]
    assert replacement.bracket == 1

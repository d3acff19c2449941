"""A trial that is stopped: by its search, its user or its own early exit."""

import pytest
from tests.covers import covers
from tests.domain.builders import TASK, of_type
from tests.domain.trial.lives import IDLE, PAUSED, active, ended, reports, run

from determined_master.domain.messages import CancelTimer, SetTimer
from determined_master.domain.trial import messages as t
from determined_master.domain.trial.machine import step


@covers("experiment-config 6.stop 17.stop_and_kill")
def test_stopped_by_the_searcher_it_is_asked_to_leave_like_a_preempted_one() -> None:
    state, effects = step(active(), t.TrialStopped())
    assert (state.state, state.is_stopped_by_searcher) == ("STOPPING_COMPLETED", True)
    assert effects == [
        t.PreemptAllocation(allocation_id=f"{TASK}.1", reason="stopped by the searcher")
    ]
    assert step(state, t.TrialStopped()) == (state, [])


@pytest.mark.parametrize("kind", ["completed", "preempted", "killed", "lost"])
@covers("experiment-config 6.stop 17.stopped_exit")
def test_stopped_by_the_searcher_it_ends_completed(kind) -> None:
    state, effects = run(t.TrialStopped(), ended(kind), state=active())
    assert state.state == "COMPLETED"
    assert reports(effects) == ["clean"]


@covers("experiment-config 17.stopped_exit")
def test_stopped_by_the_searcher_a_crash_is_still_an_error() -> None:
    state, effects = run(t.TrialStopped(), ended("failed"), state=active(max_restarts=5))
    assert (state.state, state.reason) == ("ERROR", "why")
    assert reports(effects) == ["errored"]


@pytest.mark.parametrize(
    ("event", "to", "end"),
    [
        (t.TrialStopped(), "COMPLETED", "clean"),
        (t.TrialCanceled(), "CANCELED", "user_canceled"),
        (t.TrialKilled(), "CANCELED", "user_canceled"),
        (t.TrialErred(reason="r"), "ERROR", "errored"),
    ],
)
def test_without_a_run_it_ends_at_once(event, to, end) -> None:
    state, effects = step(IDLE, event)
    assert state.state == to
    assert reports(effects) == [end]


@pytest.mark.parametrize(
    ("event", "to", "order"),
    [
        (t.TrialCanceled(), "STOPPING_CANCELED", t.PreemptAllocation),
        (t.TrialKilled(), "STOPPING_KILLED", t.KillAllocation),
        (t.TrialErred(reason="r"), "STOPPING_ERROR", t.KillAllocation),
    ],
)
@pytest.mark.parametrize("before", [active(), PAUSED], ids=["active", "paused"])
def test_with_a_run_it_stops_first(event, to, order, before) -> None:
    state, effects = step(before, event)
    assert state.state == to
    assert [type(e) for e in effects] == [order]
    assert reports(step(state, ended("killed"))[1]) == [
        "errored" if to == "STOPPING_ERROR" else "user_canceled"
    ]


def test_it_only_comes_to_stop_for_a_graver_reason() -> None:
    state, _ = step(active(), t.TrialErred(reason="r"))
    for lesser in (t.TrialStopped(), t.TrialCanceled(), t.TrialPaused(), t.TrialActivated()):
        assert step(state, lesser) == (state, [])
    state, _ = step(active(), t.TrialCanceled())
    assert step(state, t.TrialStopped()) == (state, [])
    assert step(state, t.TrialKilled())[0].state == "STOPPING_KILLED"


def test_a_kill_said_again_is_ordered_again() -> None:
    for first in (t.TrialKilled(), t.TrialErred(reason="r")):
        state, _ = step(active(), first)
        after, effects = step(state, t.TrialKilled())
        assert after == state
        assert [type(e) for e in effects] == [t.KillAllocation]


@pytest.mark.parametrize("kind", ["killed", "completed", "lost", "refused"])
def test_a_killed_trial_whose_run_did_not_fail_is_canceled(kind) -> None:
    state, effects = run(t.TrialKilled(), ended(kind), state=active())
    assert state.state == "CANCELED"
    assert reports(effects) == ["user_canceled"]


def test_a_trial_that_is_killed_after_its_run_failed_has_erred() -> None:
    state, effects = run(t.TrialKilled(), ended("failed"), state=active())
    assert (state.state, state.restarts) == ("ERROR", 0)
    assert reports(effects) == ["errored"]


def test_a_canceled_trial_that_crashes_has_erred() -> None:
    assert run(t.TrialCanceled(), ended("failed"), state=active())[0].state == "ERROR"


@pytest.mark.parametrize("kind", ["completed", "killed", "failed", "lost"])
@covers("experiment-config 17.invalid_hp 17.fatal")
def test_an_early_exit_completes_it_however_its_run_ends(kind) -> None:
    state, effects = step(active(), t.EarlyExitReported(reason="INVALID_HP"))
    assert [(e.name, e.after_s) for e in of_type(effects, SetTimer)] == [("early_exit", 10)]
    state, effects = step(state, ended(kind))
    assert (state.state, state.restarts) == ("COMPLETED", 0)
    assert reports(effects) == ["invalid_hp"]
    assert of_type(effects, CancelTimer) == [CancelTimer("early_exit")]


@covers("experiment-config 17.invalid_hp")
def test_a_trial_that_stays_after_an_early_exit_is_killed() -> None:
    state, _ = step(active(), t.EarlyExitReported(reason="INVALID_HP"))
    state, effects = step(state, t.EarlyExitExpired())
    assert [type(e) for e in effects] == [t.KillAllocation]
    assert step(state, t.EarlyExitReported(reason="INIT_INVALID_HP")) == (state, [])


def test_an_early_exit_does_not_undo_a_users_kill() -> None:
    state, effects = run(
        t.TrialKilled(),
        t.EarlyExitReported(reason="INVALID_HP"),
        ended("killed"),
        state=active(),
    )
    assert state.state == "CANCELED"
    assert reports(effects) == ["user_canceled"]


def test_an_early_exit_without_a_run_changes_nothing() -> None:
    assert step(IDLE, t.EarlyExitReported(reason="INVALID_HP")) == (IDLE, [])

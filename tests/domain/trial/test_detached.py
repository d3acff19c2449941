"""A detached trial goes as its own program says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.builders import T0

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.states import DETACHED_NEXT, TERMINAL
from determined_master.domain.trial import messages as trial
from determined_master.domain.trial.machine import step

CREATED = trial.TrialDetached(trial_id=3, experiment_id=7, request_id="r", task_id="7.r")
STARTED = trial.DetachedRunStarted()
SILENT = trial.DetachedFellSilent(since=T0)
ALIVE = trial.DetachedStateReported()
STATES = ("RUNNING", "PAUSED", "COMPLETED", "CANCELED", "ERROR")
EVENTS = [
    STARTED,
    SILENT,
    ALIVE,
    *(trial.DetachedStateReported(state=state) for state in STATES),
    trial.TrialActivated(),
    trial.TrialPaused(),
    trial.TrialStopped(),
    trial.TrialCanceled(),
    trial.TrialKilled(),
    trial.TrialErred(reason="x"),
    trial.EarlyExitReported(reason="INVALID_HP"),
    trial.EarlyExitExpired(),
    trial.RetriesCanceled(pattern="p", line="l"),
    trial.TrialEffectFailed(effect="report_detached_state", error="gone"),
]


def said(state: Any) -> trial.DetachedStateReported:
    return trial.DetachedStateReported(state=state)


def after(*events: Any) -> trial.Trial:
    state, _ = step(None, CREATED)
    for event in events:
        state, _ = step(state, event)
    return state


def test_a_new_one_waits_for_its_first_run_and_its_experiment_hears_of_it() -> None:
    state, effects = step(None, CREATED)
    assert (state.state, state.run_id, state.is_detached) == ("PAUSED", 0, True)
    assert effects == [trial.ReportDetachedState(experiment_id=7, after="PAUSED")]


def test_every_start_is_a_run_of_its_own() -> None:
    state = after(STARTED, STARTED, said("COMPLETED"), STARTED)
    assert (state.state, state.run_id) == ("RUNNING", 3)


def test_nothing_is_ever_asked_of_the_cluster() -> None:
    state, effects = step(after(STARTED), trial.TrialKilled())
    assert state.state == "CANCELED"
    assert effects == [
        trial.ReportDetachedState(experiment_id=7, before="RUNNING", after="CANCELED")
    ]


@pytest.mark.parametrize("end", ["COMPLETED", "CANCELED", "ERROR"])
@pytest.mark.parametrize("told", STATES)
def test_an_ended_trial_does_not_continue_by_a_report(end: str, told: str) -> None:
    state = after(STARTED, said(end))
    if told == end:
        assert step(state, said(told)) == (state, [])
        return
    with pytest.raises(FailedPrecondition, match=f"state {end} and cannot become {told}"):
        step(state, said(told))


def test_a_silent_one_failed_when_it_was_last_heard_of() -> None:
    state, effects = step(after(STARTED), SILENT)
    assert (state.state, state.silent_since) == ("ERROR", T0)
    told = trial.ReportDetachedState(experiment_id=7, before="RUNNING", after="ERROR")
    assert told in effects


@pytest.mark.parametrize("told", [None, *STATES])
def test_a_silent_one_that_is_heard_of_again_is_what_it_says(told: Any) -> None:
    state = after(STARTED, SILENT, said(told))
    assert (state.state, state.silent_since) == (told or "RUNNING", None)


def test_only_a_running_one_can_fall_silent() -> None:
    for state in (after(), after(STARTED, said("PAUSED")), after(STARTED, said("COMPLETED"))):
        assert step(state, SILENT) == (state, [])


def test_a_trial_of_the_cluster_has_no_program_outside() -> None:
    created = trial.TrialCreated(
        trial_id=3,
        experiment_id=7,
        request_id="r",
        task_id="7.r",
        max_restarts=0,
        activate=True,
    )
    state, _ = step(None, created)
    for event in (STARTED, SILENT, ALIVE):
        with pytest.raises(FailedPrecondition, match="run by the cluster"):
            step(state, event)


@given(st.lists(st.sampled_from(EVENTS), max_size=25))
def test_any_order_of_events_makes_legal_moves_and_reports_each_once(events: list[Any]) -> None:
    state, effects = step(None, CREATED)
    told = [e.after for e in effects if isinstance(e, trial.ReportDetachedState)]
    for event in events:
        try:
            next_, effects = step(state, event)
        except FailedPrecondition:
            assert state.state in TERMINAL
            continue
        moves = [e for e in effects if isinstance(e, trial.ReportDetachedState)]
        if next_.state == state.state:
            assert moves == []
        else:
            assert next_.state in DETACHED_NEXT[state.state], event
            assert [(m.before, m.after) for m in moves] == [(state.state, next_.state)]
        assert next_.allocation_id is None
        assert next_.silent_since is None or next_.state == "ERROR"
        state = next_
        told += [m.after for m in moves]
    assert told[-1] == state.state

"""An experiment from its creation to its end, with a search of a fixed plan."""

import pytest
from tests.covers import covers
from tests.domain.builders import of_type
from tests.domain.fake_search import FakeSearch, context

from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.experiment import messages as e
from determined_master.domain.experiment.machine import step
from determined_master.domain.search.records import RungEntry

CREATED = e.ExperimentCreated(experiment_id=7, activate=True)


def run(*events, search=None, state=None):
    search = search or context()
    effects = []
    for event in events:
        state, effects = step(state, event, search)
    return state, effects


def ended(number: int, end="clean") -> e.TrialEnded:
    return e.TrialEnded(request_id=f"r{number}", end=end)


def active(search=None) -> e.Experiment:
    return run(CREATED, search=search)[0]


STOPS = [
    (e.ExperimentCanceled(), "STOPPING_CANCELED", "cancel", "CANCELED"),
    (e.ExperimentKilled(), "STOPPING_KILLED", "kill", "CANCELED"),
    (e.ExperimentErred(reason="no such user"), "STOPPING_ERROR", "error", "ERROR"),
]


@pytest.mark.parametrize(("activate", "state"), [(True, "ACTIVE"), (False, "PAUSED")])
@covers("experiment-config 6.initial")
def test_its_first_trials_are_made_also_while_it_is_paused(activate, state) -> None:
    made, effects = run(e.ExperimentCreated(experiment_id=7, activate=activate))
    assert (made.id, made.state, made.trials_requested) == (7, state, 2)
    assert made.search == {"made": 2}
    assert effects == [
        e.CreateTrial(request_id="r0", seed=0, hparams={"n": 0}),
        e.CreateTrial(request_id="r1", seed=1, hparams={"n": 1}),
    ]


def test_created_twice_it_is_one_experiment() -> None:
    assert step(active(), CREATED, context()) == (active(), [])


def test_events_of_an_unknown_experiment_are_refused() -> None:
    with pytest.raises(NotFound):
        step(None, e.ExperimentKilled(), context())


def test_a_search_that_cannot_start_ends_in_error_with_its_reason() -> None:
    state, effects = run(CREATED, search=context(total=-1))
    assert (state.state, state.reason) == ("ERROR", "the grid has no points")
    assert effects == [e.CloseExperiment(state="ERROR")]


def test_a_search_without_trials_is_complete_at_once() -> None:
    state, effects = run(CREATED, search=context(first=0, total=0))
    assert state.state == "COMPLETED"
    assert effects == [e.CloseExperiment(state="COMPLETED")]


def test_pause_and_activate_signal_the_trials_once() -> None:
    state, effects = run(e.ExperimentPaused(), state=active())
    assert (state.state, effects) == ("PAUSED", [e.SignalTrials(signal="pause")])
    assert run(e.ExperimentPaused(), state=state) == (state, [])
    state, effects = run(e.ExperimentActivated(), state=state)
    assert (state.state, effects) == ("ACTIVE", [e.SignalTrials(signal="activate")])
    assert run(e.ExperimentActivated(), state=state) == (state, [])


@covers("experiment-config 6.validation 6.stop")
def test_a_validation_leaves_its_record_and_may_stop_its_trial() -> None:
    state, effects = run(e.ValidationReported(request_id="r0", metric=0.9), state=active())
    assert effects == [
        RungEntry(bracket=0, rung=0, request_id="r0", metric=0.9),
        e.StopTrial(request_id="r0"),
    ]
    assert state.state == "ACTIVE"


def test_a_paused_experiment_still_hears_the_last_reports_of_its_trials() -> None:
    _, effects = run(
        e.ExperimentPaused(), e.ValidationReported(request_id="r0", metric=0.9), state=active()
    )
    assert of_type(effects, e.StopTrial) == [e.StopTrial(request_id="r0")]


@covers("experiment-config 6.end")
def test_a_report_without_the_searchers_metric_ends_it_with_the_reason() -> None:
    event = e.ValidationReported(request_id="r0", reported=("accuracy",))
    state, effects = run(event, state=active())
    reason = "the report of accuracy lacks the metric 'loss'"
    assert (state.state, state.reason) == ("STOPPING_ERROR", reason)
    assert effects == [e.SignalTrials(signal="error", reason=reason)]


def test_an_ended_trial_may_be_replaced() -> None:
    search = context(first=1, total=2)
    state, effects = run(ended(0), state=active(search), search=search)
    assert (state.trials_requested, state.trials_closed) == (2, 1)
    assert effects == [e.CreateTrial(request_id="r1", seed=1, hparams={"n": 1})]


@pytest.mark.parametrize(
    ("ends", "final"),
    [
        (("clean", "clean"), "COMPLETED"),
        (("clean", "errored"), "COMPLETED"),
        (("errored", "user_canceled"), "COMPLETED"),
        (("invalid_hp", "invalid_hp"), "COMPLETED"),
        (("errored", "errored"), "ERROR"),
        (("user_canceled", "user_canceled"), "CANCELED"),
    ],
)
@covers("experiment-config 6.exited 6.exited_early 6.end 6.shutdown")
def test_its_end_follows_from_the_ends_of_all_its_trials(ends, final) -> None:
    state, effects = run(*(ended(i, end) for i, end in enumerate(ends)), state=active())
    assert state.state == final
    assert effects == [e.CloseExperiment(state=final)]
    assert state.trials_closed == 2


@covers("experiment-config 17.all_failed 6.end")
def test_an_experiment_whose_trials_all_failed_says_so() -> None:
    state, _ = run(ended(0, "errored"), ended(1, "errored"), state=active())
    assert state.reason == "all of its trials failed (2)"


@pytest.mark.parametrize(("event", "stopping", "signal", "final"), STOPS)
def test_a_stop_signals_the_trials_and_ends_when_they_are_closed(
    event, stopping, signal, final
) -> None:
    for before in (active(), run(e.ExperimentPaused(), state=active())[0]):
        state, effects = run(event, state=before)
        assert state.state == stopping
        assert [s.signal for s in of_type(effects, e.SignalTrials)] == [signal]
        state, effects = run(ended(0), state=state)
        assert (state.state, effects) == (stopping, [])
        state, effects = run(ended(1), state=state)
        assert (state.state, effects) == (final, [e.CloseExperiment(state=final)])
        assert state.reason


@pytest.mark.parametrize(("event", "stopping", "signal", "final"), STOPS)
@covers("experiment-config 6.stopping")
def test_while_it_stops_the_search_is_not_asked(event, stopping, signal, final) -> None:
    search = context(first=1, total=9)
    state, _ = run(event, state=active(search), search=search)
    state, effects = run(
        e.ValidationReported(request_id="r0", metric=0.9), state=state, search=search
    )
    assert effects == []
    state, effects = run(ended(0), state=state, search=search)
    assert state.state == final
    assert isinstance(search.method, FakeSearch)
    assert search.method.asked == []


def test_a_kill_outranks_a_cancel_but_not_the_other_way() -> None:
    state, _ = run(e.ExperimentCanceled(), state=active())
    assert run(e.ExperimentCanceled(), state=state) == (state, [])
    state, effects = run(e.ExperimentKilled(), state=state)
    assert (state.state, effects) == ("STOPPING_KILLED", [e.SignalTrials(signal="kill")])
    assert run(e.ExperimentCanceled(), state=state) == (state, [])


@pytest.mark.parametrize("first", [e.ExperimentKilled(), e.ExperimentErred(reason="r")])
def test_a_repeated_kill_is_reported_again(first) -> None:
    state, _ = run(first, state=active())
    assert run(e.ExperimentKilled(), state=state) == (state, [e.SignalTrials(signal="kill")])


def test_ending_an_ended_experiment_changes_nothing() -> None:
    over, _ = run(ended(0), ended(1), state=active())
    for event in (
        e.ExperimentCanceled(),
        e.ExperimentKilled(),
        e.ExperimentErred(reason="r"),
        e.ValidationReported(request_id="r0", metric=0.1),
        ended(0),
        e.ExperimentEffectFailed(effect="close_experiment", error="e"),
    ):
        assert run(event, state=over) == (over, []), event


@pytest.mark.parametrize("event", [e.ExperimentActivated(), e.ExperimentPaused()])
def test_an_ended_or_stopping_experiment_neither_runs_nor_pauses(event) -> None:
    over, _ = run(ended(0), ended(1), state=active())
    with pytest.raises(FailedPrecondition, match=r"^experiment in terminal state: .*COMPLETED"):
        run(event, state=over)
    stopping, _ = run(e.ExperimentKilled(), state=active())
    with pytest.raises(FailedPrecondition, match="STOPPING_KILLED"):
        run(event, state=stopping)


def test_a_trial_that_cannot_be_made_ends_it_and_is_not_waited_for() -> None:
    event = e.ExperimentEffectFailed(effect="create_trial", error="disk full", request_id="r0")
    state, effects = run(event, state=active())
    assert state.state == "STOPPING_ERROR"
    assert state.reason == "trial r0 could not be created: disk full"
    assert [s.signal for s in of_type(effects, e.SignalTrials)] == ["error"]
    state, effects = run(ended(1, "errored"), state=state)
    assert (state.state, effects) == ("ERROR", [e.CloseExperiment(state="ERROR")])


def test_when_no_trial_can_be_made_it_ends_at_once() -> None:
    events = [
        e.ExperimentEffectFailed(effect="create_trial", error="disk full", request_id=r)
        for r in ("r0", "r1")
    ]
    state, effects = run(*events, state=active())
    assert (state.state, effects) == ("ERROR", [e.CloseExperiment(state="ERROR")])


def test_an_order_that_cannot_be_carried_out_ends_it_once() -> None:
    event = e.ExperimentEffectFailed(effect="signal_trials", error="database gone")
    state, effects = run(event, state=active())
    assert state.state == "STOPPING_ERROR"
    assert "signal_trials" in state.reason
    assert "database gone" in state.reason
    assert len(effects) == 1
    assert run(event, state=state) == (state, [])


def test_the_memory_of_the_search_is_left_to_whoever_stores_the_records() -> None:
    search = context()
    _, effects = run(
        e.ValidationReported(request_id="r0", metric=0.1), state=active(search), search=search
    )
    assert len(of_type(effects, RungEntry)) == 1
    assert search.memory.rung(0, 0) == []

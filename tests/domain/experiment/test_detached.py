"""A detached experiment is what its trials make it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.fake_search import context

from determined_master.domain.errors import DetError, FailedPrecondition
from determined_master.domain.experiment import messages as exp
from determined_master.domain.experiment.machine import step as step_in
from determined_master.domain.states import DETACHED_WEIGHT, TERMINAL
from determined_master.domain.trial import messages as trial
from determined_master.domain.trial.machine import step as step_trial

CONTEXT = context()


def step(state: exp.Experiment | None, event: Any) -> tuple[exp.Experiment, list[Any]]:
    after, effects = step_in(state, event, CONTEXT)
    return after, list(effects)


def moved(after: Any, before: Any = None) -> exp.DetachedTrialMoved:
    return exp.DetachedTrialMoved(before=before, after=after)


def experiment(*events: Any) -> exp.Experiment:
    state, _ = step(None, exp.ExperimentDetached(experiment_id=7))
    for event in events:
        state, _ = step(state, event)
    return state


def test_a_new_one_waits_and_asks_no_search() -> None:
    state, effects = step(None, exp.ExperimentDetached(experiment_id=7))
    assert (state.state, state.trials_requested, effects) == ("PAUSED", 0, [])


def test_it_is_shown_as_the_trial_that_weighs_most() -> None:
    state = experiment(moved("PAUSED"), moved("PAUSED"))
    for before, after, shown in (
        ("PAUSED", "RUNNING", "RUNNING"),
        ("PAUSED", "RUNNING", "RUNNING"),
        ("RUNNING", "ERROR", "RUNNING"),
        ("RUNNING", "COMPLETED", "COMPLETED"),
    ):
        state, _ = step(state, moved(after, before))
        assert state.state == shown
    assert state.detached_trials == {"COMPLETED": 1, "ERROR": 1}


def test_each_of_its_ends_is_reported() -> None:
    state = experiment(moved("PAUSED"), moved("RUNNING", "PAUSED"))
    state, effects = step(state, moved("COMPLETED", "RUNNING"))
    assert effects == [exp.CloseExperiment(state="COMPLETED")]
    state, effects = step(state, moved("RUNNING", "COMPLETED"))
    assert (state.state, effects) == ("RUNNING", [])


@pytest.mark.parametrize(
    "event",
    [
        exp.ExperimentPaused(),
        exp.ExperimentActivated(),
        exp.ExperimentContinued(request_ids=("r",)),
    ],
)
def test_the_cluster_cannot_steer_what_it_does_not_run(event: Any) -> None:
    with pytest.raises(FailedPrecondition, match="experiment 7 is unmanaged"):
        step(experiment(moved("RUNNING")), event)


@pytest.mark.parametrize("event", [exp.ExperimentKilled(), exp.ExperimentCanceled()])
def test_one_without_trials_ends_when_a_user_says_so(event: Any) -> None:
    state, effects = step(experiment(), event)
    assert state.state == "CANCELED"
    assert exp.CloseExperiment(state="CANCELED") in effects


def test_a_trial_that_was_made_while_it_ended_ends_too() -> None:
    state = experiment(exp.ExperimentKilled(), moved("PAUSED"))
    assert state.state == "CANCELED"
    assert experiment(exp.ExperimentKilled(), moved("PAUSED"), moved("RUNNING", "PAUSED")).state


def test_an_ended_one_can_be_deleted() -> None:
    state = experiment(moved("COMPLETED"))
    assert step(state, exp.DeletionRequested())[1] == [exp.PlanDeletion()]
    deleting = step(state, exp.DeletionRequested())[0]
    assert step(deleting, moved("RUNNING", "COMPLETED"))[0].state == "DELETING"


OUTSIDE = [
    trial.DetachedRunStarted(),
    trial.DetachedStateReported(state="COMPLETED"),
    trial.DetachedStateReported(state="ERROR"),
    trial.DetachedStateReported(state="PAUSED"),
    trial.DetachedStateReported(),
]
SIGNALS = {"cancel": trial.TrialCanceled(), "kill": trial.TrialKilled()}


class Outside:
    """Programs with up to four trials; what trials report comes in their own order."""

    def __init__(self) -> None:
        self.state, _ = step(None, exp.ExperimentDetached(experiment_id=7))
        self.trials: dict[int, trial.Trial] = {}
        self.boxes: dict[int, list[exp.DetachedTrialMoved]] = {n: [] for n in range(4)}

    def make(self, number: int) -> None:
        created = trial.TrialDetached(
            trial_id=number, experiment_id=7, request_id=f"r{number}", task_id=f"7.{number}"
        )
        self.tell(number, created)

    def tell(self, number: int, event: Any) -> None:
        try:
            self.trials[number], effects = step_trial(self.trials.get(number), event)
        except DetError:
            return
        self.boxes[number] += [
            moved(e.after, e.before) for e in effects if isinstance(e, trial.ReportDetachedState)
        ]

    def deliver(self, number: int) -> None:
        if self.boxes[number]:
            self.advance(self.boxes[number].pop(0))

    def advance(self, event: Any) -> None:
        before, (self.state, effects) = self.state, step(self.state, event)
        assert self.state.state in DETACHED_WEIGHT
        assert not (before.state in TERMINAL and self.state.state == "PAUSED")
        assert all(count > 0 for count in self.state.detached_trials.values())
        signals = [SIGNALS[e.signal] for e in effects if isinstance(e, exp.SignalTrials)]
        for number in list(self.trials):
            for signal in signals:
                self.tell(number, signal)


@pytest.mark.slow
@given(st.data())
def test_any_order_of_reports_ends_in_the_state_of_the_heaviest_trial(data: st.DataObject) -> None:
    world = Outside()
    for _ in range(data.draw(st.integers(0, 30))):
        number = data.draw(st.integers(0, 3))
        match data.draw(st.sampled_from(["make", "tell", "deliver", "deliver", "kill"])):
            case "make":
                world.make(number)
            case "tell":
                world.tell(number, data.draw(st.sampled_from(OUTSIDE)))
            case "deliver":
                world.deliver(number)
            case _:
                world.advance(exp.ExperimentKilled())
    while waiting := [number for number, box in world.boxes.items() if box]:
        world.deliver(data.draw(st.sampled_from(waiting)))

    states = [t.state for t in world.trials.values()]
    shown = world.state.state
    assert world.state.detached_trials == {s: states.count(s) for s in sorted(set(states))}
    if states and not (shown in TERMINAL and set(states) == {"PAUSED"}):
        assert shown == max(states, key=DETACHED_WEIGHT.__getitem__)

"""An ended experiment continues, sheds checkpoints, or is deleted."""

import pytest
from msgspec.structs import replace
from tests.domain.fake_search import context

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.experiment import messages as e
from determined_master.domain.experiment.machine import step

ENDED = e.Experiment(
    id=7,
    state="CANCELED",
    trials_requested=3,
    trials_closed=3,
    trials_failed=1,
    trials_canceled=2,
    search={"made": 3},
    reason="killed by a user",
)
GO_ON = e.ExperimentContinued(request_ids=("r1", "r2"), failed=1, canceled=1)


def run(state, *events):
    effects = []
    for event in events:
        state, effects = step(state, event, context(total=3))
    return state, effects


def deleting(**overrides) -> e.Experiment:
    return replace(run(ENDED, e.DeletionRequested())[0], **overrides)


def test_it_continues_with_some_of_its_trials() -> None:
    state, effects = run(ENDED, GO_ON)
    assert (state.state, state.reason, state.trials_closed) == ("ACTIVE", "", 1)
    assert (state.trials_failed, state.trials_canceled) == (0, 1)
    assert effects == [e.ContinueTrial(request_id="r1"), e.ContinueTrial(request_id="r2")]


def test_it_ends_again_when_the_last_of_them_has() -> None:
    ends = [e.TrialEnded(request_id=r, end="clean") for r in GO_ON.request_ids]
    state, effects = run(ENDED, GO_ON, *ends)
    assert state.state == "COMPLETED"
    assert effects == [e.CloseExperiment(state="COMPLETED")]


def test_the_search_makes_what_it_had_not_made_when_a_trial_ends() -> None:
    early = replace(ENDED, search={"made": 2}, trials_requested=2, trials_closed=2)
    state, effects = run(early, GO_ON, e.TrialEnded(request_id="r1", end="clean"))
    assert [type(effect) for effect in effects] == [e.CreateTrial]
    assert state.trials_requested == 3


def test_new_hyperparameters_are_handed_to_the_trial() -> None:
    event = e.ExperimentContinued(request_ids=("r1",), hparams={"lr": 1})
    assert run(ENDED, event)[1] == [e.ContinueTrial(request_id="r1", hparams={"lr": 1})]


@pytest.mark.parametrize("state", ["ACTIVE", "PAUSED", "STOPPING_KILLED", "DELETING", "DELETED"])
def test_only_an_ended_experiment_continues(state) -> None:
    with pytest.raises(FailedPrecondition, match=state):
        run(replace(ENDED, state=state), GO_ON)


@pytest.mark.parametrize("request_ids", [(), ("r0", "r1", "r2", "r3")])
def test_it_continues_with_trials_that_it_has(request_ids) -> None:
    with pytest.raises(FailedPrecondition, match="no trial"):
        run(ENDED, e.ExperimentContinued(request_ids=request_ids))


def test_a_trial_that_cannot_be_opened_again_counts_as_failed() -> None:
    failed = e.ExperimentEffectFailed(effect="continue_trial", error="no disk", request_id="r1")
    state, effects = run(ENDED, GO_ON, failed)
    assert (state.state, state.trials_closed) == ("STOPPING_ERROR", 2)
    assert "trial r1 could not be continued: no disk" in state.reason
    assert [type(effect) for effect in effects] == [e.SignalTrials]


def test_a_late_failure_to_collect_garbage_does_not_spoil_what_continues() -> None:
    failed = e.ExperimentEffectFailed(effect="close_experiment", error="no disk")
    assert run(ENDED, GO_ON, failed) == (run(ENDED, GO_ON)[0], [])


def test_collections_are_counted_and_change_nothing_else() -> None:
    state, effects = run(ENDED, e.GcPlanned(task_ids=("g1", "g2")))
    assert effects == [e.StartGc(task_id="g1"), e.StartGc(task_id="g2")]
    assert state == replace(ENDED, collections=2)
    state, effects = run(state, e.GcEnded("g1", error="no disk"), e.GcEnded("g2"))
    assert (state.state, state.collections, effects) == ("CANCELED", 0, [])


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELED", "ERROR", "DELETE_FAILED"])
def test_a_deletion_begins_with_a_plan(state) -> None:
    after, effects = run(replace(ENDED, state=state), e.DeletionRequested())
    assert (after.state, effects) == ("DELETING", [e.PlanDeletion()])
    assert run(after, e.DeletionRequested()) == (after, [])


@pytest.mark.parametrize("state", ["ACTIVE", "PAUSED", "STOPPING_CANCELED"])
def test_an_open_experiment_is_not_deleted(state) -> None:
    with pytest.raises(FailedPrecondition, match=f"STATE_{state}"):
        run(replace(ENDED, state=state), e.DeletionRequested())


def test_it_is_removed_once_all_its_files_are() -> None:
    planned = e.GcPlanned(task_ids=("g1", "g2"), is_deletion=True)
    state, effects = run(deleting(), planned, e.GcEnded("g1"))
    assert (state.state, effects) == ("DELETING", [])
    state, effects = run(state, e.GcEnded("g2"))
    assert effects == [e.RemoveExperiment()]
    assert run(state, e.ExperimentRemoved())[0].state == "DELETED"


def test_without_files_it_is_removed_at_once() -> None:
    planned = e.GcPlanned(task_ids=(), is_deletion=True)
    assert run(deleting(), planned)[1] == [e.RemoveExperiment()]


def test_a_collection_from_before_is_waited_for_and_does_not_stand_for_the_plan() -> None:
    state, effects = run(deleting(collections=1), e.GcEnded("old"))
    assert effects == []
    state, effects = run(deleting(collections=1), e.GcPlanned(task_ids=(), is_deletion=True))
    assert effects == []
    assert run(state, e.GcEnded("old"))[1] == [e.RemoveExperiment()]


def test_a_deletion_fails_with_the_first_error_and_can_be_asked_for_again() -> None:
    planned = e.GcPlanned(task_ids=("g1", "g2"), is_deletion=True)
    ends = [e.GcEnded("g1", error="no disk"), e.GcEnded("g2", error="later")]
    state, effects = run(deleting(), planned, *ends)
    assert (state.state, effects) == ("DELETE_FAILED", [])
    assert state.reason == "its checkpoints could not be deleted: no disk"
    again, effects = run(state, e.DeletionRequested())
    assert effects == [e.PlanDeletion(with_deleted=True)], "something may be left of what went"
    assert (again.state, again.collection_error, again.is_deletion_planned) == (
        "DELETING",
        "",
        False,
    )


def test_a_collection_whose_machine_was_lost_begins_again_and_is_waited_for() -> None:
    planned = e.GcPlanned(task_ids=("g1",), is_deletion=True)
    state, effects = run(deleting(), planned, e.GcLost(task_id="g1", run=1))
    assert (state.state, state.collections) == ("DELETING", 1)
    assert effects == [e.StartGc(task_id="g1", run=2)]


@pytest.mark.parametrize("effect", ["plan_deletion", "remove_experiment"])
def test_an_order_that_is_given_up_fails_the_deletion(effect) -> None:
    state, effects = run(deleting(), e.ExperimentEffectFailed(effect=effect, error="no disk"))
    assert (state.state, effects) == ("DELETE_FAILED", [])
    assert "no disk" in state.reason


def test_a_collection_that_cannot_start_counts_as_ended() -> None:
    planned = e.GcPlanned(task_ids=("g1",), is_deletion=True)
    failed = e.ExperimentEffectFailed(effect="start_collection", error="no disk", task_id="g1")
    assert run(deleting(), planned, failed)[0].state == "DELETE_FAILED"


@pytest.mark.parametrize("state", ["DELETING", "DELETE_FAILED", "DELETED"])
def test_an_experiment_in_deletion_neither_runs_nor_stops(state) -> None:
    leaving = replace(ENDED, state=state)
    for event in (e.ExperimentActivated(), e.ExperimentPaused()):
        with pytest.raises(FailedPrecondition):
            run(leaving, event)
    for event in (e.ExperimentKilled(), e.ExperimentCanceled(), e.ExperimentErred(reason="x")):
        assert run(leaving, event) == (leaving, [])


def test_a_deletion_says_what_it_waits_for_until_that_has_come() -> None:
    wait = e.GcWaits(task_id="7.gc", reason="no agent of pool 'aux' is connected")
    planned = e.GcPlanned(task_ids=("7.gc",), is_deletion=True)
    state, effects = run(deleting(), planned, wait)
    assert (state.state, effects) == ("DELETING", [])
    assert state.reason == "its checkpoints are not deleted yet: " + wait.reason
    state, effects = run(state, e.GcEnded(task_id="7.gc"))
    assert (state.reason, effects) == ("", [e.RemoveExperiment()])


def test_an_ended_experiment_keeps_its_own_reason_while_a_collection_waits() -> None:
    wait = e.GcWaits(task_id="7.gc", reason="no agent")
    assert run(ENDED, e.GcPlanned(task_ids=("7.gc",)), wait)[0].reason == ENDED.reason

"""Actions on an ended experiment: continue it, delete its checkpoints, or delete all of it.

Tasks of their own delete checkpoints. They are counted here, so that the experiment is removed
only after its files.
"""

from __future__ import annotations

from msgspec.structs import replace

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.experiment.messages import (
    ContinueTrial,
    Experiment,
    ExperimentContinued,
    ExperimentEffect,
    GcEnded,
    GcLost,
    GcPlanned,
    GcWaits,
    GrowSearch,
    PlanDeletion,
    RemoveExperiment,
    StartGc,
)
from determined_master.domain.search.records import SearchRecord
from determined_master.domain.states import TERMINAL

Step = tuple[Experiment, list[ExperimentEffect | SearchRecord]]


def continue_ended(state: Experiment, event: ExperimentContinued) -> Step:
    """Open closed trials again. The search continues from its last state.

    Raises:
        FailedPrecondition: it has not ended, or no trial is to continue.
    """
    if state.state not in TERMINAL:
        raise FailedPrecondition(
            f"experiment {state.id} is {state.state}: only an experiment in terminal state can "
            "be continued"
        )
    if not 0 < len(event.request_ids) <= state.trials_closed:
        raise FailedPrecondition(f"experiment {state.id} has no trial that could be continued")
    after = replace(
        state,
        state="ACTIVE",
        reason="",
        progress=0.0,
        trials_closed=state.trials_closed - len(event.request_ids),
        trials_failed=max(state.trials_failed - event.failed, 0),
        trials_canceled=max(state.trials_canceled - event.canceled, 0),
    )
    effects: list[ExperimentEffect | SearchRecord] = [
        ContinueTrial(request_id=request_id, hparams=event.hparams)
        for request_id in event.request_ids
    ]
    return after, [*effects, GrowSearch()] if state.is_growing else effects


def delete(state: Experiment) -> Step:
    """Begin to delete it. A repeated request during the deletion changes nothing.

    Raises:
        FailedPrecondition: it has not ended.
    """
    if state.state in ("DELETING", "DELETED"):
        return state, []
    if state.state not in TERMINAL and state.state != "DELETE_FAILED":
        raise FailedPrecondition(
            f"cannot delete experiment in STATE_{state.state} state: cancel experiment "
            f"{state.id} or let it end first"
        )
    after = replace(
        state, state="DELETING", collection_error="", is_deletion_planned=False, reason=""
    )
    return after, [PlanDeletion(with_deleted=state.was_cut_short)]


def start_gc(state: Experiment, event: GcPlanned) -> Step:
    """Start the tasks that delete checkpoints."""
    effects: list[ExperimentEffect | SearchRecord] = [
        StartGc(task_id=task_id) for task_id in event.task_ids
    ]
    after = replace(
        state,
        collections=state.collections + len(event.task_ids),
        is_deletion_planned=state.is_deletion_planned or event.is_deletion,
    )
    return _settle(after, effects)


def gc_ended(state: Experiment, event: GcEnded) -> Step:
    """Count a task that has ended."""
    after = replace(
        state,
        collections=max(state.collections - 1, 0),
        collection_error=state.collection_error or event.error,
        was_cut_short=state.was_cut_short or bool(event.error),
        reason="" if state.state == "DELETING" else state.reason,
    )
    return _settle(after, [])


def restart_gc(state: Experiment, event: GcLost) -> Step:
    """Restart a task whose machine was lost. The task has not ended."""
    return state, [StartGc(task_id=event.task_id, run=event.run + 1)]


def report_wait(state: Experiment, event: GcWaits) -> Step:
    """Report the reason why a deletion waits; the journal has it for every other GC task."""
    if state.state != "DELETING":
        return state, []
    return replace(state, reason=f"its checkpoints are not deleted yet: {event.reason}"), []


def fail_deletion(state: Experiment, error: str) -> Step:
    """Give up a deletion; it can be requested again."""
    if state.state != "DELETING":
        return state, []
    return replace(state, state="DELETE_FAILED", reason=error), []


def removed(state: Experiment) -> Step:
    """Everything of it is removed."""
    return (replace(state, state="DELETED"), []) if state.state == "DELETING" else (state, [])


def _settle(state: Experiment, effects: list[ExperimentEffect | SearchRecord]) -> Step:
    if state.state != "DELETING" or not state.is_deletion_planned or state.collections:
        return state, effects
    if state.collection_error:
        reason = f"its checkpoints could not be deleted: {state.collection_error}"
        return replace(state, state="DELETE_FAILED", reason=reason), effects
    return state, [*effects, RemoveExperiment()]

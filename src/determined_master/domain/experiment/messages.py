"""Events, effects and state of an experiment."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from determined_master.domain.messages import Effect, Event, GivenUp, State
from determined_master.domain.search.records import TrialEnd
from determined_master.domain.states import RunState


class Experiment(State, frozen=True):
    """The state of an experiment; its configuration is in the context."""

    id: int
    state: RunState
    trials_requested: int = 0
    trials_closed: int = 0
    trials_failed: int = 0
    trials_canceled: int = 0
    search: Any = None
    """The search method's own small state, as JSON values; its rows are in the context."""
    reason: str = ""
    """Why it stops or stopped, for its user."""
    collections: int = 0
    """Open GC tasks of its checkpoints."""
    collection_error: str = ""
    """The first failure since its deletion was requested."""
    was_cut_short: bool = False
    """Whether a GC task has ever failed: files that it should have deleted may remain."""
    is_deletion_planned: bool = False
    """Whether all GC tasks of its deletion are known."""
    is_growing: bool = False
    """Whether its search has more trials to create than it has created so far."""
    awaits_activation: bool = False
    """Whether it creates these when it is activated: none are created while it is paused."""
    progress: float = 0.0
    """The search's progress, 0 to 1, before the last event; running trials count as 0."""
    is_detached: bool = False
    """Whether programs outside the cluster create and run its trials."""
    user_id: int = 0
    """Its owner, for turns of work; 0 in states of older releases."""
    detached_trials: dict[str, int] = msgspec.field(default_factory=dict)
    """For a detached experiment, the number of its trials in each state."""


class ExperimentCreated(Event, frozen=True, tag="experiment_created"):
    """The experiment and its configuration are stored."""

    experiment_id: int
    activate: bool
    user_id: int = 0


class ExperimentDetached(Event, frozen=True, tag="experiment_detached"):
    """A program outside the cluster has created this experiment, and will create its trials."""

    experiment_id: int


class DetachedTrialMoved(Event, frozen=True, tag="detached_trial_moved"):
    """A trial of a detached experiment has changed its state."""

    after: RunState
    before: RunState | None = None
    """None for a new trial."""


class ExperimentActivated(Event, frozen=True, tag="experiment_activated"):
    """A user wants it to run."""


class ExperimentPaused(Event, frozen=True, tag="experiment_paused"):
    """A user wants its slots released for now."""


class ExperimentCanceled(Event, frozen=True, tag="experiment_canceled"):
    """A user wants it to end; trials may save their work first."""


class ExperimentKilled(Event, frozen=True, tag="experiment_killed"):
    """A user wants it to end at once."""


class ExperimentErred(Event, frozen=True, tag="experiment_erred"):
    """A problem in the master or in the configuration stops it."""

    reason: str


class ExperimentContinued(Event, frozen=True, tag="experiment_continued"):
    """A user continues an ended experiment with some of its closed trials.

    `failed` and `canceled` are the numbers of those that ended so.
    """

    request_ids: tuple[str, ...]
    failed: int = 0
    canceled: int = 0
    hparams: dict[str, Any] | None = None
    """New hyperparameters, when a single search continues with a changed configuration."""


class DeletionRequested(Event, frozen=True, tag="deletion_requested"):
    """A user deletes the experiment, its results and its checkpoints."""


class GcPlanned(Event, frozen=True, tag="collection_planned"):
    """GC tasks, possibly none, are stored."""

    task_ids: tuple[str, ...]
    is_deletion: bool = False
    """Whether these are all GC tasks of the experiment's deletion."""


class GcEnded(Event, frozen=True, tag="collection_ended"):
    task_id: str
    error: str = ""


class GcLost(Event, frozen=True, tag="collection_lost"):
    """A run of a checkpoint GC task ended because its machine was lost."""

    task_id: str
    run: int


class GcWaits(Event, frozen=True, tag="collection_waits"):
    """A GC task cannot be scheduled."""

    task_id: str
    reason: str
    """For its user."""


class ExperimentRemoved(Event, frozen=True, tag="experiment_removed"):
    """Everything that belonged to the experiment is deleted."""


class ValidationReported(Event, frozen=True, tag="validation_reported"):
    """A trial has reported a validation.

    `metric` is the searcher's metric with the sign that makes smaller better, None when the
    report lacks it. `time` is the value of the time metric, None when missing or not needed.
    """

    request_id: str
    metric: float | None = None
    time: float | None = None
    reported: tuple[str, ...] = ()
    """At most 20 names of the report, for the error about a missing name."""


class SearchGrown(Event, frozen=True, tag="search_grown"):
    """Few enough of its trials wait for slots: the search may create the next."""


class TrialEnded(Event, frozen=True, tag="trial_ended"):
    """A trial is closed."""

    request_id: str
    end: TrialEnd


class ExperimentEffectFailed(GivenUp, frozen=True, tag="effect_failed"):
    """An effect was given up after its last retry."""

    request_id: str = ""
    """The trial that the effect was about."""
    task_id: str = ""
    """The GC task that the effect was about."""


ExperimentEvent = (
    ExperimentCreated
    | ExperimentDetached
    | DetachedTrialMoved
    | ExperimentActivated
    | ExperimentPaused
    | ExperimentCanceled
    | ExperimentKilled
    | ExperimentErred
    | ExperimentContinued
    | DeletionRequested
    | GcPlanned
    | GcEnded
    | GcLost
    | GcWaits
    | ExperimentRemoved
    | ValidationReported
    | SearchGrown
    | TrialEnded
    | ExperimentEffectFailed
)


class CreateTrial(Effect, frozen=True, tag="create_trial"):
    """Make a trial of the search."""

    request_id: str
    seed: int
    hparams: dict[str, Any]

    @property
    def about(self) -> str:
        return self.request_id


class ContinueTrial(Effect, frozen=True, tag="continue_trial"):
    """Open a closed trial again, as a new task."""

    request_id: str
    hparams: dict[str, Any] | None = None
    """New ones; None keeps its own."""

    @property
    def about(self) -> str:
        return self.request_id


class StopTrial(Effect, frozen=True, tag="stop_trial"):
    """Ask a trial to save its work and exit: the search stops it."""

    request_id: str

    @property
    def about(self) -> str:
        return self.request_id


class GrowSearch(Effect, frozen=True, tag="grow_search"):
    """Request the next trials of the search once few enough of its trials wait for slots.

    That may take days, and a kill must not wait for it.
    """

    @property
    def lane(self) -> str:
        return "growth"


class SignalTrials(Effect, frozen=True, tag="signal_trials"):
    """Notify every live trial of the experiment's new state."""

    signal: Literal["activate", "pause", "cancel", "kill", "error"]
    reason: str = ""
    """Why, for the trials' users; always given with `error`."""


class CloseExperiment(Effect, frozen=True, tag="close_experiment"):
    """The experiment has ended: end its tokens, start checkpoint GC, notify waiting callers."""

    state: RunState


class PlanDeletion(Effect, frozen=True, tag="plan_deletion"):
    """Find the checkpoints that the experiment's deletion must delete, and how."""

    with_deleted: bool = False
    """Whether checkpoints that are deleted already are included."""


class StartGc(Effect, frozen=True, tag="start_collection"):
    """Start a task that deletes checkpoints; its order is stored under its id."""

    task_id: str
    run: int = 1
    """Runs count from 1."""


class RemoveExperiment(Effect, frozen=True, tag="remove_experiment"):
    """Its files are deleted: delete all of its rows."""


ExperimentEffect = (
    CreateTrial
    | ContinueTrial
    | StopTrial
    | GrowSearch
    | SignalTrials
    | CloseExperiment
    | PlanDeletion
    | StartGc
    | RemoveExperiment
)

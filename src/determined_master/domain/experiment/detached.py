"""A detached experiment: its trials alone determine its state.

Programs outside the cluster create its trials at any time. The state holds the number of trials in
each state; users see the state of the trial with the highest weight (`DETACHED_WEIGHT`). Reports
of different trials may arrive in any order: the counts and the state are the same.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.experiment.messages import (
    CloseExperiment,
    DetachedTrialMoved,
    Experiment,
    ExperimentActivated,
    ExperimentCanceled,
    ExperimentContinued,
    ExperimentDetached,
    ExperimentEffect,
    ExperimentErred,
    ExperimentKilled,
    ExperimentPaused,
    SignalTrials,
    TrialEnded,
    ValidationReported,
)
from determined_master.domain.search.records import SearchRecord
from determined_master.domain.states import DETACHED_WEIGHT, ENDED, LEAVING, TERMINAL, RunState

Step = tuple[Experiment, list[ExperimentEffect | SearchRecord]]
OwnEvent = (
    ExperimentActivated
    | ExperimentPaused
    | ExperimentCanceled
    | ExperimentKilled
    | ExperimentErred
    | ExperimentContinued
    | DetachedTrialMoved
    | ValidationReported
    | TrialEnded
)
"""Events that have another meaning, or none, for a detached experiment."""


def create(event: ExperimentDetached) -> Step:
    """A new one waits for its first trials."""
    return Experiment(id=event.experiment_id, state="PAUSED", is_detached=True), []


def step(state: Experiment, event: OwnEvent) -> Step:
    """Advance one detached experiment by one event.

    Raises:
        FailedPrecondition: the cluster cannot pause, activate or continue what it does not run.
    """
    match event:
        case ExperimentActivated() | ExperimentPaused() | ExperimentContinued():
            raise FailedPrecondition(
                f"experiment {state.id} is unmanaged: only the programs that run its trials can "
                "start and pause them"
            )
        case ExperimentCanceled():
            return _stop(state, SignalTrials(signal="cancel"))
        case ExperimentKilled():
            return _stop(state, SignalTrials(signal="kill"))
        case ExperimentErred():
            return _stop(state, SignalTrials(signal="error", reason=event.reason))
        case DetachedTrialMoved():
            return _count(state, event)
        case ValidationReported() | TrialEnded():
            return state, []  # there is no search to notify
        case _:
            assert_never(event)


def _stop(state: Experiment, signal: SignalTrials) -> Step:
    """Its trials are notified and report their ends; without trials there is none to wait for."""
    if state.state in ENDED:
        return state, []
    if any(state.detached_trials.values()):
        return state, [signal]
    return _move(state, "ERROR" if signal.signal == "error" else "CANCELED", [signal])


def _count(state: Experiment, event: DetachedTrialMoved) -> Step:
    counts = dict(state.detached_trials)
    if event.before is not None:
        counts[event.before] = counts.get(event.before, 0) - 1
    counts[event.after] = counts.get(event.after, 0) + 1
    counted = replace(state, detached_trials={k: n for k, n in sorted(counts.items()) if n})
    present: list[RunState] = [s for s in DETACHED_WEIGHT if counts.get(s, 0) > 0]
    to = max(present, key=DETACHED_WEIGHT.__getitem__, default=state.state)
    # A trial that is created while the experiment ends must end too.
    if state.state in LEAVING or (state.state in TERMINAL and to == "PAUSED"):
        return counted, []
    return _move(counted, to, [])


def _move(state: Experiment, to: RunState, effects: list[ExperimentEffect | SearchRecord]) -> Step:
    if to == state.state:
        return state, effects
    closing = [CloseExperiment(state=to)] if to in TERMINAL else []
    return replace(state, state=to), [*effects, *closing]

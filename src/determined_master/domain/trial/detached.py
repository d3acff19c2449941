"""The life of a detached trial: a program outside the cluster runs it and reports its state.

The master gives it no slots and sends it no orders. It decides which transitions are legal. A
trial that was silent for too long counts as failed until its next report.

Source: task-contract 5.8. Changed so that no work is lost: silence does not end a trial,
and only the next run reopens an ended one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.messages import WriteTaskLog
from determined_master.domain.states import TERMINAL, RunState
from determined_master.domain.trial.messages import (
    AgentExcluded,
    AllocationEnded,
    DetachedFellSilent,
    DetachedRunStarted,
    DetachedState,
    DetachedStateReported,
    EarlyExitExpired,
    EarlyExitReported,
    ReportDetachedState,
    RetriesCanceled,
    RoomLacked,
    Trial,
    TrialActivated,
    TrialCanceled,
    TrialContinued,
    TrialCreated,
    TrialDetached,
    TrialEffect,
    TrialEffectFailed,
    TrialErred,
    TrialEvent,
    TrialKilled,
    TrialPaused,
    TrialStopped,
)

Step = tuple[Trial, list[TrialEffect]]

_VERBS: Mapping[type[TrialEvent], str] = {TrialCanceled: "canceled", TrialKilled: "killed"}
SILENT = "its program did not report for five minutes"


def create(event: TrialDetached) -> Step:
    """A new one waits for its program's first run."""
    state = Trial(
        id=event.trial_id,
        experiment_id=event.experiment_id,
        request_id=event.request_id,
        task_id=event.task_id,
        state="PAUSED",
        max_restarts=0,
        is_detached=True,
    )
    return state, [ReportDetachedState(experiment_id=event.experiment_id, after="PAUSED")]


def step(state: Trial, event: TrialEvent) -> Step:
    """Advance one detached trial by one event.

    Raises:
        FailedPrecondition: its program reports that an ended trial continues, or ended otherwise.
    """
    match event:
        case DetachedRunStarted():
            return _move(replace(state, run_id=state.run_id + 1), "RUNNING")
        case DetachedStateReported():
            return _report(state, event.state)
        case DetachedFellSilent():
            return _fall_silent(state, event)
        case TrialCanceled() | TrialKilled():
            return _end(state, "CANCELED", f"{_VERBS[type(event)]} by a user")
        case TrialErred():
            return _end(state, "ERROR", event.reason)
        case EarlyExitReported():
            return _end(
                state, "COMPLETED", f"its code reported invalid hyperparameters ({event.reason})"
            )
        case TrialEffectFailed():
            return state, [
                WriteTaskLog(
                    task_id=state.task_id,
                    text=f"failed to report its state to its experiment: {event.error}",
                    level="ERROR",
                )
            ]
        case (
            TrialCreated()
            | TrialDetached()
            | TrialContinued()
            | TrialActivated()
            | TrialPaused()
            | TrialStopped()
            | AllocationEnded()
            | EarlyExitExpired()
            | RetriesCanceled()
            | AgentExcluded()
            | RoomLacked()
        ):
            return state, []  # of trials that the cluster runs
        case _:
            assert_never(event)


def _report(state: Trial, reported: DetachedState | None) -> Step:
    if reported is None:
        return (state, []) if state.silent_since is None else _move(state, "RUNNING")
    if reported == state.state and state.silent_since is None:
        return state, []
    if state.state in TERMINAL and state.silent_since is None:
        raise FailedPrecondition(
            f"trial {state.id} is in terminal state {state.state} and cannot become {reported}: "
            "start its next attempt first"
        )
    return _move(state, reported)


def _fall_silent(state: Trial, event: DetachedFellSilent) -> Step:
    if state.state != "RUNNING":
        return state, []
    after, effects = _move(state, "ERROR", SILENT)
    logged = WriteTaskLog(task_id=state.task_id, text=SILENT, level="ERROR")
    return replace(after, silent_since=event.since), [logged, *effects]


def _end(state: Trial, to: RunState, reason: str) -> Step:
    return (state, []) if state.state in TERMINAL else _move(state, to, reason)


def _move(state: Trial, to: RunState, reason: str = "") -> Step:
    after = replace(state, state=to, reason=reason, silent_since=None)
    if to == state.state:
        return after, []
    report = ReportDetachedState(experiment_id=state.experiment_id, before=state.state, after=to)
    return after, [report]

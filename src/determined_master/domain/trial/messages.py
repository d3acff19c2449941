"""Events, effects and state of a trial."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from determined_master.domain.allocation.runs import RunGivenUp, RunOrder, RunOver
from determined_master.domain.messages import (
    CancelTimer,
    Effect,
    Event,
    SetTimer,
    State,
    WriteTaskLog,
)
from determined_master.domain.search.records import TrialEnd
from determined_master.domain.states import RunState

EarlyExitReason = Literal["INVALID_HP", "INIT_INVALID_HP"]
DetachedState = Literal["RUNNING", "PAUSED", "COMPLETED", "CANCELED", "ERROR"]
"""States that the program of a detached trial may report."""


class Trial(State, frozen=True):
    id: int
    experiment_id: int
    request_id: str
    task_id: str
    state: RunState
    max_restarts: int
    restarts: int = 0
    run_id: int = 0
    """The number of its starts; also the number of its latest allocation."""
    allocation_id: str | None = None
    """The allocation that is open now."""
    early_exit: EarlyExitReason | None = None
    retries_canceled: str | None = None
    """Why the next failure is final: a line for each log policy that has matched."""
    failed_starts: int = 0
    """How many of its latest runs in a row no agent could start, without a fault of the trial."""
    excluded_agents: tuple[str, ...] = ()
    """Agents that no later run may use, because a log policy has matched."""
    crash: str = ""
    """The exception and the place of its latest failure, if that has any."""
    crashes: int = 0
    """How many of its latest runs in a row ended like that."""
    is_stopped_by_searcher: bool = False
    reason: str = ""
    user_id: int = 0
    """The owner of its experiment, for turns of work; 0 in states of older releases."""
    is_detached: bool = False
    """Whether a program outside the cluster runs it and reports its state."""
    silent_since: datetime | None = None
    """When it last reported, if it ended only for its silence."""


class TrialCreated(Event, frozen=True, tag="trial_created"):
    """The search has created this trial."""

    trial_id: int
    experiment_id: int
    request_id: str
    task_id: str
    max_restarts: int
    activate: bool
    user_id: int = 0


class TrialContinued(Event, frozen=True, tag="trial_continued"):
    """Its ended experiment continues with this trial: as a new task, restarts start at 0."""

    task_id: str
    max_restarts: int
    activate: bool


class TrialDetached(Event, frozen=True, tag="trial_detached"):
    """A program outside the cluster has created this trial, and will run it."""

    trial_id: int
    experiment_id: int
    request_id: str
    task_id: str


class DetachedRunStarted(Event, frozen=True, tag="detached_run_started"):
    """The program of a detached trial begins its next run."""


class DetachedStateReported(Event, frozen=True, tag="detached_state_reported"):
    """The program of a detached trial reports its state; without one, that it is alive."""

    state: DetachedState | None = None


class DetachedFellSilent(Event, frozen=True, tag="detached_fell_silent"):
    """A detached trial has not reported for too long."""

    since: datetime


class TrialActivated(Event, frozen=True, tag="trial_activated"):
    """Its experiment runs."""


class TrialPaused(Event, frozen=True, tag="trial_paused"):
    """Its experiment is paused."""


class TrialStopped(Event, frozen=True, tag="trial_stopped"):
    """The searcher does not need it any more."""


class TrialCanceled(Event, frozen=True, tag="trial_canceled"):
    """Its experiment is cancelled."""


class TrialKilled(Event, frozen=True, tag="trial_killed"):
    """A user kills it or its experiment."""


class TrialErred(Event, frozen=True, tag="trial_erred"):
    """Its experiment cannot continue."""

    reason: str


class AllocationEnded(RunOver, frozen=True, tag="allocation_ended"):
    """Its allocation has ended and the slots are back."""


class EarlyExitReported(Event, frozen=True, tag="early_exit_reported"):
    """User code reports that these hyperparameters are invalid."""

    reason: EarlyExitReason


class EarlyExitExpired(Event, frozen=True, tag="early_exit_expired"):
    """The time to exit after an early exit has passed (10 s)."""


class RetriesCanceled(Event, frozen=True, tag="retries_canceled"):
    """A log policy makes the next failure final."""

    pattern: str
    line: str


class AgentExcluded(Event, frozen=True, tag="agent_excluded"):
    """A log policy excludes an agent from the trial's later runs."""

    agent_id: str
    pattern: str
    line: str


class RoomLacked(Event, frozen=True, tag="room_lacked"):
    """No agent that the trial may still use could hold its next run: it waits for others."""

    reason: str


class TrialEffectFailed(RunGivenUp, frozen=True, tag="effect_failed"):
    """An effect was given up after its last retry."""


TrialEvent = (
    TrialCreated
    | TrialContinued
    | TrialDetached
    | DetachedRunStarted
    | DetachedStateReported
    | DetachedFellSilent
    | TrialActivated
    | TrialPaused
    | TrialStopped
    | TrialCanceled
    | TrialKilled
    | TrialErred
    | AllocationEnded
    | EarlyExitReported
    | EarlyExitExpired
    | RetriesCanceled
    | AgentExcluded
    | RoomLacked
    | TrialEffectFailed
)


class RequestAllocation(Effect, frozen=True, tag="request_allocation"):
    """Ask for slots for the trial's next run."""

    allocation_id: str
    run_id: int
    excluded_agents: tuple[str, ...] = ()
    follows_failure: bool = False
    """Whether the run before it failed by its own fault."""


class PreemptAllocation(RunOrder, frozen=True, tag="preempt_allocation"):
    """Ask the allocation to save its work and exit."""


class KillAllocation(RunOrder, frozen=True, tag="kill_allocation"):
    """End the allocation at once."""


class ReportTrialEnd(Effect, frozen=True, tag="report_trial_end"):
    """Report to the experiment that this trial is closed."""

    experiment_id: int
    request_id: str
    end: TrialEnd


class ReportDetachedState(Effect, frozen=True, tag="report_detached_state"):
    """Report to the experiment that this detached trial has changed its state."""

    experiment_id: int
    after: RunState
    before: RunState | None = None
    """None for a new trial."""


TrialOrder = (
    RequestAllocation
    | PreemptAllocation
    | KillAllocation
    | ReportTrialEnd
    | ReportDetachedState
    | SetTimer
    | CancelTimer
)
"""Effects that are stored until they are carried out."""
TrialEffect = TrialOrder | WriteTaskLog

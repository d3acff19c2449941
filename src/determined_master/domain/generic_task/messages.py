"""Events, effects and state of a generic task."""

from __future__ import annotations

from typing import Literal

from determined_master.domain.allocation.runs import RunGivenUp, RunOrder, RunOver
from determined_master.domain.messages import Effect, Event, State, WriteTaskLog

GenericState = Literal[
    "ACTIVE",
    "PAUSED",
    "STOPPING_PAUSED",
    "STOPPING_CANCELED",
    "COMPLETED",
    "CANCELED",
    "ERROR",
]


class GenericTask(State, frozen=True):
    id: str
    state: GenericState
    run_id: int = 0
    """The number of its starts; also the number of its latest allocation."""
    allocation_id: str | None = None
    """The allocation that is open now."""
    reason: str = ""


class TaskCreated(Event, frozen=True, tag="task_created"):
    """A user has submitted it."""

    task_id: str


class TaskPaused(Event, frozen=True, tag="task_paused"):
    """A user wants its slots released; it continues later."""


class TaskUnpaused(Event, frozen=True, tag="task_unpaused"):
    """A user wants it to continue."""


class TaskKilled(Event, frozen=True, tag="task_killed"):
    """A user ends it at once."""


class RunEnded(RunOver, frozen=True, tag="run_ended"):
    """Its allocation has ended and the slots are back."""


class TaskEffectFailed(RunGivenUp, frozen=True, tag="effect_failed"):
    """An effect was given up after its last retry."""


TaskEvent = TaskCreated | TaskPaused | TaskUnpaused | TaskKilled | RunEnded | TaskEffectFailed


class RequestRun(Effect, frozen=True, tag="request_run"):
    """Ask for slots for the task's next run."""

    allocation_id: str
    is_preemptible: bool


class PreemptRun(RunOrder, frozen=True, tag="preempt_run"):
    """Ask the run to save its work and exit."""


class KillRun(RunOrder, frozen=True, tag="kill_run"):
    """End the run at once."""


TaskOrder = RequestRun | PreemptRun | KillRun
"""Effects that are stored until they are carried out."""
TaskEffect = TaskOrder | WriteTaskLog

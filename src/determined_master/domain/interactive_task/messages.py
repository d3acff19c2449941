"""Events, effects and state of an interactive task."""

from __future__ import annotations

from typing import Literal

from determined_master.domain.generic_task.messages import KillRun, TaskEffectFailed
from determined_master.domain.messages import Effect, Event, State, WriteTaskLog
from determined_master.domain.task.kinds import InteractiveKind

InteractiveState = Literal["ACTIVE", "STOPPING", "OVER"]


class InteractiveTask(State, frozen=True):
    id: str
    kind: InteractiveKind
    state: InteractiveState
    allocation_id: str
    """Of its only run."""
    exit_status: str = ""
    """How it ended, as users see it; empty before its end."""


class TaskLaunched(Event, frozen=True, tag="task_launched"):
    """A user has launched it."""

    task_id: str
    kind: InteractiveKind


class InteractiveTaskKilled(Event, frozen=True, tag="task_killed"):
    """It must end at once: a user kills it, its workspace is deleted, or it is unused."""

    reason: str


class InteractiveRunEnded(Event, frozen=True, tag="run_ended"):
    """Its allocation has ended and the slots are back."""

    allocation_id: str
    exit_status: str


InteractiveEvent = TaskLaunched | InteractiveTaskKilled | InteractiveRunEnded | TaskEffectFailed


class RequestOnlyRun(Effect, frozen=True, tag="request_only_run"):
    """Request the slots of its one run."""

    allocation_id: str


InteractiveOrder = RequestOnlyRun | KillRun
"""Effects that are stored until they are carried out."""
InteractiveEffect = InteractiveOrder | WriteTaskLog

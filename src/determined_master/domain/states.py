"""States of experiments, trials and allocations, and their transitions."""

from collections.abc import Iterable
from typing import Literal, get_args

RunState = Literal[
    "ACTIVE",
    "RUNNING",
    "PAUSED",
    "STOPPING_COMPLETED",
    "STOPPING_CANCELED",
    "STOPPING_KILLED",
    "STOPPING_ERROR",
    "COMPLETED",
    "CANCELED",
    "ERROR",
    "DELETING",
    "DELETE_FAILED",
    "DELETED",
]
"""The states of experiments and trials. RUNNING is stored only for detached ones; for others it
follows from their allocations."""

TERMINAL: frozenset[RunState] = frozenset({"COMPLETED", "CANCELED", "ERROR"})
LEAVING: frozenset[RunState] = frozenset({"DELETING", "DELETE_FAILED", "DELETED"})
"""States of an experiment that is being deleted, or is deleted."""
ENDED: frozenset[RunState] = TERMINAL | LEAVING
"""States in which an experiment runs and requests nothing."""
UNENDED: tuple[RunState, ...] = tuple(s for s in get_args(RunState) if s not in ENDED)
STOPPING: frozenset[RunState] = frozenset(
    {"STOPPING_COMPLETED", "STOPPING_CANCELED", "STOPPING_KILLED", "STOPPING_ERROR"}
)
STOPPED_AS: dict[RunState, RunState] = {
    "STOPPING_COMPLETED": "COMPLETED",
    "STOPPING_CANCELED": "CANCELED",
    "STOPPING_KILLED": "CANCELED",
    "STOPPING_ERROR": "ERROR",
}
"""The terminal state that each stopping state ends in."""

EXPERIMENT_NEXT: dict[RunState, frozenset[RunState]] = {
    "ACTIVE": frozenset({"PAUSED", *STOPPING}),
    "PAUSED": frozenset({"ACTIVE", *STOPPING}),
    "STOPPING_COMPLETED": frozenset({"COMPLETED", "STOPPING_ERROR"}),
    "STOPPING_CANCELED": frozenset({"CANCELED", "STOPPING_KILLED", "STOPPING_ERROR"}),
    "STOPPING_KILLED": frozenset({"CANCELED", "STOPPING_ERROR"}),
    "STOPPING_ERROR": frozenset({"ERROR"}),
    "COMPLETED": frozenset({"ACTIVE", "DELETING"}),
    "CANCELED": frozenset({"ACTIVE", "DELETING"}),
    "ERROR": frozenset({"ACTIVE", "DELETING"}),
    "DELETING": frozenset({"DELETED", "DELETE_FAILED"}),
    "DELETE_FAILED": frozenset({"DELETING"}),
    "DELETED": frozenset(),
}
"""The transitions of an experiment; one event may take several of them."""

SEVERITY: dict[RunState, int] = {
    "STOPPING_COMPLETED": 0,
    "STOPPING_CANCELED": 1,
    "STOPPING_KILLED": 2,
    "STOPPING_ERROR": 3,
}
"""A stopping trial may only change to a stop of higher severity."""

TRIAL_NEXT: dict[RunState, frozenset[RunState]] = {
    "ACTIVE": frozenset({"PAUSED", "COMPLETED", "ERROR", *STOPPING}),
    "PAUSED": frozenset({"ACTIVE", "COMPLETED", "ERROR", *STOPPING}),
    "STOPPING_COMPLETED": frozenset(
        {"STOPPING_CANCELED", "STOPPING_KILLED", "STOPPING_ERROR", "COMPLETED", "ERROR"}
    ),
    "STOPPING_CANCELED": frozenset({"STOPPING_KILLED", "STOPPING_ERROR", "CANCELED", "ERROR"}),
    "STOPPING_KILLED": frozenset({"STOPPING_ERROR", "CANCELED"}),
    "STOPPING_ERROR": frozenset({"ERROR"}),
    "COMPLETED": frozenset({"ACTIVE", "PAUSED"}),
    "CANCELED": frozenset({"ACTIVE", "PAUSED"}),
    "ERROR": frozenset({"ACTIVE", "PAUSED"}),
}
"""The transitions of a trial; a closed one continues when its experiment does."""

DETACHED_NEXT: dict[RunState, frozenset[RunState]] = {
    "PAUSED": frozenset({"RUNNING", *TERMINAL}),
    "RUNNING": frozenset({"PAUSED", *TERMINAL}),
    "COMPLETED": frozenset({"RUNNING"}),
    "CANCELED": frozenset({"RUNNING"}),
    "ERROR": frozenset({"RUNNING", "PAUSED", "COMPLETED", "CANCELED"}),
}
"""The transitions of a detached trial, which its program reports. An ended one runs again when
its program starts the next run; an ERROR for silence ends with the next report."""

DETACHED_WEIGHT: dict[RunState, int] = {
    "PAUSED": 10,
    "CANCELED": 15,
    "ERROR": 20,
    "COMPLETED": 30,
    "RUNNING": 40,
}
"""A detached experiment has the state of its trial with the highest weight."""

AllocationState = Literal[
    "PENDING",
    "ASSIGNED",
    "PULLING",
    "STARTING",
    "RUNNING",
    "WAITING",
    "TERMINATING",
    "TERMINATED",
]
"""In the order of progress: an allocation never moves back."""

ALLOCATION_ORDER: dict[AllocationState, int] = {
    "PENDING": 0,
    "ASSIGNED": 1,
    "PULLING": 2,
    "STARTING": 3,
    "RUNNING": 4,
    "WAITING": 5,
    "TERMINATING": 6,
    "TERMINATED": 7,
}


_SHOWN_AS: dict[AllocationState, str] = {
    "PENDING": "QUEUED",
    "ASSIGNED": "QUEUED",
    "PULLING": "PULLING",
    "STARTING": "STARTING",
    "RUNNING": "RUNNING",
    "WAITING": "QUEUED",
    "TERMINATING": "RUNNING",
    "TERMINATED": "QUEUED",
}


_ORDER = ("RUNNING", "STARTING", "PULLING", "QUEUED")


SHOWN_WHEN_ACTIVE = frozenset(_ORDER)


CHANGING: frozenset[str] = frozenset(
    {*UNENDED, *SHOWN_WHEN_ACTIVE, *ALLOCATION_ORDER, "STOPPING_PAUSED", "DELETING"}
) - {"TERMINATED"}
"""The names, in answers of the API, of states that are not the last of an experiment, a trial or a
task."""


def shown_state(stored: str, allocations: Iterable[AllocationState]) -> str:
    """The stored state; for ACTIVE, the most advanced state of the open allocations."""
    if stored != "ACTIVE":
        return stored
    shown = {_SHOWN_AS[state] for state in allocations}
    return next((state for state in _ORDER if state in shown), "QUEUED")

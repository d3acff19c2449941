"""States of experiments, trials and allocations, and which may follow which."""

from typing import Literal

RunState = Literal[
    "ACTIVE",
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
"""One vocabulary for experiments and trials."""

TERMINAL: frozenset[RunState] = frozenset({"COMPLETED", "CANCELED", "ERROR"})
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
"""In the order of progress: an allocation never goes back."""

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

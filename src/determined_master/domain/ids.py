"""Identifiers and how they are built from each other."""

import uuid
from typing import NewType

from determined_master.domain.errors import InvalidArgument

ExperimentId = NewType("ExperimentId", int)
TrialId = NewType("TrialId", int)
RequestId = NewType("RequestId", str)
"""A trial's name inside its search: a UUID drawn from the search's own generator."""
TaskId = NewType("TaskId", str)
AllocationId = NewType("AllocationId", str)


def trial_task_id(experiment: ExperimentId, request: RequestId, continued: int = 0) -> TaskId:
    """The task of a trial; `continued` counts the earlier tasks of a continued experiment."""
    base = f"{experiment}.{request}"
    return TaskId(f"{base}-{continued}" if continued else base)


def allocation_id(task: TaskId, run: int) -> AllocationId:
    """The `run`-th allocation of a task; runs count from 1."""
    return AllocationId(f"{task}.{run}")


def run_of(allocation: str) -> int:
    """Which run of its task an allocation is."""
    return int(allocation.rpartition(".")[2])


def checked_uuid(text: str) -> str:
    """The UUID in its canonical form.

    Raises:
        InvalidArgument: it is not one.
    """
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise InvalidArgument(
            f"invalid UUID length: {len(text)}: {text!r} is not a valid uuid"
        ) from None

"""Which checkpoints the token of a task is good for."""

from __future__ import annotations

from collections.abc import Collection

from determined_master.domain.access import TaskScope


def may_read(scope: TaskScope, uuid: str, experiment_id: int | None, source: str | None) -> bool:
    """Whether a task may read the record of a checkpoint.

    Its experiment's, whichever of its trials stored them, since trials of a search start from
    each other's; and that from which its trial started, whose steps it goes on from.

    Args:
        uuid: the checkpoint's.
        experiment_id: whose it is; None for one that belongs to none.
        source: what the task's trial started from.
    """
    return uuid == source or (experiment_id is not None and experiment_id == scope.experiment_id)


def may_tell_of(
    scope: TaskScope, uuid: str, trial_id: int | None, collected: Collection[str]
) -> bool:
    """Whether a task may tell that files of a checkpoint are gone.

    A trial deletes what it has stored itself, a collecting task what it was started for.

    Args:
        uuid: the checkpoint's.
        trial_id: whose it is; None for one that is no trial's.
        collected: what the task was started to delete.
    """
    return uuid in collected or (trial_id is not None and trial_id == scope.trial_id)

"""Which checkpoints the token of a task shows."""

from __future__ import annotations

from determined_master.domain.access.rules import TaskScope


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

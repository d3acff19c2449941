"""The aggregate of a generic task: its kind and rows."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.aggregates.rows import ended_at, write_log_lines
from determined_master.domain.generic_task import machine as task_machine
from determined_master.domain.generic_task import messages as task
from determined_master.domain.ids import TaskId
from determined_master.engine.kind import Change, Kind, tag_of
from determined_master.store.db import Conn
from determined_master.store.tasks import generic_tasks


async def project_generic_tasks(
    conn: Conn, changes: Sequence[Change[task.GenericTask, task.TaskEvent]]
) -> None:
    rows = [
        (c.after.id, c.after.state, c.after.reason, ended_at(c.after.state, c.at)) for c in changes
    ]
    await generic_tasks.update_generic_tasks(conn, rows)
    await write_log_lines(conn, changes)


def _given_up(effect: task.TaskOrder, error: str) -> task.TaskEvent:
    """Reports the allocation of the run that the effect was about."""
    return task.TaskEffectFailed(
        effect=tag_of(effect), error=error, allocation_id=effect.allocation_id
    )


GENERIC_TASK: Kind[TaskId, task.GenericTask, task.TaskEvent, task.TaskOrder] = Kind(
    name="task",
    state=task.GenericTask,
    event=task.TaskEvent,
    effect=task.TaskOrder,
    step=task_machine.step,
    given_up=_given_up,
    project=project_generic_tasks,
)

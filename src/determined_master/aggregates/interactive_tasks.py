"""The aggregate of an interactive task: its kind and rows."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.aggregates.rows import write_log_lines
from determined_master.domain.generic_task import messages as task
from determined_master.domain.ids import TaskId
from determined_master.domain.interactive_task import machine as interactive_machine
from determined_master.domain.interactive_task import messages as interactive
from determined_master.engine.kind import Change, Kind, tag_of
from determined_master.store.db import Conn
from determined_master.store.tasks import interactive_tasks


async def project_interactive_tasks(
    conn: Conn,
    changes: Sequence[Change[interactive.InteractiveTask, interactive.InteractiveEvent]],
) -> None:
    rows = [
        (c.after.id, c.after.state, c.after.exit_status, c.at if c.after.state == "OVER" else None)
        for c in changes
    ]
    await interactive_tasks.update_interactive_tasks(conn, rows)
    await write_log_lines(conn, changes)


def _given_up(effect: interactive.InteractiveOrder, error: str) -> interactive.InteractiveEvent:
    """Reports the allocation of the run that the effect was about."""
    return task.TaskEffectFailed(
        effect=tag_of(effect), error=error, allocation_id=effect.allocation_id
    )


INTERACTIVE_TASK: Kind[
    TaskId, interactive.InteractiveTask, interactive.InteractiveEvent, interactive.InteractiveOrder
] = Kind(
    name="interactive",
    state=interactive.InteractiveTask,
    event=interactive.InteractiveEvent,
    effect=interactive.InteractiveOrder,
    step=interactive_machine.step,
    given_up=_given_up,
    project=project_interactive_tasks,
)

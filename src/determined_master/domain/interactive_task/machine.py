"""The life of an interactive task: it is launched, runs once, and ends.

Its program holds a person's work, so it is never preempted, and never started a second time: any
end of its one run ends the task.

Source: task-contract 7.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from determined_master.domain import ids
from determined_master.domain.errors import NotFound
from determined_master.domain.generic_task.messages import KillRun, TaskEffectFailed
from determined_master.domain.interactive_task.messages import (
    InteractiveEffect,
    InteractiveEvent,
    InteractiveOrder,
    InteractiveRunEnded,
    InteractiveTask,
    InteractiveTaskKilled,
    RequestOnlyRun,
    TaskLaunched,
)
from determined_master.domain.messages import WriteTaskLog, by_tag

Step = tuple[InteractiveTask, list[InteractiveEffect]]
_ORDERS: Mapping[str, type[InteractiveOrder]] = by_tag(InteractiveOrder)


def step(state: InteractiveTask | None, event: InteractiveEvent, context: None = None) -> Step:
    """Advance one interactive task by one event.

    Raises:
        NotFound: there is no such task, and the event does not make it.
    """
    if isinstance(event, TaskLaunched):
        return _launch(event) if state is None else (state, [])
    if state is None:
        raise NotFound("there is no such task: it was never launched")
    if state.state == "OVER":
        return state, []
    match event:
        case InteractiveTaskKilled():
            # Said again it is ordered again: the first may have got lost on its way.
            stopping = replace(state, state="STOPPING")
            return stopping, [KillRun(allocation_id=state.allocation_id, reason=event.reason)]
        case InteractiveRunEnded():
            return _end(state, event.exit_status), []
        case TaskEffectFailed():
            return _effect_failed(state, event)
        case _:
            assert_never(event)


def _launch(event: TaskLaunched) -> Step:
    allocation_id = ids.allocation_id(ids.TaskId(event.task_id), 1)
    launched = InteractiveTask(
        id=event.task_id, kind=event.kind, state="ACTIVE", allocation_id=allocation_id
    )
    return launched, [RequestOnlyRun(allocation_id=allocation_id)]


def _effect_failed(state: InteractiveTask, event: TaskEffectFailed) -> Step:
    """Without a request there is nothing to wait for; a kill can be repeated."""
    text = f"{event.effect.replace('_', ' ')} failed: {event.error}"
    logged = WriteTaskLog(task_id=state.id, text=text, level="ERROR")
    order = _ORDERS.get(event.effect)
    if order is None or issubclass(order, KillRun):
        return state, [logged]
    if issubclass(order, RequestOnlyRun):
        return _end(state, text), [logged]
    assert_never(order)


def _end(state: InteractiveTask, exit_status: str) -> InteractiveTask:
    return replace(state, state="OVER", exit_status=exit_status)

"""The life of a generic task: one run after another, as often as it is paused and continued.

Its first run cannot be preempted, so a pause ends it. Later runs know that they were paused
before, and are asked to exit. A run that fails or is lost ends the task: nobody knows whether the
program can be started twice.

Source: task-contract 7.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from determined_master.domain import ids
from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.generic_task.messages import (
    GenericState,
    GenericTask,
    KillRun,
    PreemptRun,
    RequestRun,
    RunEnded,
    TaskCreated,
    TaskEffect,
    TaskEffectFailed,
    TaskEvent,
    TaskKilled,
    TaskOrder,
    TaskPaused,
    TaskUnpaused,
)
from determined_master.domain.messages import WriteTaskLog, by_tag
from determined_master.domain.states import TERMINAL
from determined_master.domain.task.actions import ACTIONS

Step = tuple[GenericTask, list[TaskEffect]]

_PAUSE = "user requested pause"
_KILL = "user requested kill"
_ORDERS: Mapping[str, type[TaskOrder]] = by_tag(TaskOrder)


def step(state: GenericTask | None, event: TaskEvent, context: None = None) -> Step:
    """Advance one generic task by one event.

    Raises:
        NotFound: there is no such task, and the event does not make it.
        FailedPrecondition: it is in a state in which it cannot be paused, or continue.
    """
    if isinstance(event, TaskCreated):
        if state is not None:
            return state, []
        return _start(GenericTask(id=event.task_id, state="ACTIVE"))
    if state is None:
        raise NotFound("there is no such task: it was never created")
    match event:
        case TaskPaused():
            return _pause(state)
        case TaskUnpaused():
            return _continue(state)
        case TaskKilled():
            return _kill(state)
        case RunEnded():
            return _run_ended(state, event)
        case TaskEffectFailed():
            return _effect_failed(state, event)
        case _:
            assert_never(event)


def _start(state: GenericTask) -> Step:
    run_id = state.run_id + 1
    allocation_id = ids.allocation_id(ids.TaskId(state.id), run_id)
    after = replace(state, state="ACTIVE", run_id=run_id, allocation_id=allocation_id)
    return after, [RequestRun(allocation_id=allocation_id, is_preemptible=run_id > 1)]


def _pause(state: GenericTask) -> Step:
    if state.state in ("PAUSED", "STOPPING_PAUSED"):
        return state, []
    if state.state not in ACTIONS["pause"].states or state.allocation_id is None:
        raise FailedPrecondition(f"cannot pause task {state.id} as it is {state.state}")
    stopping = replace(state, state="STOPPING_PAUSED")
    order = KillRun if state.run_id == 1 else PreemptRun
    return stopping, [order(allocation_id=state.allocation_id, reason=_PAUSE)]


def _continue(state: GenericTask) -> Step:
    if state.state not in ACTIONS["unpause"].states:
        raise FailedPrecondition(
            f"cannot unpause task {state.id} as it is not in paused state: it is {state.state}"
        )
    return _start(state)


def _kill(state: GenericTask) -> Step:
    """A kill text again is ordered again: the first may have got lost on its way."""
    if state.state in TERMINAL:
        return state, []
    if state.allocation_id is None:
        return _end(state, "CANCELED", _KILL)
    stopping = replace(state, state="STOPPING_CANCELED")
    return stopping, [KillRun(allocation_id=state.allocation_id, reason=_KILL)]


def _run_ended(state: GenericTask, event: RunEnded) -> Step:
    if event.allocation_id != state.allocation_id:
        return state, []
    idle, outcome = replace(state, allocation_id=None), event.outcome
    if state.state == "STOPPING_CANCELED":
        return _end(idle, "CANCELED", _KILL)
    match outcome.kind:
        case "completed":
            return _end(idle, "COMPLETED", "")
        case "failed" | "refused":
            return _end(idle, "ERROR", outcome.message)
        case "preempted" | "killed" | "lost" if state.state == "STOPPING_PAUSED":
            return replace(idle, state="PAUSED"), []
        case "preempted":
            return _start(idle)  # another job needed the slots
        case "killed":
            return _end(idle, "CANCELED", outcome.message)
        case "lost":
            return _end(idle, "ERROR", outcome.message)
        case _:
            assert_never(outcome.kind)


def _effect_failed(state: GenericTask, event: TaskEffectFailed) -> Step:
    if state.state in TERMINAL or event.allocation_id not in ("", state.allocation_id):
        return state, []
    text = f"{event.effect.replace('_', ' ')} failed: {event.error}"
    logged = WriteTaskLog(task_id=state.id, text=text, level="ERROR")
    order = _ORDERS.get(event.effect)
    if order is None:
        return state, [logged]  # only an earlier release gave such orders
    if issubclass(order, RequestRun):
        to: GenericState = "CANCELED" if state.state == "STOPPING_CANCELED" else "ERROR"
        after, effects = _end(replace(state, allocation_id=None), to, text)
        return after, [logged, *effects]
    if issubclass(order, PreemptRun):
        if state.allocation_id is None:
            return state, [logged]
        return state, [logged, KillRun(allocation_id=state.allocation_id, reason=text)]
    if issubclass(order, KillRun):
        return state, [logged]
    assert_never(order)


def _end(state: GenericTask, to: GenericState, reason: str) -> Step:
    return replace(state, state=to, reason=reason), []

"""The catalogue of actions on tasks says what the machine of generic tasks does."""

from __future__ import annotations

from typing import get_args

import pytest

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.generic_task import messages as t
from determined_master.domain.generic_task.machine import step
from determined_master.domain.states import TERMINAL
from determined_master.domain.task.actions import ACTIONS

STATES: tuple[t.GenericState, ...] = get_args(t.GenericState)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("name", "event"),
    [("pause", t.TaskPaused()), ("unpause", t.TaskUnpaused()), ("kill", t.TaskKilled())],
)
def test_an_action_changes_a_task_in_its_states_alone(
    name: str, event: t.TaskEvent, state: t.GenericState
) -> None:
    is_idle = state == "PAUSED" or state in TERMINAL
    task = t.GenericTask(id="1", state=state, run_id=1, allocation_id=None if is_idle else "1.1")
    try:
        is_changed = step(task, event) != (task, [])
    except FailedPrecondition:
        is_changed = False
    assert is_changed == (state in ACTIONS[name].states)

"""An interactive task from its launch to the end of its only run."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.builders import log_of

from determined_master.domain.errors import NotFound
from determined_master.domain.generic_task.messages import KillRun, TaskEffectFailed
from determined_master.domain.interactive_task import messages as i
from determined_master.domain.interactive_task.machine import step

TASK = "11111111-2222-4333-8444-555555555555"
RUN = f"{TASK}.1"
LAUNCHED = i.TaskLaunched(task_id=TASK, kind="COMMAND")
ACTIVE = step(None, LAUNCHED)[0]
KILLED = i.InteractiveTaskKilled(reason="user requested kill")
STOPPING = step(ACTIVE, KILLED)[0]
ENDED = i.InteractiveRunEnded(allocation_id=RUN, exit_status="allocation exited successfully")
OVER = step(ACTIVE, ENDED)[0]


@pytest.mark.parametrize("kind", get_args(i.InteractiveKind))
def test_a_launched_task_asks_for_its_only_run(kind: i.InteractiveKind) -> None:
    state, effects = step(None, i.TaskLaunched(task_id=TASK, kind=kind))
    assert (state.kind, state.state, state.allocation_id) == (kind, "ACTIVE", RUN)
    assert effects == [i.RequestOnlyRun(allocation_id=RUN)]
    assert step(state, LAUNCHED) == (state, [])


@pytest.mark.parametrize("state", [ACTIVE, STOPPING])
def test_the_end_of_its_run_is_its_end(state: i.InteractiveTask) -> None:
    after, effects = step(state, ENDED)
    assert (after.state, after.exit_status) == ("OVER", "allocation exited successfully")
    assert effects == []


@pytest.mark.parametrize("state", [ACTIVE, STOPPING])
def test_a_kill_ends_its_run_and_may_be_said_again(state: i.InteractiveTask) -> None:
    after, effects = step(state, KILLED)
    assert after.state == "STOPPING"
    assert effects == [KillRun(allocation_id=RUN, reason="user requested kill")]


@pytest.mark.parametrize("event", [LAUNCHED, KILLED, ENDED])
def test_an_ended_allocation_stays_ended(event: i.InteractiveEvent) -> None:
    assert step(OVER, event) == (OVER, [])


def test_a_task_that_cannot_ask_for_its_run_ends_with_the_reason_in_its_log() -> None:
    failed = TaskEffectFailed(effect="request_only_run", error="no", allocation_id=RUN)
    state, effects = step(ACTIVE, failed)
    assert (state.state, state.exit_status) == ("OVER", "request only run failed: no")
    assert log_of(effects) == [("ERROR", "request only run failed: no")]


def test_a_failed_kill_is_reported_and_can_be_repeated() -> None:
    failed = TaskEffectFailed(effect="kill_run", error="no", allocation_id=RUN)
    state, effects = step(STOPPING, failed)
    assert state == STOPPING
    assert log_of(effects) == [("ERROR", "kill run failed: no")]
    assert step(state, KILLED)[1] == [KillRun(allocation_id=RUN, reason="user requested kill")]


def test_a_machine_never_launched_is_not_found() -> None:
    with pytest.raises(NotFound):
        step(None, KILLED)


EVENTS = st.sampled_from(
    [
        LAUNCHED,
        KILLED,
        ENDED,
        TaskEffectFailed(effect="request_only_run", error="no", allocation_id=RUN),
        TaskEffectFailed(effect="kill_run", error="no", allocation_id=RUN),
    ]
)


@given(st.lists(EVENTS, max_size=8))
def test_in_whatever_order_it_asks_for_one_run_and_never_leaves_its_end(
    events: list[i.InteractiveEvent],
) -> None:
    state, effects = step(None, LAUNCHED)
    asked = [e for e in effects if isinstance(e, i.RequestOnlyRun)]
    for event in events:
        was_over = state.state == "OVER"
        state, effects = step(state, event)
        asked += [e for e in effects if isinstance(e, i.RequestOnlyRun)]
        assert not was_over or (state.state, effects) == ("OVER", [])
    assert len(asked) == 1
    assert step(state, ENDED)[0].state == "OVER"

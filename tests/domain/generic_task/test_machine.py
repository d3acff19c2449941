"""A generic task from its creation to its end, over pauses and runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.domain.builders import log_of, of_type

from determined_master.domain.allocation.messages import AllocationOutcome
from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.generic_task import messages as t
from determined_master.domain.generic_task.machine import step
from determined_master.domain.states import TERMINAL

TASK = "11111111-2222-4333-8444-555555555555"
KINDS = ("completed", "preempted", "killed", "failed", "lost", "refused")
CREATED = t.TaskCreated(task_id=TASK)
ACTIVE = step(None, CREATED)[0]
PAUSING = step(ACTIVE, t.TaskPaused())[0]


def ended(kind: Any, run_id: int = 1, message: str = "why") -> t.RunEnded:
    outcome = AllocationOutcome(kind=kind, message=message)
    return t.RunEnded(allocation_id=f"{TASK}.{run_id}", outcome=outcome)


PAUSED = step(PAUSING, ended("killed"))[0]
AGAIN = step(PAUSED, t.TaskUnpaused())[0]


@covers("scheduling-and-provisioning a.4.generic")
def test_a_new_task_asks_for_a_run_that_keeps_its_slots() -> None:
    state, effects = step(None, CREATED)
    assert (state.state, state.allocation_id) == ("ACTIVE", f"{TASK}.1")
    assert effects == [t.RequestRun(allocation_id=f"{TASK}.1", is_preemptible=False)]
    assert step(state, CREATED) == (state, [])


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("completed", "COMPLETED"),
        ("failed", "ERROR"),
        ("refused", "ERROR"),
        ("lost", "ERROR"),
        ("killed", "CANCELED"),
    ],
)
def test_its_one_run_decides_how_it_ends(kind: str, state: str) -> None:
    after, effects = step(ACTIVE, ended(kind))
    assert (after.state, after.allocation_id, effects) == (state, None, [])
    assert after.reason == ("" if kind == "completed" else "why")


def test_a_pause_of_the_first_run_ends_it_at_once() -> None:
    state, effects = step(ACTIVE, t.TaskPaused())
    assert state.state == "STOPPING_PAUSED"
    assert effects == [t.KillRun(allocation_id=f"{TASK}.1", reason="user requested pause")]
    assert step(state, t.TaskPaused()) == (state, [])
    assert step(state, ended("killed"))[0].state == "PAUSED"


@covers("scheduling-and-provisioning a.4.generic")
def test_a_continued_task_gets_a_preemptible_run() -> None:
    state, effects = step(PAUSED, t.TaskUnpaused())
    assert (state.state, state.run_id) == ("ACTIVE", 2)
    assert effects == [t.RequestRun(allocation_id=f"{TASK}.2", is_preemptible=True)]
    state, effects = step(state, t.TaskPaused())
    assert effects == [t.PreemptRun(allocation_id=f"{TASK}.2", reason="user requested pause")]
    assert step(state, ended("preempted", 2))[0].state == "PAUSED"


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("completed", "COMPLETED"),
        ("failed", "ERROR"),
        ("preempted", "PAUSED"),
        ("lost", "PAUSED"),
    ],
)
def test_a_run_may_end_in_its_own_way_before_the_pause_reaches_it(kind: str, state: str) -> None:
    assert step(PAUSING, ended(kind))[0].state == state


def test_a_run_that_had_to_make_room_begins_again() -> None:
    state, effects = step(AGAIN, ended("preempted", 2))
    assert (state.state, state.run_id) == ("ACTIVE", 3)
    assert effects == [t.RequestRun(allocation_id=f"{TASK}.3", is_preemptible=True)]


@pytest.mark.parametrize("state", [ACTIVE, PAUSING, AGAIN])
def test_a_kill_ends_what_runs_however_it_ends(state: t.GenericTask) -> None:
    killed, effects = step(state, t.TaskKilled())
    assert killed.state == "STOPPING_CANCELED"
    order = t.KillRun(allocation_id=f"{TASK}.{state.run_id}", reason="user requested kill")
    assert effects == [order]
    assert step(killed, t.TaskKilled()) == (killed, [order])
    for kind in KINDS:
        assert step(killed, ended(kind, state.run_id))[0].state == "CANCELED"


def test_a_paused_task_is_killed_without_a_run() -> None:
    state, effects = step(PAUSED, t.TaskKilled())
    assert (state.state, effects) == ("CANCELED", [])


@pytest.mark.parametrize("state", [ACTIVE, PAUSING])
def test_only_a_paused_task_continues(state: t.GenericTask) -> None:
    with pytest.raises(FailedPrecondition, match="as it is not in paused state"):
        step(state, t.TaskUnpaused())


@pytest.mark.parametrize("kind", ["completed", "killed", "failed"])
def test_an_ended_allocation_stays_ended(kind: str) -> None:
    over, _ = step(ACTIVE, ended(kind))
    for event in (t.TaskKilled(), ended("failed"), CREATED):
        assert step(over, event) == (over, [])
    for refused in (t.TaskPaused(), t.TaskUnpaused()):
        with pytest.raises(FailedPrecondition, match=over.state):
            step(over, refused)


def test_the_end_of_another_run_changes_nothing() -> None:
    assert step(AGAIN, ended("failed", 1)) == (AGAIN, [])


def test_a_queue_never_created_is_not_found() -> None:
    with pytest.raises(NotFound):
        step(None, t.TaskPaused())


def test_slots_that_cannot_be_asked_for_are_an_error_with_a_line_in_the_log() -> None:
    failed = t.TaskEffectFailed(effect="request_run", error="x", allocation_id=f"{TASK}.1")
    state, effects = step(ACTIVE, failed)
    assert (state.state, state.allocation_id) == ("ERROR", None)
    assert log_of(effects) == [("ERROR", "request run failed: x")]
    killed, _ = step(ACTIVE, t.TaskKilled())
    assert step(killed, failed)[0].state == "CANCELED"


def test_a_run_that_cannot_be_preempted_is_ended() -> None:
    pausing, _ = step(AGAIN, t.TaskPaused())
    failed = t.TaskEffectFailed(effect="preempt_run", error="x", allocation_id=f"{TASK}.2")
    state, effects = step(pausing, failed)
    assert state == pausing
    assert [e.allocation_id for e in of_type(effects, t.KillRun)] == [f"{TASK}.2"]


events = st.one_of(
    st.sampled_from([CREATED, t.TaskPaused(), t.TaskUnpaused(), t.TaskKilled()]),
    st.builds(ended, st.sampled_from(KINDS), st.integers(1, 4)),
    st.builds(
        t.TaskEffectFailed,
        effect=st.sampled_from(["request_run", "preempt_run", "kill_run"]),
        error=st.just("x"),
        allocation_id=st.builds(f"{TASK}.{{}}".format, st.integers(1, 4)),
    ),
)


@given(st.lists(events, max_size=30))
def test_in_any_order_of_events_at_most_one_run_is_open_and_none_at_the_end(order) -> None:
    state, opened, closed = None, [], set()
    for event in [CREATED, *order]:
        try:
            state, effects = step(state, event)
        except FailedPrecondition:
            continue
        opened += [e.allocation_id for e in of_type(effects, t.RequestRun)]
        closed = set(opened) - {state.allocation_id}
        assert len(opened) - len(closed) <= 1
        assert (state.allocation_id is None) == (
            state.state in TERMINAL or state.state == "PAUSED"
        )
        assert len(msgspec.json.encode(state)) < 1000
    assert len(opened) == len(set(opened)) == state.run_id

"""Asking an allocation to leave, and killing it."""

import msgspec
import pytest
from tests.covers import covers
from tests.domain.builders import (
    assigned,
    changed,
    exited,
    log_of,
    of_type,
    run,
    running,
    waiting,
)

from determined_master.domain.allocation import messages as alloc
from determined_master.domain.allocation.machine import step
from determined_master.domain.messages import CancelTimer, SetTimer

PAUSE = alloc.PreemptRequested(reason="user requested pause")
KILL = alloc.KillRequested(reason="user requested kill")


def timers(effects) -> dict[str, float]:
    return {t.name: t.after_s for t in of_type(effects, SetTimer)}


@covers("scheduling-and-provisioning b.1.graceful")
def test_a_ready_allocation_is_asked_and_given_its_time() -> None:
    state, effects = step(running(preemption_timeout_s=90), PAUSE)
    assert state.preempt_reason == "user requested pause"
    assert log_of(effects) == [
        (
            "INFO",
            "gracefully terminating allocation's remaining resources "
            "(reason: user requested pause)",
        )
    ]
    assert timers(effects) == {"preemption": 90}
    [timer] = of_type(effects, SetTimer)
    event = msgspec.json.decode(timer.event, type=alloc.AllocationEvent)
    assert event == alloc.PreemptionExpired()
    assert of_type(effects, alloc.SignalContainer) == []


def test_asking_again_changes_nothing() -> None:
    state, _ = step(running(), PAUSE)
    assert step(state, alloc.PreemptRequested(reason="another")) == (state, [])


@pytest.mark.parametrize("code", [0, 1])
def test_an_acknowledged_request_ends_preempted_whatever_the_exit_code(code) -> None:
    state, effects = run(PAUSE, alloc.PreemptAcknowledged(), exited("a", code), state=running())
    assert state.outcome.kind == "preempted"
    assert state.outcome.message.startswith(
        "allocation preempted after all resources exited: resources "
    )
    assert of_type(effects, CancelTimer) == [CancelTimer("preemption")]


def test_exit_0_without_acknowledgement_completes_it() -> None:
    assert run(PAUSE, exited("a", 0), state=running())[0].outcome.kind == "completed"


def test_a_crash_without_acknowledgement_fails_it() -> None:
    assert run(PAUSE, exited("a", 1), state=running())[0].outcome.kind == "failed"


def test_an_acknowledgement_nobody_asked_for_hides_no_failure() -> None:
    state, _ = run(alloc.PreemptAcknowledged(), exited("a", 1), state=running())
    assert state.outcome.kind == "failed"
    survivor, _ = run(exited("a", 1), PAUSE, alloc.PreemptAcknowledged(), state=running("a", "b"))
    assert step(survivor, exited("b", 137))[0].outcome.kind == "failed"


@covers("scheduling-and-provisioning b.1.grace")
@covers("experiment-config 17.preemption_timeout 2.preemption_timeout")
def test_a_task_that_does_not_exit_in_time_is_killed() -> None:
    state, effects = run(PAUSE, alloc.PreemptionExpired(), state=running())
    assert of_type(effects, alloc.SignalContainer) == [alloc.SignalContainer("c-a", "a")]
    assert timers(effects) == {"kill_retry": 30}
    assert "did not leave within 60 s" in log_of(effects)[0][1]
    assert "user requested pause" in log_of(effects)[0][1]
    assert step(state, exited("a", 137))[0].outcome.kind == "killed"


@covers("scheduling-and-provisioning b.1.graceful")
@pytest.mark.parametrize(
    "state",
    [
        running(ready=False),
        running(is_preemptible=False),
        run(assigned("a"), state=waiting())[0],
    ],
    ids=["not ready", "not preemptible", "not started"],
)
def test_a_task_that_cannot_receive_the_request_is_killed_cleanly(state) -> None:
    state, effects = step(state, PAUSE)
    assert state.preempt_reason == "user requested pause"
    assert of_type(effects, alloc.SignalContainer) == [alloc.SignalContainer("c-a", "a")]
    state, effects = step(state, exited("a", 137))
    assert state.outcome.kind == "killed"
    assert {level for level, _ in log_of(effects)} == {"INFO"}


def test_one_that_finished_before_the_kill_of_a_pause_reached_it_is_complete() -> None:
    state, _ = run(PAUSE, exited("a", 0), state=running(ready=False))
    assert state.outcome.kind == "completed"


def test_an_end_without_any_exit_code_does_not_count_as_finished() -> None:
    state, _ = run(PAUSE, changed("a", "TERMINATED"), state=running(ready=False))
    assert state.outcome.kind == "killed"


@covers("scheduling-and-provisioning b.1.unstarted")
@pytest.mark.parametrize("event", [PAUSE, KILL])
def test_one_that_still_waits_for_slots_ends_at_once(event) -> None:
    state, effects = step(waiting(), event)
    assert (state.state, state.outcome.kind) == ("TERMINATED", "killed")
    assert len(of_type(effects, alloc.ReportAllocationEnd)) == 1
    assert of_type(effects, CancelTimer) == []


@covers("scheduling-and-provisioning b.1.kill_again")
def test_a_kill_signals_every_container_and_comes_back_until_all_are_gone() -> None:
    state, effects = step(running("a", "b"), KILL)
    assert [s.signal for s in of_type(effects, alloc.SignalContainer)] == [9, 9]
    assert timers(effects) == {"kill_retry": 30}
    state, _ = step(state, exited("a", 137))
    state, effects = step(state, alloc.KillExpired())
    assert of_type(effects, alloc.SignalContainer) == [alloc.SignalContainer("c-b", "b")]
    assert timers(effects) == {"kill_retry": 30}
    state, effects = step(state, exited("b", 137))
    assert of_type(effects, CancelTimer) == [CancelTimer("kill_retry")]
    assert state.outcome.kind == "killed"
    assert state.outcome.exit_code == 137
    assert state.outcome.message == (
        "allocation killed after all resources exited: resources were killed"
    )
    assert log_of(effects)[0][1].startswith("killed: resources failed with non-zero exit code")


@covers("scheduling-and-provisioning b.1.kill_cooldown")
def test_a_kill_said_again_signals_again() -> None:
    state, _ = step(running(), KILL)
    assert step(state, KILL) == (state, [alloc.SignalContainer("c-a", "a")])


def test_a_kill_outranks_a_request_to_exit() -> None:
    asked, _ = run(PAUSE, alloc.PreemptAcknowledged(), KILL, exited("a", 0), state=running())
    assert asked.outcome.kind == "killed"


def test_a_kill_does_not_hide_that_a_container_failed_before() -> None:
    failing, effects = run(exited("a", 3), KILL, exited("b", 137), state=running("a", "b"))
    assert (failing.outcome.kind, failing.outcome.exit_code) == ("failed", 3)
    assert "allocation failed: " in failing.outcome.message
    assert log_of(effects)[-1][0] == "ERROR"


def test_a_failure_after_a_kill_is_its_consequence() -> None:
    killed, _ = run(KILL, exited("a", 3), exited("b", 137), state=running("a", "b"))
    assert killed.outcome.kind == "killed"


def test_a_kill_hides_the_loss_of_an_agent() -> None:
    gone = alloc.ContainerFailure(type="agent_failed", message="agent a was lost")
    lost = alloc.AgentLost(agent_id="a", container_ids=("c-a",), failure=gone)
    state, _ = run(lost, KILL, exited("b", 137), state=running("a", "b"))
    assert state.outcome.kind == "killed"


def test_a_kill_takes_back_the_time_to_leave() -> None:
    state, _ = step(running(), PAUSE)
    state, effects = step(state, KILL)
    assert of_type(effects, CancelTimer) == [CancelTimer("preemption")]
    assert step(state, alloc.PreemptionExpired()) == (state, [])


def test_timers_without_their_reason_change_nothing() -> None:
    state = running()
    assert step(state, alloc.PreemptionExpired()) == (state, [])
    assert step(state, alloc.KillExpired()) == (state, [])

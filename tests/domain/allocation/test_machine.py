"""An allocation from its request to the end of its last container."""

import msgspec
import pytest
from tests.covers import covers
from tests.domain.builders import (
    TASK,
    assigned,
    changed,
    exited,
    log_of,
    of_type,
    requested,
    run,
    running,
    waiting,
)

from determined_master.domain.allocation import container_rows
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.allocation.machine import step
from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.task.proxy_port import ProxyPort

NAME = "Trial 3 (Experiment 7)"


def failure(kind: alloc.FailureType, message: str = "it went", code: int | None = None):
    return alloc.ContainerFailure(type=kind, message=message, exit_code=code)


def test_a_request_waits_and_says_so_in_the_log() -> None:
    state, effects = run(requested())
    assert state.state == "PENDING"
    assert log_of(effects) == [("INFO", f"Scheduling {NAME} (id: {TASK}.1)")]


@covers("scheduling-and-provisioning a.1.said_twice")
def test_a_repeated_request_changes_nothing() -> None:
    state = running()
    assert step(state, requested()) == (state, [])


def test_events_of_an_unknown_allocation_are_refused() -> None:
    with pytest.raises(NotFound, match="never requested"):
        step(None, alloc.KillRequested(reason="user requested kill"))


def test_ranks_follow_the_order_of_agent_ids() -> None:
    state, effects = run(requested(slots=3), assigned("b", "c", "a"))
    assert [(c.agent_id, c.rank) for c in state.containers] == [("a", 0), ("b", 1), ("c", 2)]
    starts = of_type(effects, alloc.StartContainer)
    assert [(s.container_id, s.rank, s.count) for s in starts] == [
        ("c-a", 0, 3),
        ("c-b", 1, 3),
        ("c-c", 2, 3),
    ]
    assert log_of(effects) == [("INFO", f"{NAME} was assigned to an agent")]


@covers("scheduling-and-provisioning b.1.stale")
@pytest.mark.parametrize(
    "state",
    [running(), run(alloc.KillRequested(reason="r"), state=waiting())[0]],
    ids=["running", "over"],
)
def test_slots_for_an_allocation_that_waits_for_none_are_refused(state) -> None:
    with pytest.raises(FailedPrecondition, match="plan is stale"):
        step(state, assigned("b"))


@covers("helm-and-kubernetes 12.gang_states")
def test_its_state_is_that_of_its_most_progressed_container() -> None:
    state, _ = run(assigned("a", "b"), state=waiting(slots=2))
    seen = [state.state]
    for event in (
        changed("a", "PULLING"),
        changed("a", "RUNNING"),
        changed("b", "PULLING"),
        changed("b", "RUNNING"),
    ):
        state, _ = step(state, event)
        seen.append(state.state)
    assert seen == ["ASSIGNED", "PULLING", "RUNNING", "RUNNING", "RUNNING"]


@covers("helm-and-kubernetes 12.gang_states")
def test_the_start_is_logged_once_when_all_containers_run() -> None:
    state, _ = run(assigned("a", "b"), state=waiting(slots=2))
    state, first = step(state, changed("a", "RUNNING", host_ip="10.0.0.1", ports=((1734, 9),)))
    state, second = step(state, changed("b", "RUNNING"))
    assert log_of(first) == []
    assert log_of(second) == [("INFO", f"Resources for {NAME} have started")]
    assert (state.containers[0].host_ip, state.containers[0].ports) == (
        "10.0.0.1",
        ((1734, 9),),
    )


def test_an_unpublished_proxied_port_is_logged_once() -> None:
    ports = (ProxyPort(8000), ProxyPort(8001))
    state, _ = run(assigned("a", "b"), state=waiting(slots=2, proxy_ports=ports))
    state, chief = step(state, changed("a", "RUNNING", ports=((8000, 32000),)))
    _, other = step(state, changed("b", "RUNNING"))
    [(level, said)] = log_of(chief)
    assert level == "WARNING"
    assert said.startswith("port 8001 cannot be reached through the master")
    assert [level for level, _ in log_of(other)] == ["INFO"]


@pytest.mark.parametrize("late", ["PULLING", "STARTING", "RUNNING"])
def test_a_late_or_repeated_container_event_changes_nothing(late) -> None:
    state = running()
    assert step(state, changed("a", late, host_ip="10.9.9.9")) == (state, [])


def test_an_unknown_container_is_ignored_but_its_end_is_acknowledged() -> None:
    state = running()
    assert step(state, changed("z", "RUNNING", agent_id="z")) == (state, [])
    assert step(state, changed("z", "TERMINATED", agent_id="z")) == (
        state,
        [alloc.ForgetContainer(container_id="c-z", agent_id="z")],
    )
    assert step(state, changed("z", "TERMINATED")) == (state, [])


@pytest.mark.parametrize("state", ["PULLING", "RUNNING", "TERMINATED"])
def test_a_report_of_another_agent_changes_nothing(state) -> None:
    held = running("a", "b")
    assert step(held, alloc.ContainerChanged(container_id="c-a", state=state, agent_id="b")) == (
        held,
        [],
    )


def test_ready_and_waiting_move_the_state_forward_only() -> None:
    state, _ = run(assigned("a"), alloc.BecameReady(), state=waiting())
    assert (state.state, state.is_ready) == ("RUNNING", True)
    state, _ = step(state, alloc.BeganWaiting())
    assert state.state == "WAITING"
    assert step(state, changed("a", "RUNNING"))[0].state == "WAITING"
    assert step(state, alloc.BecameReady()) == (state, [])


def test_a_service_ready_before_its_container_runs_is_announced_once_it_runs() -> None:
    asked = waiting(task_type="SHELL", name="Shell (x)")
    early, effects = run(assigned("a"), changed("a", "PULLING"), alloc.BecameReady(), state=asked)
    assert not early.is_ready
    assert "available" not in str(log_of(effects))
    early, effects = step(early, changed("a", "STARTING"))
    assert (early.is_ready, effects) == (False, [])
    shell, effects = step(early, changed("a", "RUNNING"))
    assert shell.is_ready
    assert log_of(effects) == [
        ("INFO", "Resources for Shell (x) have started"),
        ("INFO", "Service of Shell (x) is available"),
    ]


def test_only_services_announce_that_they_are_available() -> None:
    asked = waiting(task_type="NOTEBOOK", name="Notebook (x)")
    notebook, _ = run(assigned("a"), changed("a", "RUNNING"), state=asked)
    assert log_of(step(notebook, alloc.BecameReady())[1]) == [
        ("INFO", "Service of Notebook (x) is available")
    ]
    trial, _ = run(assigned("a"), state=waiting())
    assert step(trial, alloc.BecameReady())[1] == []


def test_exit_0_completes_it_frees_the_pool_and_notifies_the_owner() -> None:
    state, effects = step(running(), exited("a", 0))
    said = (
        "allocation stopped early after all resources exited: "
        "resources exited successfully with a zero exit code"
    )
    outcome = alloc.AllocationOutcome(kind="completed", message=said, exit_code=0)
    assert (state.state, state.outcome) == ("TERMINATED", outcome)
    assert log_of(effects) == [
        ("INFO", "resources exited successfully with a zero exit code"),
        ("INFO", f"{NAME} was terminated: {said}"),
    ]
    assert of_type(effects, alloc.ForgetContainer) == [alloc.ForgetContainer("c-a", "a")]
    assert effects[-1] == alloc.ReportAllocationEnd(outcome)


def test_a_non_zero_exit_fails_it() -> None:
    state, effects = step(running(), exited("a", 3))
    said = (
        "resources failed with non-zero exit code: "
        "container failed with non-zero exit code: 3 (exit code 3)"
    )
    assert state.outcome == alloc.AllocationOutcome(
        kind="failed", message=f"allocation failed: {said}", exit_code=3
    )
    assert log_of(effects) == [
        ("ERROR", f"crashed: {said}"),
        ("ERROR", f"{NAME} was terminated: allocation failed: {said}"),
    ]


def test_an_exit_code_without_a_failure_is_a_failure_all_the_same() -> None:
    state, _ = step(running(), changed("a", "TERMINATED", exit_code=2))
    assert state.outcome is not None
    assert (state.outcome.kind, state.outcome.exit_code) == ("failed", 2)


def test_an_image_that_cannot_be_pulled_is_the_tasks_own_failure() -> None:
    state, _ = run(assigned("a"), changed("a", "PULLING"), state=waiting())
    gone = failure("task_error", "pulling container image: no such image")
    state, effects = step(state, changed("a", "TERMINATED", failure=gone))
    assert state.outcome is not None
    assert state.outcome.kind == "failed"
    assert log_of(effects)[0] == (
        "ERROR",
        "crashed: task failed without an associated exit code: "
        "pulling container image: no such image",
    )


@pytest.mark.parametrize(
    "kind", ["container_aborted", "agent_failed", "agent_error", "restore_error"]
)
@covers("agent-config 5.failed_system")
def test_a_failure_of_the_system_loses_it(kind) -> None:
    state, _ = step(running(), changed("a", "TERMINATED", failure=failure(kind)))
    assert state.outcome is not None
    assert state.outcome.kind == "lost"
    assert state.outcome.is_failed_start is (kind == "agent_error")


@covers("helm-and-kubernetes 12.exit_code")
def test_the_first_failure_stays_and_the_others_are_killed() -> None:
    state, effects = step(running("a", "b", "c"), exited("b", 1))
    assert state.state == "TERMINATING"
    assert [s.container_id for s in of_type(effects, alloc.SignalContainer)] == ["c-a", "c-c"]
    state, effects = run(exited("a", 137), exited("c", 137), state=state)
    assert state.outcome is not None
    assert (state.outcome.kind, state.outcome.exit_code) == ("failed", 1)
    assert log_of(effects)[0][0] == "INFO"
    assert log_of(effects)[0][1].startswith("killed: ")


def test_a_clean_exit_of_one_rank_waits_for_the_others() -> None:
    state, effects = step(running("a", "b"), exited("a", 0))
    assert state.outcome is None
    assert of_type(effects, alloc.SignalContainer) == []
    assert step(state, exited("b", 0))[0].outcome.kind == "completed"


def test_an_end_reported_twice_is_acknowledged_twice_and_counts_once() -> None:
    state, _ = step(running("a", "b"), exited("a", 1))
    again, effects = step(state, exited("a", 0))
    assert again == state
    assert effects == [alloc.ForgetContainer("c-a", "a")]
    over, _ = step(state, exited("b", 137))
    assert step(over, exited("b", 137)) == (over, [alloc.ForgetContainer("c-b", "b")])


@covers("scheduling-and-provisioning d.3.not_back")
def test_an_agents_loss_ends_its_containers_only() -> None:
    state = running("a", "b")
    gone = failure("agent_failed")
    state, effects = step(
        state, alloc.AgentLost(agent_id="a", container_ids=("c-a", "c-b"), failure=gone)
    )
    assert [c.state for c in state.containers] == ["TERMINATED", "RUNNING"]
    assert of_type(effects, alloc.SignalContainer) == [alloc.SignalContainer("c-b", "b")]
    assert of_type(effects, alloc.ForgetContainer) == []
    assert step(state, exited("b", 137))[0].outcome.kind == "lost"


def test_an_agent_lost_twice_changes_nothing() -> None:
    lost = alloc.AgentLost(agent_id="a", container_ids=("c-a",), failure=failure("agent_failed"))
    state, _ = step(running("a", "b"), lost)
    assert step(state, lost) == (state, [])


@covers("scheduling-and-provisioning d.4.late")
def test_a_container_that_lives_on_after_its_end_is_killed() -> None:
    lost = alloc.AgentLost(agent_id="a", container_ids=("c-a",), failure=failure("agent_failed"))
    over, _ = step(running(), lost)
    signal = alloc.SignalContainer("c-a", "a")
    assert step(over, changed("a", "RUNNING")) == (over, [signal])
    assert step(over, exited("a", 137)) == (over, [alloc.ForgetContainer("c-a", "a")])


def test_daemons_are_ended_cleanly_when_the_others_are_done() -> None:
    state, _ = step(running("a", "b"), alloc.DaemonMarked(container_id="c-b"))
    state, effects = step(state, exited("a", 0))
    assert of_type(effects, alloc.SignalContainer) == [alloc.SignalContainer("c-b", "b")]
    state, effects = step(state, exited("b", 137))
    assert state.outcome.kind == "completed"
    assert state.outcome.exit_code == 0
    assert log_of(effects)[0][0] == "DEBUG"


def test_a_daemon_marked_after_the_others_are_done_is_ended_at_once() -> None:
    state, _ = step(running("a", "b"), exited("a", 0))
    _, effects = step(state, alloc.DaemonMarked(container_id="c-b"))
    assert of_type(effects, alloc.SignalContainer) == [alloc.SignalContainer("c-b", "b")]


def test_a_gang_of_daemons_alone_is_ended() -> None:
    state, _ = step(running("a", "b"), alloc.DaemonMarked(container_id="c-a"))
    state, effects = step(state, alloc.DaemonMarked(container_id="c-b"))
    assert len(of_type(effects, alloc.SignalContainer)) == 2
    assert run(exited("a", 137), exited("b", 137), state=state)[0].outcome.kind == "completed"


def test_a_lone_container_is_no_daemon() -> None:
    state = running()
    assert step(state, alloc.DaemonMarked(container_id="c-a")) == (state, [])


def test_a_container_that_cannot_be_started_is_a_counted_failure() -> None:
    state, _ = run(assigned("a"), state=waiting())
    event = alloc.AllocationEffectFailed(
        effect="start_container", error="no image is configured", container_id="c-a"
    )
    state, effects = step(state, event)
    assert state.outcome.kind == "failed"
    assert "no image is configured" in state.outcome.message
    assert effects[:2] == [
        alloc.SignalContainer("c-a", "a"),
        alloc.ForgetContainer("c-a", "a"),
    ]


def test_other_failed_effects_are_left_to_what_repeats_them() -> None:
    state = running()
    assert step(state, alloc.AllocationEffectFailed(effect="signal_container", error="e")) == (
        state,
        [],
    )


def test_an_unreported_end_is_logged() -> None:
    over, _ = step(running(), exited("a", 0))
    event = alloc.AllocationEffectFailed(effect="report_allocation_end", error="the disk is full")
    state, effects = step(over, event)
    assert state == over
    assert [level for level, _ in log_of(effects)] == ["ERROR"]


def test_a_request_that_can_never_be_met_is_refused() -> None:
    state, effects = step(waiting(slots=64), alloc.Refused(reason="64 slots, the pool has 8"))
    assert state.outcome.kind == "refused"
    assert ("ERROR", f"{NAME} was terminated: allocation failed: 64 slots, the pool has 8") in (
        log_of(effects)
    )
    assert step(running(), alloc.Refused(reason="r"))[1] == []


def test_a_request_that_is_sent_away_for_now_is_lost_and_not_refused() -> None:
    event = alloc.Refused(reason="no machine could be started", is_for_now=True)
    state, effects = step(waiting(slots=64), event)
    assert (state.state, state.outcome.kind) == ("TERMINATED", "lost")
    said = "allocation failed: no machine could be started"
    assert ("INFO", f"{NAME} was terminated: {said}") in log_of(effects)
    assert step(running(), event)[0] == running()


def test_nothing_but_acknowledgements_comes_after_the_end() -> None:
    over, _ = step(running(), exited("a", 0))
    for event in (
        alloc.AgentLost(agent_id="a", container_ids=("c-a",), failure=failure("agent_failed")),
        alloc.BecameReady(),
        alloc.BeganWaiting(),
        alloc.DaemonMarked(container_id="c-a"),
        alloc.MasterUnreachable(container_id="c-a", reason="r"),
        alloc.MasterReached(container_id="c-a"),
        alloc.MainThreadEnded(container_id="c-a", reason="r"),
        alloc.PreemptRequested(reason="r"),
        alloc.PreemptAcknowledged(),
        alloc.PreemptionExpired(),
        alloc.KillRequested(reason="r"),
        alloc.KillExpired(),
        alloc.Refused(reason="r"),
        requested(),
    ):
        assert step(over, event) == (over, []), event


def test_words_of_the_agent_are_kept_when_they_say_more_than_the_code() -> None:
    event = changed("a", "TERMINATED", failure=failure("container_failed", "out of memory", 137))
    state, _ = step(running(), event)
    assert "exit code: 137: out of memory (exit code 137)" in state.outcome.message


def test_an_agents_reason_besides_the_exit_code_is_logged() -> None:
    said = "container failed with non-zero exit code: 137 (the kernel ended it)"
    event = changed("a", "TERMINATED", failure=failure("container_failed", said, 137))
    state, _ = step(running(), event)
    assert state.outcome is not None
    assert state.outcome.message.endswith(f"exit code: {said} (exit code 137)")


@pytest.mark.parametrize(
    ("kind", "words", "text"),
    [
        (
            "restore_error",
            "container is gone on reattachment",
            "allocation failed due to restore error: RM failed to restore the allocation: "
            "container is gone on reattachment",
        ),
        (
            "agent_failed",
            "agent closed with allocated containers",
            "allocation failed due to agent failure: agent failed while the container was "
            "running: agent closed with allocated containers",
        ),
    ],
)
def test_a_loss_of_the_machine_is_logged_with_the_texts_of_0_38_1(kind, words, text) -> None:
    said = failure(kind, f"{words}: it was rebooted")
    state, effects = step(running(), changed("a", "TERMINATED", failure=said))
    assert state.outcome.kind == "lost"
    assert ("ERROR", f"{NAME} was terminated: {text}: it was rebooted") in log_of(effects)


def test_the_state_of_a_gang_on_40_agents_stays_below_its_bound() -> None:
    names = [f"agent-{i:02}.cluster.example" for i in range(40)]
    state = running(*names)
    for name in names:
        said = failure("agent_failed", "no route to host. " * 500)
        state, _ = step(state, changed(name, "TERMINATED", failure=said))
    assert state.outcome is not None
    assert state.outcome.message.startswith("allocation failed due to agent failure")
    stored, beside = container_rows.split(state)
    assert len(msgspec.json.encode(stored)) < 10 << 10
    assert max(len(msgspec.json.encode(container)) for container in beside) < 300


def test_reports_of_a_container_stay_until_it_reaches_the_master() -> None:
    away = alloc.MasterUnreachable(container_id="c-b", reason="no answer: 502")
    state, effects = step(running("a", "b"), away)
    assert effects == []
    assert [c.master_away for c in state.containers] == ["", "no answer: 502"]
    stuck = alloc.MainThreadEnded(container_id="c-a", reason="it waits for loader")
    state, _ = step(state, stuck)
    state, _ = step(state, alloc.MasterReached(container_id="c-b"))
    assert [(c.master_away, c.main_thread) for c in state.containers] == [
        ("", "it waits for loader"),
        ("", ""),
    ]


def test_a_report_of_an_ended_or_unknown_container_changes_nothing() -> None:
    over, _ = step(running(), exited("a", 0))
    away = alloc.MasterUnreachable(container_id="c-a", reason="no answer")
    assert step(over, away) == (over, [])
    unknown = alloc.MasterReached(container_id="x")
    assert step(running(), unknown) == (running(), [])

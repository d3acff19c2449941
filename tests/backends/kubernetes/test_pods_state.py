"""What a pod's status says of its container."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.backends.kubernetes.objects import ALLOCATION, AT, CONTAINER, main_state, pod
from tests.covers import covers

from determined_master.backends.kubernetes.pods.state import (
    Observed,
    ended_by_deletion,
    gone,
    observe,
    with_pull_error,
)

INIT = "determined-init-container"


def seen(found: Any, after: timedelta = timedelta()) -> Observed:
    observed = observe(found, AT + after)
    assert observed is not None
    return observed


def init_state(**state: Any) -> dict[str, Any]:
    return {"initContainerStatuses": [{"name": INIT, "image": "lab/train:1", "state": state}]}


@covers("helm-and-kubernetes 12.unscheduled 12.scheduled 12.running 12.over")
@pytest.mark.parametrize(
    ("found", "state"),
    [
        (pod(None), "ASSIGNED"),
        (pod(), "PULLING"),
        (pod(**init_state(waiting={"reason": "PodInitializing"})), "PULLING"),
        (pod(**init_state(waiting={"reason": "ErrImagePull"})), "PULLING"),
        (pod(**init_state(running={})), "STARTING"),
        (pod(**init_state(terminated={"exitCode": 0})), "STARTING"),
        (pod(phase="Running", **main_state(running={})), "STARTING"),
        (pod(phase="Running", podIP="10.2.0.3", **main_state(running={})), "RUNNING"),
        (pod(phase="Succeeded"), "TERMINATED"),
    ],
)
def test_states_go_from_planned_to_over(found: Any, state: str) -> None:
    assert seen(found).report.state == state


@covers("helm-and-kubernetes 12.running")
def test_a_running_pod_has_its_address_and_owner() -> None:
    found = seen(pod(phase="Running", podIP="10.2.0.3", **main_state(running={})))
    [address] = found.report.addresses
    assert (address.host_ip, address.host_port) == ("10.2.0.3", 1734)
    assert found.report.container_id == CONTAINER
    assert found.report.allocation_id == ALLOCATION
    assert (found.node, found.slot_ids) == ("node-a", (0,))
    assert found.has_output
    assert not found.is_stopped


@covers("helm-and-kubernetes 12.exit_code 12.init_code 11.cluster_preemption")
@pytest.mark.parametrize(
    ("status", "kind", "code", "said"),
    [
        (main_state(terminated={"exitCode": 3}), "container_failed", 3, "exit code: 3"),
        (
            main_state(terminated={"exitCode": 137, "reason": "OOMKilled"}),
            "container_failed",
            137,
            "raise the memory limit",
        ),
        (
            main_state(terminated={"exitCode": 128, "reason": "StartError", "message": "no sh"}),
            "task_error",
            128,
            "no sh",
        ),
        (
            main_state(terminated={"exitCode": 1, "message": "files of the task: no master"}),
            "task_error",
            1,
            "its files could not be prepared: no master",
        ),
        (
            main_state(terminated={"exitCode": 1, "message": "of the task itself"}),
            "container_failed",
            1,
            "exit code: 1",
        ),
        (
            {"reason": "NodeShutdown", **main_state(terminated={"exitCode": 137})},
            "agent_failed",
            137,
            "NodeShutdown",
        ),
        (
            {"phase": "Failed", **init_state(terminated={"exitCode": 1, "message": "no master"})},
            "task_error",
            1,
            "init container determined-init-container failed with exit code 1: no master",
        ),
        ({"phase": "Failed", "reason": "OutOfcpu"}, "agent_error", None, "OutOfcpu"),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "low on memory"},
            "task_error",
            None,
            "Evicted: low on memory",
        ),
        (
            {"phase": "Failed", "reason": "DeadlineExceeded"},
            "container_aborted",
            None,
            "signalled to",
        ),
        (
            {"reason": "DeadlineExceeded", **main_state(running={})},
            "container_ended",
            None,
            "reported no exit code",
        ),
    ],
)
def test_an_end_names_whose_fault_it_was(
    status: dict[str, Any], kind: str, code: int | None, said: str
) -> None:
    report = seen(pod(**{"phase": "Failed", **status})).report
    assert report.state == "TERMINATED"
    assert report.failure is not None
    assert (report.failure.type, report.exit_code) == (kind, code)
    assert said in report.failure.message


@covers("helm-and-kubernetes 12.deleted 20.eviction")
@pytest.mark.parametrize(("ended_s", "kind"), [(-60, "container_failed"), (2, "agent_failed")])
def test_a_task_whose_pod_is_deleted_is_lost(ended_s: int, kind: str) -> None:
    ended = {"exitCode": 143, "finishedAt": (AT + timedelta(seconds=ended_s)).isoformat()}
    found = pod(phase="Failed", **main_state(terminated=ended))
    goes_at = (AT + timedelta(seconds=30)).isoformat()
    found["metadata"].update(deletionTimestamp=goes_at, deletionGracePeriodSeconds=30)
    report = seen(found).report
    assert report.failure is not None
    assert (report.failure.type, report.exit_code) == (kind, 143)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (main_state(waiting={"reason": "PodInitializing"}), "agent_failed", None),
        (init_state(terminated={"exitCode": 143}), "agent_failed", 143),
        ({"reason": "Evicted"}, "task_error", None),
    ],
)
def test_a_deleted_pod_is_lost_even_without_an_exit_code(
    status: dict[str, Any], kind: str, code: int | None
) -> None:
    found = pod(phase="Failed", **status)
    goes_at = (AT + timedelta(seconds=30)).isoformat()
    found["metadata"].update(deletionTimestamp=goes_at, deletionGracePeriodSeconds=30)
    report = seen(found).report
    assert report.failure is not None
    assert (report.state, report.failure.type, report.exit_code) == ("TERMINATED", kind, code)


KILLED = {"phase": "Failed", "reason": "DeadlineExceeded"}


def test_a_pod_past_its_deadline_may_still_run() -> None:
    assert seen(pod(**KILLED, **main_state(running={}))).is_ending
    assert not seen(pod(**KILLED, **main_state(terminated={"exitCode": 143}))).is_ending
    assert not seen(pod(phase="Running", **main_state(running={}))).is_ending


def test_a_program_that_is_killed_has_not_succeeded_whatever_it_says() -> None:
    report = seen(pod(**KILLED, **main_state(terminated={"exitCode": 0}))).report
    assert report.failure is not None
    assert (report.failure.type, report.exit_code) == ("container_ended", 0)


def test_exit_code_0_is_no_failure() -> None:
    report = seen(pod(phase="Succeeded", **main_state(terminated={"exitCode": 0}))).report
    assert (report.state, report.exit_code, report.failure) == ("TERMINATED", 0, None)


@covers("helm-and-kubernetes 12.pull")
def test_an_image_that_cannot_be_pulled_ends_the_container_with_its_name() -> None:
    waiting = {"reason": "ImagePullBackOff", "message": "not found"}
    failure = seen(pod(**init_state(waiting=waiting))).report.failure
    assert failure is not None
    assert failure.type == "task_error"
    assert "lab/train:1 cannot be pulled: not found" in failure.message
    assert "environment.registry_auth where it needs credentials" in failure.message


def test_the_cause_that_was_reported_before_a_node_tries_an_image_again_is_named() -> None:
    refused = {"reason": "ErrImagePull", "message": "unauthorized"}
    first = with_pull_error(seen(pod(**init_state(waiting=refused))), "")
    assert first.report.failure is None
    waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
    later = seen(pod(**init_state(waiting=waiting)))
    failure = with_pull_error(later, first.pull_error).report.failure
    assert failure is not None
    assert "lab/train:1 cannot be pulled: unauthorized" in failure.message
    done = pod(phase="Succeeded", **init_state(waiting=waiting))
    assert with_pull_error(seen(done), first.pull_error).report.failure is None
    unknown = with_pull_error(later, "").report.failure
    assert unknown is not None
    assert "lab/train:1 cannot be pulled: Back-off" in unknown.message


def test_transient_errors_are_retried_for_two_minutes() -> None:
    stuck = pod(**init_state(waiting={"reason": "CreateContainerConfigError", "message": "key"}))
    assert seen(stuck, timedelta(minutes=1)).report.state == "PULLING"
    late = seen(stuck, timedelta(minutes=3)).report
    assert late.failure is not None
    assert "CreateContainerConfigError: key" in late.failure.message


@covers("helm-and-kubernetes 12.deleted 12.deleted_pending")
def test_a_pod_that_vanishes_is_lost_and_not_at_fault() -> None:
    report = gone(seen(pod(phase="Running", podIP="10.2.0.3", **main_state(running={}))))
    assert report.state == "TERMINATED"
    assert report.failure is not None
    assert report.failure.type == "agent_failed"
    assert "default/det-01234567-exp-7" in report.failure.message


def test_a_pod_of_others_stands_for_nothing() -> None:
    assert observe({"metadata": {"name": "x"}, "spec": {}, "status": {}}, AT) is None


def test_an_unplaced_pod_says_what_it_waits_for() -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "Insufficient cpu"}
    found = seen(pod(None, conditions=[condition]))
    assert (found.is_scheduled, found.waits_for) == (False, "Insufficient cpu")
    assert not found.is_unschedulable
    for reason, is_refused in (("Unschedulable", True), ("SchedulingGated", False)):
        found = seen(pod(None, conditions=[{**condition, "reason": reason}]))
        assert found.is_unschedulable is is_refused


def test_a_program_that_ran_when_its_pod_was_deleted_is_lost_whatever_the_clocks_say() -> None:
    failed = seen(pod(phase="Failed", **main_state(terminated={"exitCode": 143})))
    lost = ended_by_deletion(failed).report
    assert lost.failure is not None
    assert (lost.failure.type, lost.exit_code) == ("agent_failed", 143)
    done = seen(pod(phase="Succeeded", **main_state(terminated={"exitCode": 0})))
    assert ended_by_deletion(done) is done


def test_a_pod_of_a_node_that_is_not_heard_of_still_runs() -> None:
    assert seen(pod(phase="Unknown", podIP="10.2.0.3", **main_state(running={}))).report.state == (
        "RUNNING"
    )

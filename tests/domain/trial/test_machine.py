"""A trial from its creation to its end, over pauses and restarts."""

import msgspec
import pytest
from tests.covers import covers
from tests.domain.builders import TASK, log_of, of_type, waiting
from tests.domain.trial.lives import CREATED, PAUSED, active, ended, reports, run

from determined_master.domain.allocation.machine import step as allocation_step
from determined_master.domain.allocation.messages import (
    AllocationOutcome,
    Refused,
    ReportAllocationEnd,
)
from determined_master.domain.errors import NotFound
from determined_master.domain.task.cause import FailureCause
from determined_master.domain.trial import messages as t
from determined_master.domain.trial.ending import MAX_FAILED_STARTS
from determined_master.domain.trial.machine import step


def test_an_active_trial_asks_for_its_first_run() -> None:
    state, effects = run(CREATED)
    assert (state.state, state.run_id, state.allocation_id) == ("ACTIVE", 1, f"{TASK}.1")
    assert effects == [t.RequestAllocation(allocation_id=f"{TASK}.1", run_id=1)]


def test_a_trial_of_a_paused_experiment_waits_until_it_is_activated() -> None:
    state, effects = run(msgspec.structs.replace(CREATED, activate=False))
    assert (state.state, state.run_id, effects) == ("PAUSED", 0, [])
    state, effects = step(state, t.TrialActivated())
    assert state.state == "ACTIVE"
    assert effects == [t.RequestAllocation(allocation_id=f"{TASK}.1", run_id=1)]


def test_created_twice_it_is_one_trial() -> None:
    assert step(active(), CREATED) == (active(), [])


def test_events_of_an_unknown_trial_are_refused() -> None:
    with pytest.raises(NotFound):
        step(None, t.TrialKilled())


def test_a_pause_asks_its_run_to_leave() -> None:
    state, effects = step(active(), t.TrialPaused())
    assert state.state == "PAUSED"
    assert effects == [
        t.PreemptAllocation(allocation_id=f"{TASK}.1", reason="user requested pause")
    ]
    assert step(state, t.TrialPaused()) == (state, [])


def test_activating_an_active_trial_changes_nothing() -> None:
    assert step(active(), t.TrialActivated()) == (active(), [])


@pytest.mark.parametrize("kind", ["preempted", "killed", "lost", "failed"])
def test_a_paused_trial_is_idle_when_its_run_has_ended(kind) -> None:
    state, effects = step(PAUSED, ended(kind))
    assert (state.state, state.allocation_id, effects) == ("PAUSED", None, [])
    assert state.restarts == (kind == "failed")


def test_a_pause_that_meets_exit_0_completes_the_trial() -> None:
    state, effects = step(PAUSED, ended("completed"))
    assert state.state == "COMPLETED"
    assert reports(effects) == ["clean"]


def test_activated_while_its_run_still_leaves_it_starts_again_afterwards() -> None:
    state, effects = step(PAUSED, t.TrialActivated())
    assert (state.state, effects) == ("ACTIVE", [])
    state, effects = step(state, ended("preempted"))
    assert effects == [t.RequestAllocation(allocation_id=f"{TASK}.2", run_id=2)]
    assert state.restarts == 0


def test_exit_0_completes_it() -> None:
    state, effects = step(active(), ended("completed"))
    assert (state.state, state.allocation_id) == ("COMPLETED", None)
    assert effects == [t.ReportTrialEnd(experiment_id=7, request_id="r", end="clean")]


@covers("scheduling-and-provisioning c.6.trial")
def test_a_request_for_machines_that_cannot_be_started_costs_no_restart() -> None:
    asked = waiting(slots=8)
    away = Refused(reason="the quota is used up", is_for_now=True)
    [report] = of_type(allocation_step(asked, away)[1], ReportAllocationEnd)
    state, effects = step(active(), t.AllocationEnded(asked.id, report.outcome))
    assert (state.state, state.restarts, state.failed_starts) == ("ACTIVE", 0, 0)
    assert len(of_type(effects, t.RequestAllocation)) == 1


def not_started(run_id, message="no space left on the disk of agent a") -> t.AllocationEnded:
    outcome = AllocationOutcome(kind="lost", message=message, is_failed_start=True)
    return t.AllocationEnded(allocation_id=f"{TASK}.{run_id}", outcome=outcome)


def unstarted(times: int, state: t.Trial) -> tuple[t.Trial, list]:
    """A trial of which so many starts in a row fail."""
    events = [not_started(state.run_id + n) for n in range(times)]
    return run(*events, state=state)


def test_starts_that_fail_by_the_agents_fault_are_tried_again_within_a_bound() -> None:
    state, effects = unstarted(MAX_FAILED_STARTS - 1, active(max_restarts=0))
    assert (state.state, state.restarts) == ("ACTIVE", 0)
    assert [e.run_id for e in of_type(effects, t.RequestAllocation)] == [MAX_FAILED_STARTS]
    state, effects = step(state, not_started(MAX_FAILED_STARTS))
    assert (state.state, state.restarts) == ("ERROR", 0)
    assert reports(effects) == ["errored"]
    [(level, said)] = log_of(effects)
    assert level == "ERROR"
    for part in ("20 starts in a row", "no space left on the disk of agent a", "continue the exp"):
        assert part in said
    assert state.reason == said


@pytest.mark.parametrize("kind", ["lost", "preempted", "failed"])
def test_a_run_that_started_begins_the_count_of_failed_starts_again(kind) -> None:
    state, _ = unstarted(MAX_FAILED_STARTS - 1, active(max_restarts=5))
    state, _ = step(state, ended(kind, state.run_id))
    assert state.state == "ACTIVE"
    state, _ = unstarted(MAX_FAILED_STARTS - 1, state)
    assert state.state == "ACTIVE"


def test_a_trial_that_is_activated_again_has_all_of_its_starts_again() -> None:
    state, _ = unstarted(MAX_FAILED_STARTS - 1, active())
    state, _ = run(t.TrialPaused(), not_started(state.run_id), state=state)
    assert (state.state, state.allocation_id) == ("PAUSED", None)
    state, _ = step(state, t.TrialActivated())
    assert (state.state, state.failed_starts) == ("ACTIVE", 0)


@covers("scheduling-and-provisioning d.3.not_counted")
@pytest.mark.parametrize("kind", ["lost", "preempted", "killed"])
@covers("experiment-config 17.uncounted")
def test_a_failure_of_the_system_restarts_it_without_counting(kind) -> None:
    state = active(max_restarts=0)
    for run_id in (1, 2, 3):
        state, effects = step(state, ended(kind, run_id))
        assert of_type(effects, t.RequestAllocation) == effects
    assert (state.restarts, state.run_id) == (0, 4)


@covers("experiment-config 17.max_restarts 2.max_restarts")
def test_failures_are_counted_up_to_max_restarts() -> None:
    state, effects = step(active(), ended("failed", 1))
    assert (state.restarts, len(of_type(effects, t.RequestAllocation))) == (1, 1)
    state, effects = step(state, ended("failed", 2, "exit code 3"))
    assert (state.state, state.restarts, state.reason) == ("ERROR", 1, "exit code 3")
    assert reports(effects) == ["errored"]


NO_SCRIPT = "python3: can't open file 'nothere.py': [Errno 2] No such file or directory"


@pytest.mark.parametrize(
    ("message", "code"),
    [(NO_SCRIPT, 2), ("sh: 1: nosuch: not found", 127), ("sh: 1: ./t.py: Permission denied", 126)],
)
def test_a_program_that_is_not_there_is_tried_once(message: str, code: int) -> None:
    cause = FailureCause(kind="output", message=message, exit_code=code)
    state, effects = step(active(max_restarts=5), ended("failed", 1, "exit code", cause))
    assert (state.state, state.restarts) == ("ERROR", 0)
    assert reports(effects) == ["errored"]
    assert "it is not started again" in state.reason
    [text] = log_of(effects)
    assert state.reason in str(text)


@pytest.mark.parametrize(
    "cause",
    [
        None,
        FailureCause(kind="output", message="usage: t.py [-h]", exit_code=2),
        FailureCause(kind="exit", exit_code=127),
        FailureCause(kind="exception", type="FileNotFoundError", message="x", exit_code=127),
    ],
)
def test_other_failures_are_tried_again(cause: FailureCause | None) -> None:
    state, _ = step(active(max_restarts=5), ended("failed", 1, "exit code", cause))
    assert (state.state, state.restarts) == ("ACTIVE", 1)


def test_the_third_equal_exception_in_a_row_is_said_and_all_restarts_stay() -> None:
    state, told = active(max_restarts=5), []
    for run_id in range(1, 7):
        cause = FailureCause(kind="exception", type="KeyError", file="t.py", line=3)
        state, effects = step(state, ended("failed", run_id, "exit code 1", cause))
        told += [(run_id, text) for text in log_of(effects)]
    assert (state.state, state.restarts) == ("ERROR", 5)
    [(run_id, text)] = told
    assert run_id == 3
    assert "3 attempts in a row ended at the same line with KeyError · t.py:3" in str(text)
    assert "3 more may end like this" in str(text)


def test_another_exception_or_place_begins_the_count_again() -> None:
    state = active(max_restarts=9)
    for run_id, line in enumerate((3, 3, 4, 3, 3), 1):
        cause = FailureCause(kind="exception", type="KeyError", file="t.py", line=line)
        state, effects = step(state, ended("failed", run_id, "exit code 1", cause))
        assert log_of(effects) == []
    assert state.crashes == 2


def test_failures_while_paused_count_too() -> None:
    state, effects = step(msgspec.structs.replace(PAUSED, restarts=1), ended("failed"))
    assert state.state == "ERROR"
    assert reports(effects) == ["errored"]


@covers("experiment-config 17.fatal")
def test_a_request_that_can_never_be_met_is_final() -> None:
    state, effects = step(active(max_restarts=5), ended("refused"))
    assert (state.state, state.restarts) == ("ERROR", 0)
    assert reports(effects) == ["errored"]


@covers("experiment-config 17.fatal 16.cancel_retries")
def test_a_log_policy_makes_the_next_failure_final() -> None:
    noted = t.RetriesCanceled(pattern=".*CUDA.*", line="x" * 10_000)
    state, effects = run(noted, state=active(max_restarts=5))
    assert effects == []
    assert step(state, noted) == (state, [])
    state, effects = step(state, ended("failed"))
    assert state.state == "ERROR"
    said = log_of(effects)
    assert said[0] == ("ERROR", "trial failed and matched logs to a don't retry policy")
    assert said[1] == ("ERROR", f'(log "{"x" * 500}" matched regex ".*CUDA.*")')
    assert reports(effects) == ["errored"]


def test_each_log_policy_that_matched_is_in_the_trial_s_log() -> None:
    first = t.RetriesCanceled(pattern="a", line="a b")
    second = t.RetriesCanceled(pattern="b", line="a b")
    state, _ = run(first, second, first, state=active(max_restarts=5))
    state, effects = step(state, ended("failed"))
    quotes = [f'(log "a b" matched regex "{pattern}")' for pattern in "ab"]
    assert [text for _, text in log_of(effects)][1:] == quotes
    assert state.reason == f"trial failed and matched logs to a don't retry policy {quotes[0]}"


def test_the_quotes_of_log_policies_are_limited() -> None:
    state = active(max_restarts=5)
    for number in range(9):
        line = t.RetriesCanceled(pattern=str(number), line="x\ny")
        state, _ = step(state, line)
    assert len((state.retries_canceled or "").splitlines()) == 5


def test_a_log_policy_does_not_turn_a_loss_into_a_failure() -> None:
    noted = t.RetriesCanceled(pattern="p", line="l")
    state, effects = run(noted, ended("lost"), state=active())
    assert state.state == "ACTIVE"
    assert len(of_type(effects, t.RequestAllocation)) == 1


@covers("experiment-config 16.exclude_node")
def test_an_excluded_agent_is_left_out_of_every_later_run() -> None:
    first = t.AgentExcluded(agent_id="a1", pattern="ECC", line="ECC error")
    state, effects = run(first, state=active(max_restarts=5))
    [(level, said)] = log_of(effects)
    assert (level, "ECC error" in said) == ("WARNING", True)
    assert said.endswith("therefore will not schedule on a1")
    assert step(state, first) == (state, [])
    state, effects = step(state, ended("failed"))
    [request] = of_type(effects, t.RequestAllocation)
    assert (request.excluded_agents, request.follows_failure) == (("a1",), True)
    state, _ = step(state, msgspec.structs.replace(first, agent_id="a2"))
    state, effects = step(state, ended("lost", run_id=2))
    [request] = of_type(effects, t.RequestAllocation)
    assert (request.excluded_agents, request.follows_failure) == (("a1", "a2"), False)


def test_a_trial_that_waits_for_other_agents_says_so_in_its_log() -> None:
    state = active()
    after, effects = step(state, t.RoomLacked(reason="a1 is left out"))
    assert after == state
    [(level, said)] = log_of(effects)
    assert (level, said) == ("WARNING", "its next attempt waits for other agents: a1 is left out")


def test_the_end_of_an_earlier_run_changes_nothing() -> None:
    state, _ = step(active(), ended("lost", 1))
    assert step(state, ended("failed", 1)) == (state, [])


def test_it_cannot_continue_when_slots_cannot_even_be_asked_for() -> None:
    event = t.TrialEffectFailed(
        effect="request_allocation", error="no such pool", allocation_id=f"{TASK}.1"
    )
    state, effects = step(active(), event)
    assert (state.state, state.allocation_id) == ("ERROR", None)
    assert "no such pool" in state.reason
    assert reports(effects) == ["errored"]
    killed, _ = step(active(), t.TrialKilled())
    assert step(killed, event)[0].state == "CANCELED"


def test_a_failed_order_of_an_earlier_run_changes_nothing() -> None:
    state, _ = step(active(), ended("lost"))
    event = t.TrialEffectFailed(effect="kill_allocation", error="e", allocation_id=f"{TASK}.1")
    assert step(state, event) == (state, [])


def test_a_process_that_cannot_be_signalled_is_killed_and_a_failed_kill_is_logged() -> None:
    event = t.TrialEffectFailed(effect="preempt_allocation", error="e", allocation_id=f"{TASK}.1")
    assert [type(e) for e in step(PAUSED, event)[1]] == [t.KillAllocation]
    event = t.TrialEffectFailed(effect="kill_allocation", error="e", allocation_id=f"{TASK}.1")
    assert [level for level, _ in log_of(step(PAUSED, event)[1])] == ["ERROR"]
    event = t.TrialEffectFailed(effect="write_task_log", error="e")
    assert step(PAUSED, event) == (PAUSED, [])


def test_nothing_changes_a_closed_trial() -> None:
    closed, _ = step(active(), ended("completed"))
    for event in (
        t.TrialActivated(),
        t.TrialPaused(),
        t.TrialStopped(),
        t.TrialCanceled(),
        t.TrialKilled(),
        t.TrialErred(reason="r"),
        t.EarlyExitReported(reason="INVALID_HP"),
        t.EarlyExitExpired(),
        t.RetriesCanceled(pattern="p", line="l"),
        ended("failed"),
        CREATED,
    ):
        assert step(closed, event) == (closed, []), event


def test_an_unreported_end_is_logged() -> None:
    closed, _ = step(active(), ended("completed"))
    state, effects = step(closed, t.TrialEffectFailed(effect="report_trial_end", error="e"))
    assert state == closed
    assert [level for level, _ in log_of(effects)] == ["ERROR"]


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELED", "ERROR"])
def test_a_closed_trial_continues_as_a_new_task_and_counts_its_runs_on(state) -> None:
    closed = active(
        state=state,
        allocation_id=None,
        run_id=4,
        restarts=2,
        early_exit="INVALID_HP",
        retries_canceled="why",
        is_stopped_by_searcher=True,
        reason="why",
    )
    event = t.TrialContinued(task_id=f"{TASK}-1", max_restarts=5, activate=True)
    opened, effects = run(event, state=closed)
    assert (opened.state, opened.task_id, opened.run_id) == ("ACTIVE", f"{TASK}-1", 5)
    assert (opened.restarts, opened.max_restarts, opened.early_exit) == (0, 5, None)
    assert effects == [t.RequestAllocation(allocation_id=f"{TASK}-1.5", run_id=5)]
    resting, effects = run(msgspec.structs.replace(event, activate=False), state=closed)
    assert (resting.state, resting.allocation_id, effects) == ("PAUSED", None, [])


def test_a_trial_that_is_not_over_does_not_begin_again() -> None:
    event = t.TrialContinued(task_id=f"{TASK}-1", max_restarts=5, activate=True)
    assert run(event, state=active()) == (active(), [])

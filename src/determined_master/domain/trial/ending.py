"""The next step of a trial when one of its runs ends.

Source: task-contract 1.6. Two of its rules follow the users' intent: the loss of an agent never
counts against a trial, even while the trial stops; and a killed trial ends CANCELED if its run
completed or its request was refused. It ends ERROR if its run had failed before the kill reached
it (`domain/allocation/ending.py`). A third rule has a limit: a start that fails because of the
agent does not count as a restart, but twenty such failures in a row end the trial. Agents back off
after each failure (`pools/agent_backoff.py`), so this takes more than an hour on a machine where
nothing starts.
"""

from __future__ import annotations

from msgspec.structs import replace

from determined_master.domain.allocation.messages import AllocationOutcome
from determined_master.domain.messages import CancelTimer, WriteTaskLog
from determined_master.domain.search.records import TrialEnd
from determined_master.domain.states import SEVERITY, STOPPED_AS, RunState
from determined_master.domain.task.cause import FailureCause, is_final, sentence
from determined_master.domain.trial.messages import ReportTrialEnd, Trial, TrialEffect
from determined_master.domain.trial.running import EARLY_EXIT_TIMER, allocate

MAX_FAILED_STARTS = 20
"""How many starts in a row may fail without a fault of the trial."""

MANY_CRASHES = 3
"""Equal exceptions at one place in a row after which its log says so."""

Step = tuple[Trial, list[TrialEffect]]

_ENDS: dict[RunState, TrialEnd] = {
    "COMPLETED": "clean",
    "CANCELED": "user_canceled",
    "ERROR": "errored",
}


def allocation_ended(state: Trial, outcome: AllocationOutcome) -> Step:
    """Close the trial, start its next run, or keep it paused."""
    failed_starts = state.failed_starts + 1 if outcome.is_failed_start else 0
    idle = replace(state, allocation_id=None, failed_starts=failed_starts)
    if state.early_exit is not None:
        after, effects = close_stopped(idle)
        return after, [CancelTimer(EARLY_EXIT_TIMER), *effects]
    if state.state in SEVERITY:
        return _stopped(idle, outcome)
    match outcome.kind:
        case "completed":
            return close(idle, "COMPLETED")
        case "refused":
            return close(idle, "ERROR", reason=outcome.message)
        case "failed":
            return _failed(idle, outcome)
        case "lost" if failed_starts >= MAX_FAILED_STARTS and state.state == "ACTIVE":
            return _never_started(idle, outcome)
        case "lost" | "preempted" | "killed":
            return _next_run(idle)


def _stopped(state: Trial, outcome: AllocationOutcome) -> Step:
    was_killed = state.state == "STOPPING_KILLED"
    if outcome.kind == "failed" or (outcome.kind == "refused" and not was_killed):
        return close(state, "ERROR", reason=outcome.message)
    return close_stopped(state)


def close_stopped(state: Trial) -> Step:
    """Close a stopping trial with the state that it stops for."""
    return close(state, STOPPED_AS[state.state])


def close(state: Trial, to: RunState, reason: str | None = None) -> Step:
    """Close the trial and notify its experiment."""
    end = _ENDS[to]
    if to == "COMPLETED" and state.early_exit is not None:
        end = "invalid_hp"
    closed = replace(state, state=to, reason=state.reason if reason is None else reason)
    report = ReportTrialEnd(
        experiment_id=state.experiment_id, request_id=state.request_id, end=end
    )
    return closed, [report]


def _failed(state: Trial, outcome: AllocationOutcome) -> Step:
    logged: list[TrialEffect]
    if state.retries_canceled is not None:
        message = "trial failed and matched logs to a don't retry policy"
        logged = [
            WriteTaskLog(task_id=state.task_id, text=text, level="ERROR")
            for text in (message, *state.retries_canceled.splitlines())
        ]
        first = state.retries_canceled.partition("\n")[0]
        after, effects = close(state, "ERROR", reason=f"{message} {first}")
        return after, [*logged, *effects]
    if state.restarts >= state.max_restarts:
        return close(state, "ERROR", reason=outcome.message)
    if is_final(outcome.cause):
        text = f"{outcome.message}; it is not started again: each attempt would end like this"
        logged = [WriteTaskLog(task_id=state.task_id, text=text, level="ERROR")]
        after, effects = close(state, "ERROR", reason=text)
        return after, [*logged, *effects]
    again, logged = _crashed(state, outcome.cause)
    after, effects = _next_run(replace(again, restarts=state.restarts + 1), follows_failure=True)
    return after, [*logged, *effects]


def _crashed(state: Trial, cause: FailureCause | None) -> tuple[Trial, list[TrialEffect]]:
    """Count equal exceptions at one place, and say at the third that the next is likely equal.

    The restarts are as many as the configuration says: a lost connection may raise at one place.
    """
    crash = ""
    if cause is not None and cause.kind == "exception":
        crash = f"{cause.type} {cause.file}:{cause.line}"
    crashes = 0 if not crash else state.crashes + 1 if crash == state.crash else 1
    after = replace(state, crash=crash, crashes=crashes)
    if cause is None or crashes != MANY_CRASHES:
        return after, []
    left = state.max_restarts - state.restarts
    text = (
        f"{crashes} attempts in a row ended at the same line with {sentence(cause)}; {left} more "
        "may end like this: kill the trial to save them, or lower max_restarts"
    )
    return after, [WriteTaskLog(task_id=state.task_id, text=text, level="WARNING")]


def _never_started(state: Trial, outcome: AllocationOutcome) -> Step:
    text = (
        f"{state.failed_starts} starts in a row failed by the fault of their agents, the last "
        f"with: {outcome.message}; mend the agents, then continue the experiment"
    )
    logged = WriteTaskLog(task_id=state.task_id, text=text, level="ERROR")
    after, effects = close(state, "ERROR", reason=text)
    return after, [logged, *effects]


def _next_run(state: Trial, *, follows_failure: bool = False) -> Step:
    if state.state != "ACTIVE":
        return state, []
    return allocate(state, follows_failure=follows_failure)

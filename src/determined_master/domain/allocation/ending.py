"""The end of an allocation: its containers end, each end is recorded, the outcome is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from determined_master.domain.allocation import texts
from determined_master.domain.allocation.messages import (
    TRANSIENT,
    Allocation,
    AllocationEffect,
    AllocationOutcome,
    Container,
    ContainerFailure,
    ForgetContainer,
    KillCause,
    KillExpired,
    ReportAllocationEnd,
    SignalContainer,
)
from determined_master.domain.messages import CancelTimer, timer

KILL_RETRY_S = 30.0
MAX_MESSAGE_CHARACTERS = 1000
"""Longer failure texts are cut; the task's log has the whole text."""

KILL_TIMER = "kill_retry"
PREEMPTION_TIMER = "preemption"

Step = tuple[Allocation, list[AllocationEffect]]


def live(allocation: Allocation) -> list[Container]:
    """The open containers, by rank."""
    return [c for c in allocation.containers if c.state != "TERMINATED"]


def with_container(allocation: Allocation, container: Container) -> Allocation:
    changed = tuple(container if c.id == container.id else c for c in allocation.containers)
    return replace(allocation, containers=changed)


def kill(allocation: Allocation, cause: KillCause, reason: str) -> Step:
    """End every open container, and repeat it until none is left.

    The first cause stays, except that a request for a kill overrides all others: its sender sees
    it killed. A repeated request sends the signals again.
    """
    if not allocation.containers:
        return end_unassigned(allocation, reason)
    signals = _signals(allocation)
    if allocation.kill_cause == "request" and cause == "request":
        return allocation, signals
    if allocation.kill_cause is not None and cause != "request":
        return allocation, []
    text = f"forcibly killing allocation's remaining resources (reason: {reason})"
    effects: list[AllocationEffect] = [texts.line(allocation, text)]
    if allocation.preempt_reason is not None and allocation.kill_cause is None:
        effects.append(CancelTimer(PREEMPTION_TIMER))
    effects += [*signals, timer(KILL_TIMER, KILL_RETRY_S, KillExpired())]
    return replace(allocation, kill_cause=cause, kill_reason=reason), effects


def kill_again(allocation: Allocation) -> Step:
    """Signal again, as often as needed: a container is still alive after a kill."""
    if allocation.kill_cause is None or not live(allocation):
        return allocation, []
    return allocation, [
        *_signals(allocation),
        timer(KILL_TIMER, KILL_RETRY_S, KillExpired()),
    ]


def end_unassigned(allocation: Allocation, reason: str) -> Step:
    """End an allocation that has no containers yet."""
    message = f"allocation killed before it was assigned to an agent: {reason}"
    ended = replace(allocation, kill_cause="request", kill_reason=reason)
    return _finish(ended, AllocationOutcome(kind="killed", message=message))


def refuse(allocation: Allocation, reason: str, *, is_for_now: bool) -> Step:
    """End an allocation whose request cannot be met: never, or not for now."""
    message = f"allocation failed: {reason}"
    kind: Literal["lost", "refused"] = "lost" if is_for_now else "refused"
    return _finish(allocation, AllocationOutcome(kind=kind, message=message))


def end_containers(allocation: Allocation, ended: list[Container]) -> Step:
    """Record the ends of containers, newest facts in `ended`, and decide the next steps."""
    effects: list[AllocationEffect] = []
    for container in ended:
        failure = container.failure
        # a gang's state stays small
        brief = replace(failure, message="", cause=None) if failure else None
        over = replace(container, state="TERMINATED", failure=brief)
        allocation = with_container(allocation, over)
        effects.append(texts.exit_line(allocation, container))
        if failure and allocation.failure is None and allocation.kill_cause is None:
            first = replace(failure, message=failure.message[:MAX_MESSAGE_CHARACTERS])
            allocation = replace(allocation, failure=first)
    allocation = replace(allocation, state="TERMINATING")
    after, more = settle(allocation)
    return after, [*effects, *more]


def settle(allocation: Allocation) -> Step:
    """End remaining containers without a purpose; finish when none is left."""
    left = live(allocation)
    if not left:
        return _finish(allocation, _outcome(allocation))
    if allocation.kill_cause is not None:
        return allocation, []
    if allocation.failure is not None:
        return kill(allocation, "failure", "another container of the allocation has failed")
    if all(c.is_daemon for c in left):
        return kill(allocation, "daemons", "only containers that serve the others are left")
    return allocation, []


def forget(container: Container) -> ForgetContainer:
    """Let the agent remove the files of a container."""
    return ForgetContainer(container_id=container.id, agent_id=container.agent_id)


def failure_of(failure: ContainerFailure | None, exit_code: int | None) -> ContainerFailure | None:
    """The agent's report, or the exit code alone: any code but 0 is a failure."""
    if failure is None and exit_code:
        return ContainerFailure(type="container_failed", message="", exit_code=exit_code)
    return failure


def _signals(allocation: Allocation) -> list[AllocationEffect]:
    return [SignalContainer(container_id=c.id, agent_id=c.agent_id) for c in live(allocation)]


def _outcome(allocation: Allocation) -> AllocationOutcome:
    """How an allocation whose containers have all ended has ended.

    A kill on request hides everything but a failure of the task that came before it: the other
    containers were ending for that failure. A kill that only replaces an exit (not ready for the
    request, or too slow) does not hide that all containers exited with code 0: their work is done.
    An acknowledged request to exit hides a later failure.

    Source: task-contract 1.8, "kill" and "exit status precedence".
    """
    workers = _workers(allocation)
    is_clean = all(c.failure is None and c.exit_code == 0 for c in workers)
    failure = allocation.failure
    code = next((c.exit_code for c in workers if c.exit_code), 0 if is_clean else None)
    text = texts.describe(failure)
    if _is_killed(allocation, is_clean=is_clean):
        message = "allocation killed after all resources exited: resources were killed"
        return AllocationOutcome(kind="killed", message=message, exit_code=code)
    if allocation.is_preempt_acknowledged:
        message = f"allocation preempted after all resources exited: {text}"
        return AllocationOutcome(kind="preempted", message=message, exit_code=code)
    if failure is not None:
        return AllocationOutcome(
            kind="lost" if failure.type in TRANSIENT else "failed",
            message=texts.failure_line(failure),
            exit_code=failure.exit_code,
            is_failed_start=failure.type in ("agent_error", "not_placed"),
            cause=failure.cause,
        )
    message = f"allocation stopped early after all resources exited: {text}"
    return AllocationOutcome(kind="completed", message=message, exit_code=0)


def _workers(allocation: Allocation) -> Sequence[Container]:
    """The containers whose ends count: all, where each is a daemon."""
    return [c for c in allocation.containers if not c.is_daemon] or allocation.containers


def _is_killed(allocation: Allocation, *, is_clean: bool) -> bool:
    """Whether the kill is what ended it; `is_clean`: all workers exited with code 0."""
    if allocation.kill_cause == "request":
        return not _failed_first(allocation)
    return allocation.kill_cause == "leave" and not is_clean


def _failed_first(allocation: Allocation) -> bool:
    """Whether it failed by its own fault. Containers that end after a kill record no failure."""
    failure = allocation.failure
    if failure is None or allocation.is_preempt_acknowledged:
        return False
    return failure.type not in TRANSIENT


def _finish(allocation: Allocation, outcome: AllocationOutcome) -> Step:
    effects: list[AllocationEffect] = [texts.last_line(allocation, outcome)]
    if allocation.containers:
        if allocation.kill_cause is not None:
            effects.append(CancelTimer(KILL_TIMER))
        elif allocation.preempt_reason is not None:
            effects.append(CancelTimer(PREEMPTION_TIMER))
    effects.append(ReportAllocationEnd(outcome))
    failure = allocation.failure and replace(allocation.failure, cause=None)  # the outcome has it
    after = replace(allocation, state="TERMINATED", outcome=outcome, failure=failure)
    return after, effects

"""The lines that an allocation writes into its task's log, and the texts of its end.

Scripts match these texts. Source: wire 9.3.
"""

from __future__ import annotations

from determined_master.domain.allocation.messages import (
    Allocation,
    AllocationOutcome,
    Container,
    ContainerFailure,
    FailureType,
)
from determined_master.domain.messages import WriteTaskLog

EXITED_CLEANLY = "resources exited successfully with a zero exit code"

PHRASES: dict[FailureType, str] = {
    "container_failed": "resources failed with non-zero exit code",
    "task_error": "task failed without an associated exit code",
    "container_aborted": "resources were ended before they had started",
    "container_ended": "resources were ended while they ran",
    "agent_failed": "agent went away while the resources were running",
    "agent_error": "agent could not launch the resources",
    "restore_error": "resources were not found again after a restart",
    "not_placed": "Kubernetes did not place or start the resources",
}

_CAUSES: dict[FailureType, str] = {
    "agent_failed": "allocation failed due to agent failure: agent failed while the container was "
    "running",
    "restore_error": "allocation failed due to restore error: RM failed to restore the allocation",
}
"""The beginnings of texts that scripts of 0.38.1 match."""


def line(allocation: Allocation, text: str, level: str = "INFO") -> WriteTaskLog:
    return WriteTaskLog(task_id=allocation.request.task_id, text=text, level=level)


def describe(failure: ContainerFailure | None) -> str:
    """How a container ended: the phrase of its kind, the agent's text, the exit code."""
    if failure is None:
        return EXITED_CLEANLY
    code, words = failure.exit_code, failure.message
    if failure.type == "container_failed" and code is not None:
        text = f"container failed with non-zero exit code: {code}"
        words = words if words.startswith(text) else f"{text}: {words}" if words else text
    tail = "" if code is None else f" (exit code {code})"
    return f"{PHRASES[failure.type]}: {words}{tail}"


def failure_line(failure: ContainerFailure) -> str:
    """Why the allocation failed."""
    cause = _CAUSES.get(failure.type)
    return f"{cause}: {failure.message}" if cause else f"allocation failed: {describe(failure)}"


def exit_status(allocation: Allocation, outcome: AllocationOutcome) -> str:
    """How an allocation ended, as users of interactive tasks see it."""
    if outcome.kind == "completed":
        return "allocation exited successfully"
    if outcome.kind in ("failed", "lost"):
        return describe(allocation.failure)
    reason = allocation.kill_reason
    if outcome.kind == "killed" and reason and reason not in outcome.message:
        return f"{outcome.message} (reason: {reason})"
    return outcome.message


def unreached_lines(allocation: Allocation, chief: Container) -> list[WriteTaskLog]:
    """A line for each proxied port that the container does not publish."""
    published = dict(chief.ports)
    return [
        line(
            allocation,
            f"port {wanted.port} cannot be reached through the master: its agent has not "
            "published it; see the agent's log",
            "WARNING",
        )
        for wanted in allocation.request.proxy_ports
        if wanted.port not in published
    ]


def exit_line(allocation: Allocation, container: Container) -> WriteTaskLog:
    """The line about the end of one container."""
    text = describe(container.failure)
    if container.failure is None:
        return line(allocation, text)
    if allocation.kill_cause == "daemons":
        return line(allocation, f"daemon killed: {text}", "DEBUG")
    if allocation.kill_cause is not None:
        return line(allocation, f"killed: {text}")
    return line(allocation, f"crashed: {text}", level_of(container.failure))


def last_line(allocation: Allocation, outcome: AllocationOutcome) -> WriteTaskLog:
    """The line about the end of the allocation."""
    level = "INFO"
    if outcome.kind == "refused":
        level = "ERROR"
    elif outcome.kind in ("failed", "lost") and allocation.failure is not None:
        level = level_of(allocation.failure)
    return line(allocation, f"{allocation.request.name} was terminated: {outcome.message}", level)


def level_of(failure: ContainerFailure) -> str:
    """A container that was signalled to end and reports no exit code did not fail."""
    return "INFO" if failure.type in ("container_aborted", "container_ended") else "ERROR"

"""Waits until an interactive task is ready, and shows the reason for the wait."""

from __future__ import annotations

import time
from typing import Any, Dict, Mapping, Optional
from urllib.parse import quote

from determined.cli import declare, errors, log_stream
from determined.cli.interactive.kinds import TaskKind
from determined.cli.output import show
from determined.common import progress
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors

_READY_LIMIT_S = 1800.0
"""The limit from assignment to readiness; the pull of a large image takes minutes."""
_UNREACHABLE_LIMIT_S = 120.0
_REASON_INTERVAL_S = 5.0
_LAST_LINES = 15
_RUNS = ("RUNNING", "WAITING")
_STATE_TEXTS = {
    "QUEUED": "queued",
    "PULLING": "pulling its image",
    "STARTING": "starting",
    "WAITING": "running, waiting for its data",
    "RUNNING": "running, not ready yet",
    "TERMINATING": "terminating",
}


def until_ready(session: BaseSession, kind: TaskKind, task: Mapping[str, Any]) -> None:
    """Wait until a task is ready, and show its state on stderr.

    The wait in the queue has no limit. An interrupt leaves the task running and prints how to
    reconnect.

    Raises:
        CliError: the task ended first, or it is not ready 30 minutes after its assignment.
        MasterNotFoundException: the master is unreachable for 2 minutes.
    """
    task_id = task["id"]
    wait = _ReadinessWait(session, kind, task)
    try:
        with progress.status(f"{capital(kind.title)} {task_id}") as report:
            while not wait.poll(report):
                time.sleep(wait.pause_s)
    except KeyboardInterrupt:
        declare.warn(
            f"{capital(kind.title)} {task_id} is still running. Reconnect: det {kind.word} open "
            f"{task_id}. Stop: det {kind.word} kill {task_id}"
        )
        raise


def allocation_of(session: BaseSession, task_id: str) -> Optional[Dict[str, Any]]:
    """The latest allocation of a task; None before the first."""
    allocations = session.get(f"/api/v1/tasks/{quote(task_id, safe='')}").json()["task"][
        "allocations"
    ]
    newest: Optional[Dict[str, Any]] = allocations[0] if allocations else None
    return newest


def capital(title: str) -> str:
    """The title of a kind with a capital letter."""
    return title[0].upper() + title[1:]


class _ReadinessWait:
    """The state of one wait between two polls."""

    def __init__(self, session: BaseSession, kind: TaskKind, task: Mapping[str, Any]) -> None:
        self._session, self._kind, self._task = session, kind, task
        self._unreachable_since_s: Optional[float] = None
        self._placed_at_s: Optional[float] = None
        self._state, self._detail, self._reason_at_s = "", "", 0.0
        self.pause_s = 0.05

    def poll(self, report: progress.StatusCallback) -> bool:
        """Poll once and report the state. True when the task is ready."""
        self.pause_s = min(self.pause_s * 1.3, 1.0)
        try:
            allocation = allocation_of(self._session, self._task["id"])
            self._unreachable_since_s = None
        except api_errors.MasterNotFoundException:
            if self._is_unreachable_for_long():
                raise
            report("the master does not answer")
            return False
        state = show.state(allocation["state"]) if allocation else "QUEUED"
        if allocation and state == "TERMINATED":
            raise self._ended(allocation)
        if allocation and allocation.get("isReady"):
            return True
        report(self._describe(state))
        return False

    def _is_unreachable_for_long(self) -> bool:
        now_s = time.monotonic()
        self._unreachable_since_s = self._unreachable_since_s or now_s
        return now_s - self._unreachable_since_s > _UNREACHABLE_LIMIT_S

    def _describe(self, state: str) -> str:
        """The state as text for the user, with its details."""
        now_s = time.monotonic()
        words = _STATE_TEXTS.get(state, state)
        if state != "QUEUED":
            self._placed_at_s = self._placed_at_s or now_s
            if now_s - self._placed_at_s > _READY_LIMIT_S:
                raise errors.CliError(
                    f"it is not ready after {_READY_LIMIT_S / 60:.0f} minutes ({words}); see 'det "
                    f"{self._kind.word} logs {self._task['id']}'"
                )
        if state != self._state or now_s - self._reason_at_s >= _REASON_INTERVAL_S:
            # A running task is usually ready at once, so its log is read only on a later poll.
            is_new, self._state, self._reason_at_s = state != self._state, state, now_s
            self._detail = self._fetch_reason() if state == "QUEUED" else ""
            if state in _RUNS and not is_new:
                self._detail = log_stream.last_text(self._session, self._task["id"])
        return f"{words}: {self._detail}" if self._detail else words

    def _fetch_reason(self) -> str:
        """The scheduler's explanation of the wait; empty if it has none."""
        job = quote(str(self._task.get("jobId") or ""), safe="")
        try:
            answer = self._session.get(f"/api/v1/job-queues/{job}/why").json()
        except api_errors.BadRequestException:
            return ""
        return str(answer["text"]) if answer.get("waiting") else ""

    def _ended(self, allocation: Mapping[str, Any]) -> errors.CliError:
        task_id = self._task["id"]
        lines = log_stream.last(self._session, task_id, _LAST_LINES)
        reason = allocation.get("exitReason") or "unknown reason"
        tail = f". Its log ends with:\n{lines}" if lines else ""
        return errors.CliError(f"{self._kind.title} {task_id} ended: {reason}{tail}")

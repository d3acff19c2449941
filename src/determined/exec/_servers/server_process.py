"""A task's server as a child process, with a monitor thread."""

from __future__ import annotations

import signal
import threading
from typing import Callable, List, Mapping, NamedTuple

from determined.common.api import errors
from determined.common.api._session import BaseSession
from determined.exec._child import Child
from determined.exec._log import EntryFailed, log

GRACE_S = 10.0
"""The time between SIGTERM and SIGKILL if the monitor fails."""

Watch = Callable[[threading.Event], None]
"""The monitor. It should return soon after the event is set, which means the server has ended."""


class ServerExit(NamedTuple):
    """How a server ended."""

    code: int
    """The exit code; 128 + n if signal n killed the server."""
    was_signaled: bool
    """Whether the task had received a signal before."""

    def log_unexpected(self, name: str) -> int:
        """Return the code; log an error if the exit was not requested."""
        if self.code and not self.was_signaled:
            log(
                f"{name} exited unexpectedly with code {self.code}; see its messages above",
                "ERROR",
            )
        return self.code


def serve(command: List[str], env: Mapping[str, str], watch: Watch) -> ServerExit:
    """Run a server until it exits. Signals that this process receives are forwarded to it.

    Args:
        command: the server's command.
        env: its environment.
        watch: the monitor, which runs in a thread.

    Raises:
        EntryFailed: the server cannot be started, or `watch` raised this; the server is then
            terminated.
    """
    child = Child(command, env)
    ended = threading.Event()
    failures: List[EntryFailed] = []

    def guarded() -> None:
        try:
            watch(ended)
        except EntryFailed as error:
            failures.append(error)
            child.send(signal.SIGTERM)
            if not ended.wait(GRACE_S):
                child.send(signal.SIGKILL)

    threading.Thread(target=guarded, name="det-watch", daemon=True).start()
    code = child.wait()
    ended.set()
    if failures:
        raise failures[0]
    return ServerExit(code, child.was_signaled)


def report_ready(session: BaseSession, env: Mapping[str, str], state: str = "ready") -> None:
    """Report to the master that the server is ready.

    Args:
        session: the task's session.
        env: the task's environment.
        state: `ready`, or `waiting` for data to serve.
    """
    allocation = env["DET_ALLOCATION_ID"]
    try:
        session.post(
            f"/api/v1/allocations/{allocation}/{state}", json={"allocationId": allocation}
        )
    except (errors.BadRequestException, errors.BadResponseException) as error:
        log(f"the state {state!r} of this task could not be reported: {error}", "WARNING")

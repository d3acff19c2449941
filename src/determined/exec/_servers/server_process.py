"""Running a server until the task is log_unexpected to end, with what watches it beside it."""

from __future__ import annotations

import signal
import threading
from typing import Callable, List, Mapping, NamedTuple

from determined.common.api import errors
from determined.common.api._session import BaseSession
from determined.exec._child import Child
from determined.exec._log import EntryFailed, log

GRACE_S = 10.0
"""Left to a server that is to end, because what it serves has failed."""

Watch = Callable[[threading.Event], None]
"""Runs beside the server, and should return soon once the event is set: the server has ended."""


class ServerExit(NamedTuple):
    """How a server has ended."""

    code: int
    """128 + n when signal n ended it."""
    was_signaled: bool
    """Whether a signal came for the task before."""

    def log_unexpected(self, name: str) -> int:
        """The code, with a line in the log where nobody has asked for this end."""
        if self.code and not self.was_signaled:
            log(
                f"{name} ended by itself with exit code {self.code}: its own words above may say "
                "why",
                "ERROR",
            )
        return self.code


def serve(command: List[str], env: Mapping[str, str], watch: Watch) -> ServerExit:
    """Run a server to its end. Signals that arrive here are handed on to it.

    Args:
        command: the server.
        env: its environment.
        watch: runs in a thread meanwhile.

    Raises:
        EntryFailed: the server cannot be started, or `watch` has raised this; the server is
            ended then.
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
    """Tell the master that the server answers; the session tries again while it is away.

    Args:
        session: as this task.
        env: of this task.
        state: `ready`, or `waiting` for what it serves.
    """
    allocation = env["DET_ALLOCATION_ID"]
    try:
        session.post(
            f"/api/v1/allocations/{allocation}/{state}", json={"allocationId": allocation}
        )
    except (errors.BadRequestException, errors.BadResponseException) as error:
        log(f"that this task is {state} could not be reported: {error}", "WARNING")

"""Running the user's program, and being transparent about it: signals in, exit code out."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any, List, Mapping

from determined._constants import FORWARDED_SIGNALS
from determined.exec._log import EntryFailed

NOT_FOUND = 127
NOT_EXECUTABLE = 126


class Child:
    """One started program; signals that arrive here are handed on to it."""

    def __init__(self, command: List[str], env: Mapping[str, str]) -> None:
        self._pid = 0
        self._early: List[int] = []
        self.was_signaled = False
        """Whether a signal has been handed on to it."""
        for signum in _signals():
            signal.signal(signum, self._forward)
        self._pid = _spawn(command, env)
        for number in self._early:
            os.kill(self._pid, number)

    def wait(self) -> int:
        """The program's exit code, 128 + n when signal n ended it.

        Orphans are reaped on the way: in a container this process has number 1.
        """
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self._pid:
                self._pid = 0
                for signum in _signals():
                    signal.signal(signum, signal.SIG_DFL)
                return exit_code(status)

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        pid = self._pid
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, number)

    def _forward(self, number: int, _frame: Any) -> None:
        self.was_signaled = True
        if self._pid:
            self.send(number)
        else:
            self._early.append(number)


def exit_code(status: int) -> int:
    """A wait status as a shell tells it."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _signals() -> List[signal.Signals]:
    return [getattr(signal, name) for name in FORWARDED_SIGNALS]


def _spawn(command: List[str], env: Mapping[str, str]) -> int:
    """Start a program found on the PATH of `env`.

    Raises:
        EntryFailed: with code 127 it is not there, with 126 it cannot be run.
    """
    program = command[0]
    path = _find(program, env.get("PATH", os.defpath))
    try:
        # Python ignores SIGPIPE, which a shell pipeline in the program must not inherit.
        return os.posix_spawn(path, command, dict(env), setsigdef=[signal.SIGPIPE])
    except FileNotFoundError:
        raise EntryFailed(
            f"the entrypoint's program {program!r} was not found: name a program on PATH, or a "
            "file of the model directory as './file' (and see that its first line names an "
            "interpreter that exists)",
            NOT_FOUND,
        ) from None
    except PermissionError:
        raise EntryFailed(
            f"the entrypoint's program {program!r} may not be executed: make it executable "
            "(chmod +x) before submitting, or start it with its interpreter, as in "
            "'python3 train.py'",
            NOT_EXECUTABLE,
        ) from None
    except OSError as error:
        raise EntryFailed(
            f"the entrypoint's program {program!r} cannot be run: {error.strerror}",
            NOT_EXECUTABLE,
        ) from None


def _find(program: str, path: str) -> str:
    if "/" in program:
        return program
    unusable = ""
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", program)
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return candidate
            unusable = unusable or candidate
    return unusable or program

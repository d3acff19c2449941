"""The user's program as a child process: forwards signals and returns its exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Any, Callable, List, Mapping, Optional

from determined._constants import FORWARDED_SIGNALS
from determined.exec._log import EntryFailed

NOT_FOUND = 127
NOT_EXECUTABLE = 126


class Child:
    """A running program. Signals that this process receives are forwarded to it.

    Args:
        command: the program and its arguments.
        env: all of its variables.
        reprieve: for how many seconds the first SIGTERM waits, or until the program ends; called
            in a thread when it comes.
    """

    def __init__(
        self,
        command: List[str],
        env: Mapping[str, str],
        reprieve: Optional[Callable[[], float]] = None,
    ) -> None:
        self._pid = 0
        self._reprieve = reprieve
        self._has_ended = threading.Event()
        self._early: List[int] = []
        self.was_signaled = False
        """Whether a signal was forwarded to it."""
        for signum in _signals():
            signal.signal(signum, self._forward)
        self._pid = _spawn(command, env)
        for number in self._early:
            os.kill(self._pid, number)

    def wait(self) -> int:
        """Wait for the program; return its exit code, or 128 + n if signal n killed it.

        Reaps orphans too, since in a container this process is PID 1.
        """
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self._pid:
                self._pid = 0
                self._has_ended.set()
                for signum in _signals():
                    signal.signal(signum, signal.SIG_DFL)
                return exit_code(status)

    def send(self, number: int) -> None:
        """Send a signal to the program, unless it has ended."""
        pid = self._pid
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, number)

    def _forward(self, number: int, _frame: Any) -> None:
        if number == signal.SIGTERM and self._reprieve is not None:
            reprieve, self._reprieve = self._reprieve, None
            later = threading.Thread(target=self._forward_later, args=(number, reprieve))
            later.daemon = True
            later.start()
        else:
            self._forward_now(number)

    def _forward_later(self, number: int, reprieve: Callable[[], float]) -> None:
        if not self._has_ended.wait(reprieve()):
            self._forward_now(number)

    def _forward_now(self, number: int) -> None:
        self.was_signaled = True
        if self._pid:
            self.send(number)
        else:
            self._early.append(number)


def exit_code(status: int) -> int:
    """The exit code of a wait status, as a shell reports it."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _signals() -> List[signal.Signals]:
    return [getattr(signal, name) for name in FORWARDED_SIGNALS]


def _spawn(command: List[str], env: Mapping[str, str]) -> int:
    """Start a program found on the PATH of `env`.

    Raises:
        EntryFailed: it does not exist (code 127), or cannot be executed (code 126).
    """
    program = command[0]
    path = _find(program, env.get("PATH", os.defpath))
    try:
        # Python ignores SIGPIPE; shell pipelines in the program need its default action.
        return os.posix_spawn(path, command, dict(env), setsigdef=[signal.SIGPIPE])
    except FileNotFoundError:
        raise EntryFailed(
            f"the entrypoint's program {program!r} was not found: use a program on PATH, or a "
            "file of the model directory as './file' (its first line must name an existing "
            "interpreter)",
            NOT_FOUND,
        ) from None
    except PermissionError:
        raise EntryFailed(
            f"the entrypoint's program {program!r} is not executable: make it executable "
            "(chmod +x) before submitting, or start it with its interpreter, such as "
            "'python3 train.py'",
            NOT_EXECUTABLE,
        ) from None
    except OSError as error:
        raise EntryFailed(
            f"the entrypoint's program {program!r} cannot be started: {error.strerror}",
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

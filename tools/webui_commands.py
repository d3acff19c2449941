"""Runs the commands of the web UI's build, each with a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SHOWN_LINES = 25


class TimedOut(Exception):
    """A command took too long and was ended."""


def run(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, limit_s: float
) -> int:
    """Run a command, its output into a log; its exit status.

    A command that is not done in time is killed with all that it started.

    Raises:
        TimedOut: it was not.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise TimedOut(f"{Path(command[0]).name} took more than {limit_s:.0f} s") from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def last_lines(log: Path) -> str:
    """The end of a log, indented."""
    lines = log.read_text(errors="replace").strip().splitlines()[-SHOWN_LINES:]
    return "\n".join(f"  {line}" for line in lines)

"""Processes that stand still: for a test they do so from one line to the next."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_LIMIT_S = 60.0


@contextlib.contextmanager
def standing_still(pid: int) -> Iterator[None]:
    """Let a process stand still, in all of its threads, before anything else is done.

    The signal alone is not enough: until it has reached the last thread, another may still take
    a call and answer it.
    """
    os.kill(pid, signal.SIGSTOP)
    try:
        _until_stopped(pid)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # killed meanwhile
            os.kill(pid, signal.SIGCONT)


def _until_stopped(pid: int) -> None:
    give_up_at = time.monotonic() + _LIMIT_S
    while set(_states(pid)) != {"T"}:
        assert time.monotonic() < give_up_at, f"process {pid} does not stop"
        time.sleep(0.001)


def _states(pid: int) -> Iterator[str]:
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            yield stat.read_text().rpartition(")")[2].split()[0]

"""Know the processes of an embedded PostgreSQL, and end those that its death has left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from determined_master import clock

_POLL_S = 0.01


def serves(process: psutil.Process, data: Path) -> bool:
    """Whether it is the server of this data directory, or one of the server's children.

    A process id may have been given to another program since it was written down.
    """
    try:
        return (
            process.status() != psutil.STATUS_ZOMBIE
            and Path(process.exe()).name == "postgres"
            and Path(process.cwd()) == data.resolve()
        )
    except (psutil.Error, OSError):
        return False


def makes(process: psutil.Process, data: Path) -> bool:
    """Whether it is an `initdb` that makes this data directory, or a child of one."""
    try:
        return (
            process.status() != psutil.STATUS_ZOMBIE
            and Path(process.exe()).name in ("initdb", "postgres")
            and (str(data) in process.cmdline() or Path(process.cwd()) == data.resolve())
        )
    except (psutil.Error, OSError):
        return False


def lives(process: psutil.Process) -> bool:
    """Whether it can still do anything: one that ends holds its memory until it is a zombie."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def end_all(is_meant: Callable[[psutil.Process], bool], deadline_s: float) -> bool:
    """Kill the processes that are meant, and those that they start meanwhile.

    Returns:
        Whether none is left; False when the deadline passed first.
    """
    until = clock.monotonic_s() + deadline_s
    while meant := [process for process in psutil.process_iter() if is_meant(process)]:
        for process in meant:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if clock.monotonic_s() > until:
            return False
        while any(lives(process) for process in meant) and clock.monotonic_s() <= until:
            time.sleep(_POLL_S)
    return True

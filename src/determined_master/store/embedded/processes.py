"""Know the processes of an embedded PostgreSQL, and end those that its death has left."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from determined_master import clock

_POLL_S = 0.01


@dataclass(frozen=True)
class Server:
    """A server process: our child, or one that another process started."""

    process: subprocess.Popen[bytes] | psutil.Process

    @property
    def pid(self) -> int:
        """Its process id, which may be given to another program after its end."""
        return self.process.pid

    def is_alive(self) -> bool:
        """Whether the process still runs; reaps it when it was ours and has ended."""
        if isinstance(self.process, psutil.Process):
            return lives(self.process)
        return self.process.poll() is None


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
    except (psutil.Error, OSError):
        return False


def all_processes() -> Iterator[psutil.Process]:
    """What runs now; `psutil.process_iter` remembers programs of ids that others have since."""
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):
            yield psutil.Process(pid)


def end_all(is_meant: Callable[[psutil.Process], bool], deadline_s: float) -> bool:
    """Kill the processes of this server, and those that they start in the meantime.

    Other processes of PostgreSQL that are ending are awaited: their owner is no longer visible,
    and until they end they may hold shared memory.

    Returns:
        Whether none is left; False when the deadline passed first.
    """
    until = clock.monotonic_s() + deadline_s
    while True:
        targets = [process for process in all_processes() if is_meant(process) or _ends(process)]
        if not targets:
            return True
        if clock.monotonic_s() > until:
            return False
        for process in targets:
            with contextlib.suppress(psutil.Error, OSError):
                if is_meant(process):
                    process.kill()
        while any(lives(process) for process in targets) and clock.monotonic_s() <= until:
            time.sleep(_POLL_S)


def _ends(process: psutil.Process) -> bool:
    """Whether it is a process of PostgreSQL that has given up its program, as one that dies."""
    try:
        return process.name() == "postgres" and process.exe() == "" and lives(process)
    except (psutil.Error, OSError):
        return False

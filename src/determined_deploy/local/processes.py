"""Processes of this machine: finds, identifies and ends them.

The kernel reuses pids, so a pid and the start time together identify a process.
"""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from typing import Dict, Iterable, List, Optional, Set

_PROC = pathlib.Path("/proc")
_GONE_S = 30.0
"""The limit for a killed process to disappear; it is near this only on a busy machine."""


@dataclasses.dataclass(frozen=True)
class ProcessIdentity:
    """One process; `start` is the kernel's start time as text, in units of the system."""

    pid: int
    start: str


def identify(pid: int) -> Optional[ProcessIdentity]:
    """The identity of a live process; None if there is none, or only a zombie."""
    if not _PROC.joinpath("self", "stat").exists():
        return _identify_by_ps(pid)
    fields = _stat(pid)
    if fields is None or fields[0] in ("Z", "X"):
        return None
    return ProcessIdentity(pid, fields[19])


def is_alive(process: ProcessIdentity) -> bool:
    """Whether the process still runs."""
    return identify(process.pid) == process


def end(processes: Iterable[ProcessIdentity], grace_s: float) -> List[ProcessIdentity]:
    """Terminate processes, and kill those that still run after `grace_s` seconds.

    Returns:
        The processes that had to be killed.
    """
    alive = [p for p in processes if is_alive(p)]
    for process in alive:
        send(process, signal.SIGTERM)
    alive = wait_gone(alive, grace_s)
    for process in alive:
        send(process, signal.SIGKILL)
    wait_gone(alive, _GONE_S)
    return alive


def send(process: ProcessIdentity, number: int) -> None:
    """Signal a process if it is still the same one."""
    if is_alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def wait_gone(processes: Iterable[ProcessIdentity], limit_s: float) -> List[ProcessIdentity]:
    """Wait at most `limit_s` seconds until all have ended, and return those that still run."""
    deadline = time.monotonic() + limit_s
    alive = [p for p in processes if is_alive(p)]
    while alive and time.monotonic() < deadline:
        time.sleep(0.02)
        alive = [p for p in alive if is_alive(p)]
    return alive


def descendants(roots: Iterable[ProcessIdentity]) -> List[ProcessIdentity]:
    """All live descendants of `roots`, found by parent and by session."""
    parents: Dict[int, int] = {}
    sessions: Dict[int, int] = {}
    for pid in all_pids():
        fields = _stat(pid)
        if fields is not None:
            parents[pid], sessions[pid] = int(fields[1]), int(fields[3])
    root_pids = {root.pid for root in roots}
    pids: Set[int] = set(root_pids)
    grew = True
    while grew:
        more = {p for p in parents if parents[p] in pids or sessions[p] in root_pids} - pids
        pids |= more
        grew = bool(more)
    identified = (identify(pid) for pid in sorted(pids - root_pids))
    return [process for process in identified if process is not None]


def find_by_command_line(needle: str) -> List[ProcessIdentity]:
    """The live processes, except this one, with `needle` in their command line."""
    matches = []
    for pid in all_pids():
        if pid != os.getpid() and needle in command_of(pid):
            process = identify(pid)
            if process is not None:
                matches.append(process)
    return matches


def command_of(pid: int) -> str:
    """The command line of a process, joined by blanks; "" if it is unreadable."""
    try:
        raw = _PROC.joinpath(str(pid), "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()


def all_pids() -> List[int]:
    """Every visible pid of this machine; none if /proc is missing."""
    try:
        return [int(name) for name in os.listdir(str(_PROC)) if name.isdigit()]
    except OSError:
        return []


def _stat(pid: int) -> Optional[List[str]]:
    """The fields of /proc/<pid>/stat after the command's name: state, parent, group, session …"""
    try:
        text = _PROC.joinpath(str(pid), "stat").read_text(errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def _identify_by_ps(pid: int) -> Optional[ProcessIdentity]:
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    words = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    if not words or words[0].startswith("Z"):
        return None
    return ProcessIdentity(pid, " ".join(words[1:]))

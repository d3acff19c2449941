"""Finds and kills the descendants of a process, by /proc; standard library only.

The shim and the agent kill a task's whole process tree with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

_STOP_ROUNDS = 100
_PARENT, _GROUP, _START = 1, 2, 19  # columns of /proc/PID/stat behind the name


def descendants(root: int) -> list[int]:
    """Return the current descendants of `root`, nearest first."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parents.setdefault(_stat(int(name), _PARENT), []).append(int(name))
    pids: list[int] = []
    level = [root]
    while level:
        level = [child for pid in level for child in parents.get(pid, ())]
        pids += level
    return pids


def kill_below(root: int) -> None:
    """Kill all descendants of `root`, but not `root` itself."""
    kill_all(lambda: descendants(root), spare=_stat(root, _GROUP))


def kill_all(find: Callable[[], list[int]], spare: int = 0) -> None:
    """Kill processes that may fork at any time.

    All of them are stopped before any is killed: processes that replace each killed one would
    outrun single signals, and stopped processes cannot fork. Whole process groups are stopped,
    which also catches a process that forks and exits before it is listed.

    Args:
        find: returns the current process ids.
        spare: a process group that other processes belong to as well.
    """
    spared = {0, spare, os.getpgrp()}
    stopped: set[int] = set()
    for _ in range(_STOP_ROUNDS):
        running = _with_groups(find(), spared) - stopped
        if not running:
            break
        for target in running:
            send(target, signal.SIGSTOP)
        stopped |= running
    for target in _with_groups(find(), spared):
        send(target, signal.SIGKILL)


def start_time(pid: int) -> int:
    """Return when a process was started, in clock ticks since boot; 0 if it does not exist."""
    return _stat(pid, _START)


def send(target: int, number: int) -> None:
    """Send a signal to a process, or to a group by its negative id, that may not exist."""
    with contextlib.suppress(OSError):  # it has ended, or belongs to another user (setuid)
        os.kill(target, number)


def _with_groups(pids: list[int], spared: set[int]) -> set[int]:
    groups = {_stat(pid, _GROUP) for pid in pids} - spared
    return {*pids, *(-group for group in groups)}


def _stat(pid: int, column: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[column])
    except OSError:  # it has ended
        return 0

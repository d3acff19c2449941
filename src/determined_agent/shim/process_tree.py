"""Processes and what descends from them, as /proc shows it; standard library only.

The shim and the agent end a task's whole tree by it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

_STOP_ROUNDS = 100
_PARENT, _GROUP, _START = 1, 2, 19  # columns of /proc/PID/stat behind the name


def descendants(root: int) -> list[int]:
    """Processes below `root`, nearest first, as /proc shows them now."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parents.setdefault(_stat(int(name), _PARENT), []).append(int(name))
    found: list[int] = []
    level = [root]
    while level:
        level = [child for pid in level for child in parents.get(pid, ())]
        found += level
    return found


def kill_below(root: int) -> None:
    """End all processes below `root`, itself not."""
    kill_all(lambda: descendants(root), spare=_stat(root, _GROUP))


def kill_all(find: Callable[[], list[int]], spare: int = 0) -> None:
    """End processes that may be having children meanwhile.

    They are stopped before one is ended: a family that replaces each of its dead would outrun
    whoever ended one at a time, and of those that stand still none is born. A process group is
    stopped as one, which catches also who has a child and ends before it is looked at.

    Args:
        find: Their ids at this time.
        spare: A process group that others belong to as well.
    """
    spared = {0, spare, os.getpgrp()}
    standing: set[int] = set()
    for _ in range(_STOP_ROUNDS):
        moving = _with_groups(find(), spared) - standing
        if not moving:
            break
        for target in moving:
            send(target, signal.SIGSTOP)
        standing |= moving
    for target in _with_groups(find(), spared):
        send(target, signal.SIGKILL)


def start_time(pid: int) -> int:
    """When a process was started, in clock ticks since boot; 0 when it is not there."""
    return _stat(pid, _START)


def send(target: int, number: int) -> None:
    """Send a signal to a process, or to a group by a negative number, that may be gone."""
    with contextlib.suppress(OSError):  # gone, or not ours (setuid): beyond our reach
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

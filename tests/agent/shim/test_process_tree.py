from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from tests.e2e.cluster import until

from determined_agent.shim.process_tree import descendants, kill_all, kill_below, start_time

RUNNER = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.write(1, b"runs\\n")
end = time.monotonic() + 60
while time.monotonic() < end and os.getppid() != 1:
    if os.fork(): os._exit(0)
"""
"""One process at any time, another one each fraction of a millisecond.

It ends by itself when its test is over, however that ended.
"""

HYDRA = """
import os, time
os.write(1, b"runs\\n")
for _ in range(3): os.fork()
end = time.monotonic() + 60
while time.monotonic() < end and os.getppid() != 1:
    pid = os.fork()
    if pid: os.waitpid(pid, 0)
    else:
        os.read(0, 1)
        os._exit(0)
"""
"""Whoever loses a child has another one at once, until its test is over."""

SUBREAPER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    os.setpgid(0, 0)
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
while True:
    try: os.wait()
    except ChildProcessError:
        if not os.read(0, 1): os._exit(0)
"""


def living(root: int) -> list[int]:
    found = []
    for pid in descendants(root):
        with contextlib.suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


@contextlib.contextmanager
def family(source: str) -> Iterator[int]:
    """A subreaper whose descendants run a program; its process id."""
    command = [sys.executable, "-c", SUBREAPER, source]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, start_new_session=True, **pipes) as top:
        try:
            assert top.stdout is not None
            assert top.stdout.readline() == b"runs\n"
            yield top.pid
        finally:
            for _ in range(100):
                if not living(top.pid):
                    break
                kill_below(top.pid)
            top.kill()


@pytest.mark.slow
@pytest.mark.parametrize("source", [RUNNER, HYDRA], ids=["runner", "hydra"])
def test_a_family_that_outruns_single_signals_is_ended_as_one(source: str) -> None:
    with family(source) as root:
        kill_below(root)
        until(lambda: not living(root), what="the end of all")
        assert psutil.pid_exists(root)


def test_a_stranger_s_group_is_spared() -> None:
    """What carries a mark may run in the group of whoever looks for it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert os.getpgid(child.pid) == os.getpgrp()
        kill_all(lambda: [child.pid] if child.poll() is None else [])
        assert child.wait() == -signal.SIGKILL


def test_a_process_is_known_by_its_start() -> None:
    own = start_time(os.getpid())
    assert own == start_time(os.getpid()) > 0
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert start_time(child.pid) == 0

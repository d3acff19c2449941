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
"""Forks a new process every fraction of a millisecond; one runs at a time.

It ends by itself after its test.
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
"""Each process replaces an ended child at once, until the test ends."""

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
    """Start a subreaper with descendants that run a program; yield its process id."""
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
def test_processes_that_outrun_single_signals_are_killed_together(source: str) -> None:
    with family(source) as root:
        kill_below(root)
        until(lambda: not living(root), what="the end of all")
        assert psutil.pid_exists(root)


def test_the_callers_process_group_is_spared() -> None:
    """A process with the marker may be in the caller's own process group."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert os.getpgid(child.pid) == os.getpgrp()
        kill_all(lambda: [child.pid] if child.poll() is None else [])
        assert child.wait() == -signal.SIGKILL


def test_a_process_is_identified_by_its_start_time() -> None:
    own = start_time(os.getpid())
    assert own == start_time(os.getpid()) > 0
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert start_time(child.pid) == 0

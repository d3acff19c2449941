"""A process whose main thread has ended says which threads it waits for."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import os, threading
from determined import core
from determined.core import _thread_watch

_thread_watch.AFTER_S = 0.0
threading.Thread(target=os.read, args=(0, 1), name="loader", daemon={is_daemon}).start()
with core.init():
    raise RuntimeError("the step failed")
"""


def started(*, is_daemon: bool) -> subprocess.Popen[str]:
    """The program; its second thread ends when the standard input does."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(is_daemon=is_daemon)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_threads_that_outlive_the_main_thread_are_named() -> None:
    with started(is_daemon=False) as program:
        assert program.stderr is not None
        # Where nothing is said, the program must end for its standard error to do so.
        deadline = threading.Timer(60, program.kill)
        deadline.start()
        line = next((text for text in program.stderr if "waits for the threads" in text), "")
        deadline.cancel()
        assert "waits for the threads loader: end them" in line
        _, rest = program.communicate(timeout=60)
    assert program.returncode == 1
    assert "waits for the threads" not in rest


def test_a_process_that_ends_with_its_main_thread_names_none() -> None:
    with started(is_daemon=True) as program:
        assert program.stderr is not None
        text = program.stderr.read()
    assert program.returncode == 1
    assert "the step failed" in text
    assert "waits for the threads" not in text

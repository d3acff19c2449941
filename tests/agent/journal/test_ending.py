"""The end of the service reaches its main thread from a signal handler, whatever that does."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading

import pytest

from determined_agent.journal.ending import Ending

ROUNDS = 3000
SEED = 1


def rounds() -> None:
    """Wait for events that a handler sets, at every instant of the wait."""
    moments = random.Random(SEED)
    for _ in range(ROUNDS):
        ending = Ending()
        signal.signal(signal.SIGALRM, lambda *_, ending=ending: ending.set())
        signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-6, 6e-5))
        while not ending.wait(1e-5):
            pass


@pytest.mark.slow
def test_a_handler_sets_it_while_its_own_thread_waits() -> None:
    command = [sys.executable, "-c", f"from {__name__} import rounds; rounds()"]
    done = subprocess.run(command, timeout=120, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wait_ends_with_another_threads_set() -> None:
    ending = Ending()
    waiter = threading.Thread(target=ending.wait, args=(60.0,))
    waiter.start()
    ending.set()
    waiter.join(30)
    assert not waiter.is_alive()
    assert ending.is_set()
    assert ending.wait(60.0)


def test_a_wait_without_a_set_ends_with_its_time() -> None:
    ending = Ending()
    assert not ending.wait(0.001)
    assert not ending.is_set()


def test_more_wake_ups_than_a_pipe_holds_do_not_block() -> None:
    ending = Ending()
    for _ in range(70_000):
        ending.set()
    assert ending.wait(0.0)

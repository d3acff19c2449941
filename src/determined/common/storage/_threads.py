"""Concurrent work on many files, with a bounded number of threads."""

from __future__ import annotations

import threading
from typing import Callable, List, Sequence, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS = 4
"""Concurrent files: enough to hide latency, few enough not to disturb training."""


class Halted(Exception):
    """The work was stopped because another file failed or the caller was interrupted."""


class Halt:
    """A stop flag for concurrent work."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Make `check` raise."""
        self._event.set()

    def check(self) -> None:
        """Call this between units of work.

        Raises:
            Halted: the work should stop.
        """
        if self._event.is_set():
            raise Halted


def each(act: Callable[[T, Halt], R], items: Sequence[T], threads: int = THREADS) -> List[R]:
    """Call `act` with every item; return the results in the order of the items.

    Raises:
        Exception: the first error. Pending items are skipped and running ones are halted; all
            have ended when this raises.
    """
    halt = Halt()
    if len(items) < 2:
        return [act(item, halt) for item in items]
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(min(threads, len(items)), thread_name_prefix="det-storage") as pool:
        futures = [pool.submit(act, item, halt) for item in items]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            return [future.result() for future in futures]
        except BaseException:
            halt.set()
            for future in futures:
                future.cancel()
            raise

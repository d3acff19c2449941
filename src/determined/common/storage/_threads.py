"""Doing the same with many files, a bounded number at a time."""

from __future__ import annotations

import threading
from typing import Callable, List, Sequence, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS = 4
"""Files at work at once: enough to hide a storage's latency, few beside what trains."""


class Halted(Exception):
    """Another file failed, or the caller was interrupted: this one is not worth going on with."""


class Halt:
    """Tells those at work that what they do is not wanted any more."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """From now on `check` raises."""
        self._event.set()

    def check(self) -> None:
        """To be called between pieces of work.

        Raises:
            Halted: it is not wanted any more.
        """
        if self._event.is_set():
            raise Halted


def each(act: Callable[[T, Halt], R], items: Sequence[T], threads: int = THREADS) -> List[R]:
    """Do `act` with every item; results in the items' order.

    Raises:
        Exception: the first error; what has not begun then is left out, what has begun is
            halted, and nothing runs on.
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

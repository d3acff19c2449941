"""Doing the same with many files, a bounded number at a time."""

from __future__ import annotations

from typing import Callable, List, Sequence, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS = 4
"""Files at work at once: enough to hide a storage's latency, few beside what trains."""


def each(act: Callable[[T], R], items: Sequence[T], threads: int = THREADS) -> List[R]:
    """Do `act` with every item; results in the items' order.

    Raises:
        Exception: the first error; what has not begun then is left out, and nothing runs on.
    """
    if len(items) < 2:
        return [act(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(threads, len(items)), thread_name_prefix="det-storage") as pool:
        futures = [pool.submit(act, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

"""Telling the task's log about transfers that take long."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import Callable, Iterator, Optional

logger = logging.getLogger("determined.core")

LOG_EVERY_S = 60.0


@contextlib.contextmanager
def logging_progress(
    act: str, total: Optional[int] = None, every_s: float = LOG_EVERY_S
) -> Iterator[Callable[[int], None]]:
    """Log how far a transfer is each minute, also when nothing moves at all.

    Args:
        act: what is done, such as "storing checkpoint X".
        total: bytes to move; None when that is not known.
        every_s: how often, in seconds.

    Returns:
        To be called with how many more bytes were moved, from any thread.
    """
    moved, lock = [0], threading.Lock()
    is_over = threading.Event()
    began = time.monotonic()

    def count(more: int) -> None:
        with lock:
            moved[0] += more

    def tell() -> None:
        before = 0
        while not is_over.wait(every_s):
            took = round(time.monotonic() - began)
            of = "" if total is None else f" of {_megabytes(total)}"
            still = "" if moved[0] > before else "; nothing moved meanwhile, is the storage well?"
            before = moved[0]
            logger.warning("%s: %s%s after %d s%s", act, _megabytes(before), of, took, still)

    thread = threading.Thread(target=tell, name="det-storage-watch", daemon=True)
    thread.start()
    try:
        yield count
    finally:
        is_over.set()
        thread.join()


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"

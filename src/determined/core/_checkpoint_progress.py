"""Progress of long transfers in the task's log."""

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
    """Log the progress of a transfer once a minute, even if no bytes move.

    Args:
        act: the action, such as "storing checkpoint X".
        total: bytes to transfer; None if not known.
        every_s: the interval in seconds.

    Returns:
        A function to call with the number of bytes transferred; it is thread-safe.
    """
    moved, lock = [0], threading.Lock()
    is_finished = threading.Event()
    began = time.monotonic()

    def count(more: int) -> None:
        with lock:
            moved[0] += more

    def log() -> None:
        before = 0
        while not is_finished.wait(every_s):
            took = round(time.monotonic() - began)
            of = "" if total is None else f" of {_megabytes(total)}"
            still = (
                ""
                if moved[0] > before
                else "; no progress since the last report, check the storage"
            )
            before = moved[0]
            logger.warning("%s: %s%s after %d s%s", act, _megabytes(before), of, took, still)

    thread = threading.Thread(target=log, name="det-storage-watch", daemon=True)
    thread.start()
    try:
        yield count
    finally:
        is_finished.set()
        thread.join()


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"

"""A word in the log about a process whose main thread has ended and that does not end itself.

Python waits for all threads that are no daemons. If the main thread dies of an exception, the
trial then runs on without a word, and its slots do nothing.
"""

from __future__ import annotations

import threading
import time
from typing import Optional

from determined.common import _task_notice

AFTER_S = 60.0
_watch: Optional[threading.Thread] = None


def start() -> None:
    """Watch the main thread until the process ends; again changes nothing."""
    global _watch
    if _watch is None or not _watch.is_alive():
        _watch = threading.Thread(target=_run, name="det-thread-watch", daemon=True)
        _watch.start()


def _run() -> None:
    main = threading.main_thread()
    main.join()
    time.sleep(AFTER_S)
    names = [t.name for t in threading.enumerate() if t is not main and not t.daemon]
    if names:
        _task_notice.write(
            _task_notice.MAIN_THREAD_ENDED,
            f"the main thread ended {AFTER_S:.0f} s ago, and the process waits for the threads "
            f"{', '.join(sorted(names))}: end them, or start them with daemon=True; until then "
            "the task runs and holds its slots",
        )

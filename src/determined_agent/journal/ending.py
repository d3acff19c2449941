"""Whether the service has to end."""

from __future__ import annotations

import contextlib
import os
import select


class Ending:
    """An event that a signal handler may set.

    A handler runs in the main thread, also while that waits for this event. `threading.Event`
    takes a lock in `wait` and in `set`: a signal between the two is a deadlock.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def set(self) -> None:
        """Wake all waits, those to come too."""
        self._is_set = True
        with contextlib.suppress(BlockingIOError):  # full of wake-ups
            os.write(self._writer, b"!")

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return self._is_set

    def wait(self, timeout_s: float) -> bool:
        """Wait for `set` for `timeout_s` at most; whether it was called."""
        if not self._is_set:
            select.select([self._reader], [], [], timeout_s)
        return self._is_set

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)

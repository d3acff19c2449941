"""Pauses between the batches of one work, while other works have events too."""

from __future__ import annotations

MIN_EVENTS = 4
"""Smaller batches of a work are followed by no pause: a task that starts and ends has these."""
PAUSE_PER_S = 4.0
"""Seconds of a pause for each second that the batch took: the work has a fifth of the time."""
RECENT_S = 1.0
"""How long after its last batch a work still counts as one that has events."""


class Pauses:
    """Decides how long a work waits after a batch.

    A work of thousands of events, such as the kill of a search, keeps the master and the database
    busy. On a machine of two cores, nothing else then starts in its usual time. A work that is
    alone needs no pause, and gets none.
    """

    def __init__(self) -> None:
        self._last = ("", float("-inf"))
        self._last_of_others = ("", float("-inf"))
        """The last work but `_last`, and when it had its batch."""

    def after(self, work: str, events: int, took_s: float, now_s: float) -> float:
        """Seconds until the next batch of the work.

        Args:
            events: of the work, in the batch that ends now.
            took_s: duration of that batch.
            now_s: monotonic.
        """
        if self._last[0] != work:
            self._last_of_others = self._last
        self._last = (work, now_s)
        if events < MIN_EVENTS or now_s - self._last_of_others[1] > RECENT_S:
            return 0.0
        return took_s * PAUSE_PER_S

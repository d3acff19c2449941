"""Pauses between the batches of one work, while other works have events too."""

from __future__ import annotations

from determined_master.engine.turns import NOBODY, Owner

MIN_EVENTS = 4
"""Smaller batches of a work are followed by no pause: a task that starts and ends has these."""
PAUSE_PER_S = 4.0
"""Seconds of a pause for each second that the batch took: the work has a fifth of the time."""
RECENT_S = 1.0
"""How long after its last batch a work still counts as one that has events."""
MAX_CAUSED_S = 10.0
"""Seconds of pauses that the works of one user cause in a row: longer than a kill takes."""
CAUSED_PER_S = 0.1
"""Seconds of pauses that they may cause again for each second since."""
MAX_USERS = 1000


class Pauses:
    """Decides how long a work waits after a batch.

    A work of thousands of events, such as the kill of a search, keeps the master and the database
    busy. On a machine of two cores, nothing else then starts in its usual time. A work that is
    alone needs no pause, and gets none.

    One event a second is enough to make others pause. So the works of each user cause pauses for a
    bounded time, and after that for a tenth of it.
    """

    def __init__(self) -> None:
        self._last = (NOBODY, float("-inf"))
        self._last_of_others = (NOBODY, float("-inf"))
        """The last work but `_last`, and when it had its batch."""
        self._caused: dict[str, tuple[float, float]] = {}
        """Seconds of pauses that each user has caused, and when; the latest last."""

    def after(self, owner: Owner, events: int, took_s: float, now_s: float) -> float:
        """Seconds until the next batch of a work.

        Args:
            owner: the work, with its user.
            events: of the work, in the batch that ends now.
            took_s: duration of that batch.
            now_s: monotonic.
        """
        if self._last[0] != owner:
            self._last_of_others = self._last
        self._last = (owner, now_s)
        other, other_at_s = self._last_of_others
        if events < MIN_EVENTS or now_s - other_at_s > RECENT_S:
            return 0.0
        return self._caused_by(other.user, took_s * PAUSE_PER_S, now_s)

    def _caused_by(self, user: str, pause_s: float, now_s: float) -> float:
        """The part of a pause that the works of a user may still cause."""
        before_s, at_s = self._caused.pop(user, (0.0, now_s))
        before_s = max(before_s - (now_s - at_s) * CAUSED_PER_S, 0.0)
        pause_s = min(pause_s, MAX_CAUSED_S - before_s)
        self._caused[user] = before_s + pause_s, now_s
        if len(self._caused) > MAX_USERS:
            del self._caused[next(iter(self._caused))]
        return pause_s

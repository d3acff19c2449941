"""The only place where the master reads a clock."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

JUMP = timedelta(seconds=5)
"""Less is what a clock is corrected by all the time."""


def now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)


def monotonic_s() -> float:
    """Seconds on a clock that never goes back; only differences have a meaning."""
    return time.monotonic()


class Jumps:
    """Notices when the clock was set, or the machine slept, while this process ran."""

    def __init__(self, wall: Callable[[], datetime] | None = None) -> None:
        """`wall` is the clock that is looked at, `now` by default."""
        self._wall = wall
        self._ahead = self._measure()

    def is_due(self) -> bool:
        """Whether the clock has jumped since `take` was called last."""
        return abs(self._measure() - self._ahead) > JUMP

    def take(self) -> timedelta:
        """By how much the clock has jumped since the last call, forward or back; 0 for not."""
        before, self._ahead = self._ahead, self._measure()
        jump = self._ahead - before
        return jump if abs(jump) > JUMP else timedelta(0)

    def _measure(self) -> timedelta:
        """How far the wall clock is ahead of the one that only counts."""
        at = now() if self._wall is None else self._wall()
        return at - datetime.fromtimestamp(0, UTC) - timedelta(seconds=monotonic_s())

"""The only place where the master reads a clock."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

JUMP = timedelta(seconds=5)
"""Smaller differences are normal corrections of a clock."""


def now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)


def monotonic_s() -> float:
    """Seconds on a clock that never goes back; only differences have a meaning."""
    return time.monotonic()


class Jumps:
    """Detects that the clock was set, or the machine slept, while this process ran."""

    def __init__(self, wall: Callable[[], datetime] | None = None) -> None:
        """`wall` is the observed clock, `now` by default."""
        self._wall = wall
        self._ahead = self._measure()

    def is_due(self) -> bool:
        """Whether the clock has jumped since the last call of `take`."""
        return abs(self._measure() - self._ahead) > JUMP

    def take(self) -> timedelta:
        """The clock's jump since the last call, forward or back; 0 for none."""
        before, self._ahead = self._ahead, self._measure()
        jump = self._ahead - before
        return jump if abs(jump) > JUMP else timedelta(0)

    def _measure(self) -> timedelta:
        """The difference between the wall clock and the monotonic clock."""
        at = now() if self._wall is None else self._wall()
        return at - datetime.fromtimestamp(0, UTC) - timedelta(seconds=monotonic_s())

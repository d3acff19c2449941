"""How much of a pod's log is copied, and which lines of another reading are new. PURE.

A reading begins at a time, so that a log of hours is not read from its beginning again. The
kubelet leaves out every line with an earlier time, so lines from that time on are counted. It lies
`MARGIN_US` and more before the last line, because clocks of nodes are set back. The lines of one
that is set back by more are hidden until it has caught up, unless the log is read from its
beginning meanwhile.
"""

from __future__ import annotations

from datetime import UTC, datetime

from determined_master.backends.kubernetes.log.log_lines import PodLogLine
from determined_master.ports.orders import LogPlace

SECOND_US = 1_000_000
MARGIN_US = 300 * SECOND_US


class LogCount:
    """Counts the lines of a log that are copied."""

    def __init__(self, place: LogPlace) -> None:
        self._total = place.total
        self._first_at_us = place.first_at_us
        self.last_at_us = place.last_at_us
        self.since_us = place.since_us
        self.since_count = place.since_count
        self.since_first_us = place.since_first_us
        self._next_us = place.next_us
        self._next_count = place.next_count
        self._next_first_us = place.next_first_us

    def add(self, at_us: int) -> None:
        """One more line."""
        if not at_us:
            return
        if not self._total:
            self._first_at_us = self.since_first_us = self._next_first_us = at_us
        self._total += 1
        if at_us < self.since_us:
            self._count_whole()
            return
        self.since_count += 1
        second_us = at_us - at_us % SECOND_US
        if second_us > self.last_at_us and second_us >= self._next_us + MARGIN_US:
            self.since_us, self.since_first_us = self._next_us, self._next_first_us
            self.since_count = self._next_count + 1
            self._next_us, self._next_count, self._next_first_us = second_us, 1, at_us
        elif at_us >= self._next_us:
            self._next_count += 1
        self.last_at_us = max(self.last_at_us, at_us)

    def place(self) -> LogPlace:
        """Where the lines end that were added so far."""
        return LogPlace(
            total=self._total,
            first_at_us=self._first_at_us,
            last_at_us=self.last_at_us,
            since_us=self.since_us,
            since_count=self.since_count,
            since_first_us=self.since_first_us,
            next_us=self._next_us,
            next_count=self._next_count,
            next_first_us=self._next_first_us,
        )

    def _count_whole(self) -> None:
        """The clock was set back: only the number of all lines is known."""
        self.since_us = self._next_us = 0
        self.since_count = self._next_count = self._total
        self.since_first_us = self._next_first_us = self._first_at_us


class LogPosition:
    """Which lines of the next reading are new."""

    def __init__(self, place: LogPlace) -> None:
        self._copied = LogCount(place)
        self._to_skip: int | None = None
        self._is_new_reading = True

    def begin(self) -> None:
        """Start another reading of the log."""
        self._is_new_reading = True

    def since(self) -> str:
        """From which time on it is read, as Kubernetes takes it; empty for all of it."""
        if not self._copied.since_us:
            return ""
        at = datetime.fromtimestamp(self._copied.since_us // SECOND_US, UTC)
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def is_new(self, line: PodLogLine) -> bool:
        """Whether a line was not copied before. Call it for every line of a reading, in order.

        If a reading has the same first line as before, its lines are counted. Otherwise the log
        was rotated, and the new file has only later lines. A line without a time is a message of
        the kubelet about this reading, and not of the log.
        """
        if not line.at_us:
            return True
        copied = self._copied
        if self._is_new_reading:
            self._is_new_reading = False
            is_same = not copied.since_count or line.at_us == copied.since_first_us
            self._to_skip = copied.since_count if is_same else None
        if self._to_skip is None:
            is_new = line.at_us > copied.last_at_us
        else:
            is_new = self._to_skip <= 0
            self._to_skip -= 1
        if is_new:
            copied.add(line.at_us)
        return is_new

"""What an agent says of attempts to reach its master that fail: enough to act on, not a flood."""

from __future__ import annotations

import os
import re

from websockets.exceptions import InvalidStatus

TELL_AGAIN_S = 60.0
_ERRNO = re.compile(r"\[Errno (\d+)\]")
_OF_NO_MASTER = range(200, 500)
"""Statuses that no master and no proxy before one gives: those say 500 and above."""


class Complaints:
    """Which failures are logged: each reason at once, and again now and then with their number.

    Args:
        where: the master's address, for the text.
        again_s: how long the same reason is not told again; 0 where attempts are few.
    """

    def __init__(self, where: str, again_s: float) -> None:
        self._where = where
        self._again_s = again_s
        self._failures = 0
        self._began_s = 0.0
        self._told_s: dict[str, float] = {}

    def failed(self, reason: str, now_s: float) -> str | None:
        """Note a failure.

        Args:
            reason: why the connection failed or ended.
            now_s: seconds of a clock that only grows.

        Returns:
            The line to log; None where it would repeat a recent one.
        """
        if not self._failures:
            self._began_s = now_s
        self._failures += 1
        told_s = self._told_s.get(reason)
        if told_s is not None and now_s - told_s < self._again_s:
            return None
        self._told_s[reason] = now_s
        line = f"no connection to the master at {self._where}: {reason}; trying again"
        if self._failures == 1:
            return line
        return f"{line} ({self._failures} attempts in {now_s - self._began_s:.0f} s)"

    def connected(self) -> None:
        """Begin anew."""
        self._failures = 0
        self._told_s.clear()


def in_words(error: Exception) -> str:
    """Why an attempt failed, without what only developers read."""
    if isinstance(error, InvalidStatus) and error.response.status_code in _OF_NO_MASTER:
        return (
            f"what answers there is no master (HTTP status {error.response.status_code}): correct "
            "master_host and master_port"
        )
    # asyncio tries all addresses of a host, and has one text for what it met at each.
    numbers = dict.fromkeys(_ERRNO.findall(str(error)))
    if isinstance(error, OSError) and numbers:
        return ", ".join(os.strerror(int(number)) for number in numbers)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__

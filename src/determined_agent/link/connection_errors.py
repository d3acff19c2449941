"""Log lines about failed connections to the master: each reason, but not each failure."""

from __future__ import annotations

import os
import re

from websockets.exceptions import InvalidStatus

REPEAT_AFTER_S = 60.0
_ERRNO = re.compile(r"\[Errno (\d+)\]")
_NOT_FROM_MASTER = range(200, 500)
"""Statuses that neither a master nor a proxy of one sends: those send 500 and above."""


class ConnectionErrorLog:
    """Selects the failures to log: a new reason at once, a repeated one from time to time.

    Args:
        address: the master's address, for the text.
        repeat_after_s: how long the same reason is not logged again; 0 if attempts are few.
    """

    def __init__(self, address: str, repeat_after_s: float) -> None:
        self._address = address
        self._repeat_after_s = repeat_after_s
        self._failures = 0
        self._began_s = 0.0
        self._logged_s: dict[str, float] = {}

    def error_line(self, reason: str, now_s: float) -> str | None:
        """Count a failure.

        Args:
            reason: why the connection failed or ended.
            now_s: seconds of a monotonic clock.

        Returns:
            The line to log; None if it would repeat a recent one.
        """
        if not self._failures:
            self._began_s = now_s
        self._failures += 1
        logged_s = self._logged_s.get(reason)
        if logged_s is not None and now_s - logged_s < self._repeat_after_s:
            return None
        self._logged_s[reason] = now_s
        line = f"no connection to the master at {self._address}: {reason}; trying again"
        if self._failures == 1:
            return line
        return f"{line} ({self._failures} attempts in {now_s - self._began_s:.0f} s)"

    def connected(self) -> None:
        """Forget the failures so far."""
        self._failures = 0
        self._logged_s.clear()


def error_text(error: Exception) -> str:
    """Return why an attempt failed, without details for developers."""
    if isinstance(error, InvalidStatus) and error.response.status_code in _NOT_FROM_MASTER:
        return (
            f"the server there is not a master (HTTP status {error.response.status_code}): "
            "correct master_host and master_port"
        )
    # asyncio tries all addresses of a host and joins the errors of all of them into one text.
    numbers = dict.fromkeys(_ERRNO.findall(str(error)))
    if isinstance(error, OSError) and numbers:
        return ", ".join(os.strerror(int(number)) for number in numbers)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__

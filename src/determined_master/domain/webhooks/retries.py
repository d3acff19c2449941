"""When a delivery that failed is repeated."""

from __future__ import annotations

from datetime import timedelta

GIVEN_UP_AFTER = timedelta(hours=24)
MAX_PAUSE = timedelta(minutes=5)
TEMPORARY = frozenset({408, 425, 429})
"""Answers below 500 that may be another one later."""


def is_final(status: int) -> bool:
    """Whether a server's answer means that it will never take the delivery."""
    return 300 <= status < 500 and status not in TEMPORARY


def pause_after(attempts: int) -> timedelta:
    """The pause after so many failures: one second, then always twice as long."""
    return min(timedelta(seconds=2 ** min(attempts - 1, 20)), MAX_PAUSE)

"""When a delivery that failed is repeated."""

from __future__ import annotations

from datetime import timedelta

from determined_wire.backoff import Backoff

GIVEN_UP_AFTER = timedelta(hours=24)
BACKOFF = Backoff(timedelta(seconds=1), timedelta(minutes=5))
TEMPORARY = frozenset({408, 425, 429})
"""Answers below 500 that may be another one later."""


def is_final(status: int) -> bool:
    """Whether a server's answer means that it will never take the delivery."""
    return 300 <= status < 500 and status not in TEMPORARY

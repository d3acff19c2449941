"""The only place where the agent reads a clock."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)


def monotonic_s() -> float:
    """Seconds on a clock that never goes backwards; only differences are meaningful."""
    return time.monotonic()

"""Tests that count by days run within one."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

_LONGEST = timedelta(minutes=1)


@pytest.fixture
def one_day() -> None:
    """Let the last minute of a day (in UTC) pass first."""
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    if midnight - now < _LONGEST:
        time.sleep((midnight - now).total_seconds() + 0.1)

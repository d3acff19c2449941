"""When logs are removed without anybody asking."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from determined_master.services.logs.retention import next_sweep

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("24h", datetime(2026, 11, 22, 10, 30, tzinfo=UTC)),
        ("0 3 * * *", datetime(2026, 11, 22, 3, 0, tzinfo=UTC)),
        (None, None),
        ("", None),
        ("0s", None),
        ("0 0 31 2 *", None),
    ],
)
def test_the_next_sweep_is_when_the_schedule_says(
    schedule: str | None, expected: datetime | None
) -> None:
    assert next_sweep(schedule, NOW) == expected

"""Noticing that the clock was set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from determined_master import clock


@pytest.mark.parametrize("hours", [2, -2])
def test_a_jump_of_the_clock_is_logged_once_with_its_length(
    monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    jumps = clock.Jumps()
    assert not jumps.is_due()
    assert jumps.take() == timedelta(0)
    monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + timedelta(hours=hours))
    assert jumps.is_due()
    assert abs(jumps.take() - timedelta(hours=hours)) < timedelta(seconds=1)
    assert not jumps.is_due()
    assert jumps.take() == timedelta(0)


def test_small_corrections_are_no_jump_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = clock.Jumps()
    for n in range(1, 10):
        ahead = timedelta(seconds=4 * n)
        monkeypatch.setattr(clock, "now", lambda ahead=ahead: datetime.now(UTC) + ahead)
        assert not jumps.is_due()
        assert jumps.take() == timedelta(0)

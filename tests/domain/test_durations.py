"""Lengths of time as users write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from determined_master.domain.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("24h", timedelta(days=1)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
    ],
)
def test_units_add_up(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "5", "1d", "h", "-1h", "1 h", "9" * 400 + "h"])
def test_a_configuration_without_a_length_has_none(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize("text", ["5m0s", "1h0m0s", "26h3m0s", "1m30s", "0.5s", "0s"])
def test_a_length_is_written_from_its_largest_unit_down(text: str) -> None:
    length = parse_duration(text)
    assert length is not None
    assert format_duration(length) == text

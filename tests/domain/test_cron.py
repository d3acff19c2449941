"""Cron expressions: when they say that something happens next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from determined_master.domain.cron import next_after, parse_cron

AT = datetime(2026, 11, 21, 10, 30, 30, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2026-11-21 10:31"),
        ("0 * * * *", "2026-11-21 11:00"),
        ("*/20 * * * *", "2026-11-21 10:40"),
        ("10 10 * * *", "2026-11-22 10:10"),
        ("0 3 * * sun", "2026-11-22 03:00"),
        ("0 3 * * 7", "2026-11-22 03:00"),
        ("0 3 1 jan *", "2027-01-01 03:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("5,35 8-10/2 * * *", "2026-11-21 10:35"),
        ("0 0 1 * mon", "2026-11-23 00:00"),  # either day field is enough
        ("59 23 31 12 *", "2026-12-31 23:59"),
    ],
)
def test_the_next_time_is_the_first_minute_that_fits(text: str, expected: str) -> None:
    found = next_after(parse_cron(text), AT)
    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == expected


def test_a_day_that_never_comes_has_no_next_time() -> None:
    assert next_after(parse_cron("0 0 31 2 *"), AT) is None


WRONG = (
    "* * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "a * * * *",
    "*/0 * * * *",
    "9-3 * * * *",
)


@pytest.mark.parametrize("text", WRONG)
def test_an_invalid_expression_is_refused_with_its_field(text: str) -> None:
    with pytest.raises(ValueError, match="field"):
        parse_cron(text)

"""Which time reports on usage are about, and when days are summed up."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from tests.covers import covers

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.usage import (
    Days,
    Period,
    Window,
    bounds,
    days_due,
    next_summing,
    read_days,
    read_window,
)

E = "scheduling-and-provisioning"


@covers(f"{E} e.5.instants")
def test_a_window_lies_between_two_instants_in_utc() -> None:
    window = read_window("2026-01-31T00:00:00Z", "2026-02-01T12:30:00.5Z")
    assert window == Window(
        datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 1, 12, 30, 0, 500000, tzinfo=UTC)
    )


@covers(f"{E} e.5.instant_errors")
@pytest.mark.parametrize(
    ("after", "before", "said"),
    [
        ("yesterday", "2026-02-01T00:00:00Z", "invalid start time 'yesterday'"),
        ("2026-01-31T00:00:00+01:00", "2026-02-01T00:00:00Z", "invalid start time"),
        ("2026-01-31T00:00:00Z", "", "invalid end time ''"),
        ("2026-02-02T00:00:00Z", "2026-02-01T00:00:00Z", "start time cannot be after end time"),
    ],
)
def test_a_window_that_cannot_be_is_refused(after: str, before: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        read_window(after, before)


@covers(f"{E} e.5.dates")
@pytest.mark.parametrize(
    ("start", "end", "period", "last"),
    [
        ("2026-01-30", "2026-02-01", "daily", date(2026, 2, 1)),
        ("2026-01", "2026-02", "monthly", date(2026, 2, 28)),
        ("2026-12", "2026-12", "monthly", date(2026, 12, 31)),
        ("9999-12", "9999-12", "monthly", date(9999, 12, 31)),
    ],
)
def test_days_run_from_the_first_to_the_last_which_is_included(
    start: str, end: str, period: Period, last: date
) -> None:
    first = date.fromisoformat(start if period == "daily" else f"{start}-01")
    assert read_days(start, end, period) == Days(first, last)


@covers(f"{E} e.5.date_errors")
@pytest.mark.parametrize(
    ("start", "end", "period", "said"),
    [
        ("zz", "2026-02-01", "daily", "invalid start date 'zz'"),
        ("2026-02", "2026-02-01", "daily", "invalid start date '2026-02'"),
        ("2026-02", "2026-02-01", "monthly", "invalid end date '2026-02-01'"),
        ("2026-02-30", "2026-03-01", "daily", "invalid start date"),
        ("2026-02-02", "2026-02-01", "daily", "start date cannot be after end date"),
        ("2026-02-01", "2026-02-01", None, "no aggregation period specified"),
    ],
)
def test_days_that_cannot_be_are_refused(
    start: str, end: str, period: Period | None, said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        read_days(start, end, period)


def test_whole_days_are_due_up_to_yesterday() -> None:
    now = datetime(2026, 1, 3, 0, 1, tzinfo=UTC)
    assert list(days_due(date(2026, 1, 1), now)) == [date(2026, 1, 1), date(2026, 1, 2)]
    assert list(days_due(date(2026, 1, 3), now)) == []
    assert list(days_due(None, now)) == []


def test_a_day_lies_in_utc_whatever_the_clock_says() -> None:
    east = timezone(timedelta(hours=5))
    now = datetime(2026, 1, 3, 2, 0, tzinfo=east)
    assert list(days_due(date(2026, 1, 1), now)) == [date(2026, 1, 1)]
    assert bounds(date(2026, 1, 1)).before == datetime(2026, 1, 2, tzinfo=UTC)


@covers(f"{E} e.5.nightly")
@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z"),
        ("2026-01-01T00:01:00Z", "2026-01-02T00:01:00Z"),
        ("2026-01-01T23:59:59Z", "2026-01-02T00:01:00Z"),
    ],
)
def test_days_are_summed_up_a_minute_after_midnight(now: str, expected: str) -> None:
    assert next_summing(datetime.fromisoformat(now)) == datetime.fromisoformat(expected)

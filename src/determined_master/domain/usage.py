"""The time range of a usage report, and the time of daily aggregation."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args

import msgspec

from determined_master.domain.errors import InvalidArgument

Period = Literal["daily", "monthly"]
CostKey = Literal["user", "workspace", "job", "pool"]
"""Whose shares of the costs a report lists."""
KEYS: tuple[CostKey, ...] = get_args(CostKey)
DAY = timedelta(days=1)
AFTER_MIDNIGHT = timedelta(minutes=1)
"""Time from the end of a UTC day to its aggregation."""
_FORMS: dict[Period, str] = {"daily": "YYYY-MM-DD", "monthly": "YYYY-MM"}


class Window(msgspec.Struct, frozen=True):
    """From an instant up to another, both aware."""

    after: datetime
    before: datetime


class Days(msgspec.Struct, frozen=True):
    """From a day to another, both included."""

    first: date
    last: date


def window_of(after: datetime | None, before: datetime | None) -> Window:
    """The window between two instants.

    Raises:
        InvalidArgument: one is missing, or they are in the wrong order.
    """
    if after is None:
        raise InvalidArgument("invalid start time: it is missing; give it as 2026-01-31T00:00:00Z")
    if before is None:
        raise InvalidArgument("invalid end time: it is missing; give it as 2026-01-31T00:00:00Z")
    if after > before:
        raise InvalidArgument(
            f"start time cannot be after end time, but {after.isoformat()} is after "
            f"{before.isoformat()}"
        )
    return Window(after, before)


def read_window(after: str, before: str) -> Window:
    """The window between two instants as text, in the form `YYYY-MM-DDThh:mm:ssZ`.

    Raises:
        InvalidArgument: one of them cannot be read, or they are in the wrong order.
    """
    return window_of(_instant(after, "start"), _instant(before, "end"))


def read_days(start: str, end: str, period: Period | None) -> Days:
    """The days of a report by day or by month; the last month counts as a whole.

    Args:
        start: `YYYY-MM-DD` for daily, `YYYY-MM` for monthly reports.
        end: likewise.
        period: None when the request names none.

    Raises:
        InvalidArgument: one of the three cannot be used.
    """
    if period is None:
        raise InvalidArgument("no aggregation period specified: give daily or monthly")
    first, last = _day(start, period, "start"), _day(end, period, "end")
    if first > last:
        raise InvalidArgument(f"start date cannot be after end date, but {start} is after {end}")
    if period == "monthly":
        last = last.replace(day=monthrange(last.year, last.month)[1])
    return Days(first, last)


def read_cost_key(text: str) -> CostKey:
    """Whose shares a report on costs lists; `user` by default.

    Raises:
        InvalidArgument: there is no such report.
    """
    for key in KEYS:
        if text == key:
            return key
    if not text:
        return "user"
    raise InvalidArgument(f"by must be one of {', '.join(KEYS)} but found {text[:40]!r}")


def bounds(day: date) -> Window:
    """The start and the end of a UTC day."""
    begin = datetime.combine(day, time(), UTC)
    return Window(begin, begin + DAY)


def days_due(first: date | None, now: datetime) -> Iterator[date]:
    """Days that can be aggregated: from the first due one up to yesterday."""
    day = first
    while day is not None and day < now.astimezone(UTC).date():
        yield day
        day += DAY


def next_summing(now: datetime) -> datetime:
    """The next time of aggregation: a minute after midnight, UTC."""
    due_at = bounds(now.astimezone(UTC).date()).after + AFTER_MIDNIGHT
    return due_at if due_at > now else due_at + DAY


def _instant(text: str, which: str) -> datetime:
    try:
        if not text.endswith("Z"):
            raise ValueError
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise InvalidArgument(
            f"invalid {which} time {text!r}: give it in UTC as 2026-01-31T00:00:00Z"
        ) from None


def _day(text: str, period: Period, which: str) -> date:
    wanted = _FORMS[period]
    try:
        if len(text) != len(wanted):
            raise ValueError
        return date.fromisoformat(text if period == "daily" else f"{text}-01")
    except ValueError:
        raise InvalidArgument(
            f"invalid {which} date {text!r}: a {period} report takes {wanted}"
        ) from None

"""Cron expressions: minute, hour, day, month, day of the week."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {n: i for i, n in enumerate(_MONTHS, 1)},
    {n: i for i, n in enumerate(_DAYS)},
)
_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
FURTHEST = timedelta(days=366 * 8 + 1)
"""The longest gap of a valid expression: 29 February is at most eight years away."""


class Cron(msgspec.Struct, frozen=True):
    """A cron schedule. A day matches if either of the two day fields matches it, unless one of
    them is `*`.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    is_any_day: bool
    is_any_weekday: bool

    def matches_day(self, at: datetime) -> bool:
        is_day = at.day in self.days
        is_weekday = (at.weekday() + 1) % 7 in self.weekdays
        if self.is_any_day or self.is_any_weekday:
            return at.month in self.months and is_day and is_weekday
        return at.month in self.months and (is_day or is_weekday)


def parse_cron(text: str) -> Cron:
    """Read five fields of numbers, names, ranges `a-b`, steps `/n`, lists with commas and `*`.

    Raises:
        ValueError: the expression is invalid; the text names the field.
    """
    parts = text.lower().split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"must have {len(_FIELDS)} fields: {', '.join(_FIELDS)}")
    minutes, hours, days, months, weekdays = map(_read, parts, range(len(parts)))
    return Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        is_any_day=parts[2][0] == "*",
        is_any_weekday=parts[4][0] == "*",
    )


def next_after(cron: Cron, at: datetime) -> datetime | None:
    """The first matching minute after `at` (aware); None when no minute ever matches."""
    start = at.replace(second=0, microsecond=0) + timedelta(minutes=1)
    day, end = start, at + FURTHEST
    while day <= end:
        if cron.matches_day(day):
            first = (day.hour, day.minute)
            for hour in sorted(h for h in cron.hours if h >= first[0]):
                minutes = [m for m in cron.minutes if (hour, m) >= first]
                if minutes:
                    return day.replace(hour=hour, minute=min(minutes))
        day = day.replace(hour=0, minute=0) + timedelta(days=1)
    return None


def _read(part: str, index: int) -> frozenset[int]:
    found: set[int] = set()
    for item in part.split(","):
        span, _, step_text = item.partition("/")
        low, high = _RANGES[index]
        if span != "*":
            first, dash, last = span.partition("-")
            low = _number(first, index)
            high = _number(last, index) if dash else high if step_text else low
        step = _number_of(step_text, index) if "/" in item else 1
        if low > high or step < 1:
            raise ValueError(f"the {_FIELDS[index]} field has no value in {item!r}")
        found.update(range(low, high + 1, step))
    return frozenset(found)


def _number(text: str, index: int) -> int:
    value = _NAMES[index].get(text)
    if value is None:
        value = _number_of(text, index)
    low, high = _RANGES[index]
    if not low <= value <= high:
        raise ValueError(f"the {_FIELDS[index]} field must be {low} to {high}, it has {value}")
    return value


def _number_of(text: str, index: int) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"the {_FIELDS[index]} field has {text!r}, which is no number")
    return int(text)

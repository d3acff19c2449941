"""Durations as users write them: `90s`, `24h`, `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def parse_duration(text: str) -> timedelta | None:
    """The duration of a text; None when the text is invalid."""
    if not _WHOLE.fullmatch(text):
        return None
    try:
        return timedelta(seconds=sum(float(n) * _UNITS[u] for n, u in _PART.findall(text)))
    except OverflowError:
        return None


def format_duration(length: timedelta) -> str:
    """A duration of 0 or more as `1h30m0s`, from its largest unit down to seconds."""
    seconds = length.total_seconds()
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{hours:.0f}h"] if hours else []
    if hours or minutes:
        parts.append(f"{minutes:.0f}m")
    return "".join([*parts, f"{round(rest, 6):g}s"])

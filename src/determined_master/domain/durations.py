"""Lengths of time as users write them: `90s`, `24h`, `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def parse_duration(text: str) -> timedelta | None:
    """The length that a text names; None when it names none."""
    if not _WHOLE.fullmatch(text):
        return None
    try:
        return timedelta(seconds=sum(float(n) * _UNITS[u] for n, u in _PART.findall(text)))
    except OverflowError:
        return None

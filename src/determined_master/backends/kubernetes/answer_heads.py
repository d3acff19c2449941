"""What the headers of the API server's answers say: its clock, and when to ask again. PURE."""

from __future__ import annotations

import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

MAX_TRIES = 5
"""Of one call that the server asks to repeat."""
_MAX_PAUSE_S = 30.0


def pause_before_repeat(status: int, headers: Mapping[str, str]) -> float | None:
    """Seconds after which the server wants a request again; None where it does not say.

    It has not begun such a request: it is short of something, or starts.

    Args:
        status: of HTTP.
        headers: of the answer; names in any case, if the mapping ignores it.
    """
    text = headers.get("Retry-After", "")
    if not (status == 429 or status >= 500) or not (text.isascii() and text.isdigit()):
        return None
    return min(float(text), _MAX_PAUSE_S)


def clock_ahead(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """How far the server's clock is ahead of ours, to a second; None where it does not say.

    Args:
        headers: of an answer.
        now: our clock, when the answer came.
    """
    try:
        date = email.utils.parsedate_to_datetime(headers.get("Date", ""))
    except (ValueError, TypeError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    ahead = date - now
    # The header has whole seconds, and its answer was under way.
    return ahead if abs(ahead) > timedelta(seconds=2) else timedelta()

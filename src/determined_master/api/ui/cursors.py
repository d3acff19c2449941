"""Cursors of lines of the journal, as texts."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime

import msgspec

from determined_master.domain.errors import InvalidArgument
from determined_master.services.experiments.story.stories import Cursor

MAX_CURSOR = 500


def text_of(cursor: Cursor) -> str:
    """The cursor as clients get it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def cursor_of(field: str, text: str) -> Cursor:
    """The cursor in a field of a request. Raises InvalidArgument: the text is none."""
    try:
        packed = base64.urlsafe_b64decode(text[:MAX_CURSOR] + "=" * (-len(text) % 4))
        at, kind, id, version = msgspec.json.decode(packed, type=tuple[datetime, str, str, int])
        if at.tzinfo is None or "\0" in kind + id or not 0 <= version < 2**31:
            raise ValueError(text)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise InvalidArgument(
            f"{field} is {text[:80]!r}: it must be the cursor of an item, or empty"
        ) from None
    return at, kind, id, version

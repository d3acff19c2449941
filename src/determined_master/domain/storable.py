"""Texts that PostgreSQL and files cannot hold: NUL, and halves of surrogate pairs.

JSON, paths and queries get U+FFFD in their place: their authors may be programs that pass on
foreign bytes. Configurations are written by people, who get an error.
"""

from __future__ import annotations

import re

LOST = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text, with U+FFFD for each character that cannot be stored."""
    return _UNSTORABLE.sub(LOST, text)


def find_unstorable(text: str) -> str | None:
    """The reason why a text cannot be stored; None when it can."""
    match = _UNSTORABLE.search(text)
    if match is None:
        return None
    what = "a NUL character" if match[0] == "\0" else "half of a surrogate pair"
    return f"must not contain {what}"

"""The limit on nested JSON of users.

Code that parses, compares or writes values recurses into them, and Python limits recursion to some
hundred levels. Without a limit, a value that was read and stored could never be shown again, nor
any list that contains it.
"""

from __future__ import annotations

import re

MAX_DEPTH = 100
"""Levels of lists and objects. Configurations in YAML may have 64, metrics 50."""

_ESCAPES = re.compile(rb"\\.", re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_OPENING = b"[{"


def is_too_deep(text: bytes) -> bool:
    """Whether a JSON text is nested deeper than the limit.

    Cost: some passes over the text, and 50 ns for each bracket outside of its strings.
    """
    if text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return False
    if b"\\" in text:
        text = _ESCAPES.sub(b"", text)
    outside_texts = b"".join(text.split(b'"')[::2])
    depth = 0
    for bracket in outside_texts.translate(None, _NO_BRACKETS):
        depth += 1 if bracket in _OPENING else -1
        if depth > MAX_DEPTH:
            return True
    return False

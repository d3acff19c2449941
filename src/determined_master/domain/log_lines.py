"""Parses rank and level at the start of a line, and renders a stored line.

Source: task-contract 3.3, wire 5.1.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

LEVELS = ("UNSPECIFIED", "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""Names of levels by their number on the wire."""
LEVEL_NUMBERS = {name: number for number, name in enumerate(LEVELS)}

_RANK = re.compile(r" ?\[rank=(\d+)\] ?")
_LEVEL = re.compile(r" ?(DEBUG|INFO|WARNING|ERROR|CRITICAL): ?")
_ESCAPE = "\N{SYMBOL FOR ESCAPE}"
_ESCAPED = re.compile(f"{_ESCAPE}([0{_ESCAPE}])")
_STARTS = frozenset(" [DIWEC")


def split_prefix(text: str) -> tuple[int | None, int, str]:
    """Split rank and level from a line.

    Returns:
        The rank or None, the level's number (0: none given), and the rest of the line.
    """
    if not text or text[0] not in _STARTS:
        return None, 0, text
    rank = None
    found = _RANK.match(text)
    if found:
        rank, text = int(found[1]), text[found.end() :]
    found = _LEVEL.match(text)
    if found:
        return rank, LEVEL_NUMBERS[found[1]], text[found.end() :]
    return rank, 0, text


def storable(text: str) -> str:
    """The stored form of a line: PostgreSQL keeps no NUL in text."""
    if "\0" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE * 2).replace("\0", f"{_ESCAPE}0")


def original(stored: str) -> str:
    """The line that `storable` has stored."""
    if _ESCAPE not in stored:
        return stored
    return _ESCAPED.sub(lambda found: "\0" if found[1] == "0" else _ESCAPE, stored)


def render(at: datetime, container_id: str | None, rank: int | None, level: int, log: str) -> str:
    """A stored line in the form that people read."""
    when = at.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"
    where = container_id[:8] if container_id else " " * 8
    which = "" if rank is None else f" [rank={rank}]"
    label = f"{LEVELS[level]}: " if level else ""
    return f"[{when}] {where}{which} || {label}{log}"

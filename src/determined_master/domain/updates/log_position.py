"""How far a client has read the log of a task: the opaque cursor of the live channel.

The numbers of lines are drawn before their commit, so a line may appear below one that was sent.
A position therefore names the database's snapshot in which the lines were read: a line is new if
its transaction was not visible in that snapshot. That holds after a restart of the master too.
"""

from __future__ import annotations

import re

import msgspec

from determined_master.domain.errors import InvalidArgument

MAX_NUMBER = 2**63 - 1
_MAX_RUNNING = 500
"""Transactions that a cursor may name."""
_SIMPLE = re.compile(r"[0-9]{1,19}")
_FULL = re.compile(r"([0-9]{1,19})~([0-9]{1,19})~([0-9]{1,19}):([0-9]{1,19}):([0-9.]*)")


class LinePosition(msgspec.Struct, frozen=True):
    """All lines up to `floor`, and those up to `newest` that `snapshot` shows, were sent."""

    newest: int = 0
    floor: int = 0
    snapshot: str = ""
    """As PostgreSQL writes it; empty: the lines up to `newest` count as sent."""

    def text(self) -> str:
        """The cursor. It has no comma, which separates cursors in an address."""
        if not self.snapshot:
            return str(self.newest)
        return f"{self.newest}~{self.floor}~{self.snapshot.replace(',', '.')}"


def read_position(cursor: str) -> LinePosition:
    """The position of a cursor: one that a frame had, or the id of a line.

    Raises:
        InvalidArgument: it is neither.
    """
    if _SIMPLE.fullmatch(cursor) and int(cursor) <= MAX_NUMBER:
        return LinePosition(int(cursor), int(cursor))
    match = _FULL.fullmatch(cursor)
    position = _full_position(match) if match is not None else None
    if position is None:
        raise InvalidArgument(
            f"cursor {cursor[:40]!r} is not of a log: send the cursor of a frame or the id of a "
            "line"
        )
    return position


def _full_position(match: re.Match[str]) -> LinePosition | None:
    """The position of a cursor with a snapshot; None for one that no database has written."""
    newest, floor, lowest, next_one = map(int, match.groups()[:4])
    running = [int(part) for part in match[5].split(".") if part]
    is_ordered = running == sorted(set(running)) and len(running) <= _MAX_RUNNING
    is_within = all(lowest <= number < next_one for number in running)
    numbers_fit = floor <= newest <= MAX_NUMBER and 0 < lowest <= next_one <= MAX_NUMBER
    if not (is_ordered and is_within and numbers_fit):
        return None
    return LinePosition(newest, floor, f"{lowest}:{next_one}:{','.join(map(str, running))}")

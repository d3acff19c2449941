"""Bounds of a terminal in a browser: its size, and how fast it shows output."""

from __future__ import annotations

import msgspec

from determined_master.domain.errors import InvalidArgument

MAX_COLUMNS = 1000
MAX_ROWS = 500
MAX_SIZE_TEXT = 256
"""Characters of a message with a size."""
MAX_OUTPUT_BYTES_A_S = 2 * 1024 * 1024
"""Of one terminal: a program that prints without end waits, and no other request does."""
MIN_PAUSE_S = 0.02
"""A shorter pause is added to the next one, so that the echo of a key is sent at once."""


class TerminalSize(msgspec.Struct, frozen=True):
    """In characters."""

    columns: int
    rows: int


def read_size(text: str) -> TerminalSize:
    """The size in a message, such as `{"columns":80,"rows":24}`.

    Raises:
        InvalidArgument: the message is malformed, or the size is out of bounds.
    """
    if len(text) > MAX_SIZE_TEXT:
        raise InvalidArgument(
            f"the message has {len(text)} characters: a size has at most {MAX_SIZE_TEXT}"
        )
    try:
        size = msgspec.json.decode(text, type=TerminalSize)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidArgument(f"the size of the terminal is malformed: {error}") from None
    if not (0 < size.columns <= MAX_COLUMNS and 0 < size.rows <= MAX_ROWS):
        raise InvalidArgument(
            f"the size of the terminal is {size.columns} x {size.rows}: columns must be from 1 to "
            f"{MAX_COLUMNS} and rows from 1 to {MAX_ROWS}"
        )
    return size


class OutputPace:
    """Rate limit of the output of one terminal."""

    def __init__(self) -> None:
        self._free_at_s = 0.0

    def pause_s(self, size_bytes: int, now_s: float) -> float:
        """How long to wait after a piece of output that was sent at `now_s`; 0 for no wait."""
        self._free_at_s = max(self._free_at_s, now_s) + size_bytes / MAX_OUTPUT_BYTES_A_S
        pause_s = self._free_at_s - now_s
        return pause_s if pause_s > MIN_PAUSE_S else 0.0

"""How many values a body may have: to take them apart costs time and memory by their number.

A body of 90 MB with nothing but empty lists held the event loop for four seconds and took two
gigabytes: while a text is taken apart in one call, no other thread runs.
"""

from __future__ import annotations

from determined_master.domain.errors import InvalidArgument

MAX_MARKS = 500_000
"""Five times the values of a thousand reports of a hundred metrics, and ten times the files of a
large model directory.

Reading one takes 50 to 100 ns.
"""
_MARKS = (b",", b"[", b"{", b"\\u")
"""One of these is before each value but the first; an escape takes a step of its own, too."""
_PIECE_BYTES = 4 * 1024 * 1024


def check_marks(body: bytes) -> None:
    """Refuse a body that may have too many values.

    Marks within texts count as well: separating them means to parse the body.

    Raises:
        InvalidArgument: there are too many.
    """
    count = 0
    for mark in _MARKS:
        for start in range(0, len(body), _PIECE_BYTES):
            count += body.count(mark, start, start + _PIECE_BYTES)
            if count > MAX_MARKS:
                raise InvalidArgument(
                    f"the body has more than {MAX_MARKS} commas, brackets, braces and \\u "
                    "escapes, which is more than is read at once: send it in several requests"
                )

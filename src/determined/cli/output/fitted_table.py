"""Tables for terminals: never wider than the terminal, and without cut words where possible.

A table that does not fit without cutting words becomes a list with one line per value. A list
takes more lines, but users can still copy its UUIDs and numbers.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, List, Optional, Sequence, Tuple

from determined.cli.output.plain_table import is_numeric, text_of

_GAPS = (2, 1)
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\+0000")
_WHOLE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?= )")
"""UUIDs and dates, which are never broken."""
_PIECE = re.compile(r"[^\s\-/_,]*[-/_,]+|[^\s\-/_,]+|\s+")
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def draw(
    headers: Sequence[str], rows: Sequence[Sequence[Any]], width: int, is_styled: bool = False
) -> str:
    """Draw rows as columns, or as a list if the columns do not fit.

    Args:
        headers: one per column.
        rows: each as long as `headers`; a cell may have several lines.
        width: the width of the terminal, in characters.
        is_styled: whether headers are bold, by escape sequences.
    """
    cells = [[_printable(text_of(cell)) for cell in row] for row in rows]
    headers, cells = _without_zones(headers, cells)
    drawn = _columns(headers, cells, width, is_styled)
    if drawn is None:
        headers, cells = _without_empty(headers, cells)
        drawn = _columns(headers, cells, width, is_styled)
    return _listed(headers, cells, width, is_styled) if drawn is None else drawn


def width_of(text: str) -> int:
    """The terminal columns of a line: 2 for a wide character, 0 for a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def wrap(text: str, width: int) -> List[str]:
    """The lines of a text, broken between words or after `-/_,`, elsewhere only if necessary."""
    lines: List[str] = []
    for line in text.split("\n"):
        current = ""
        for piece in _pieces(line):
            if width_of(current + piece.rstrip()) <= width:
                current += piece
                continue
            if current.strip():
                lines.append(current.rstrip())
            current = piece.lstrip()
            while width_of(current) > width:
                length = max(1, _fitting(current, width))
                lines.append(current[:length])
                current = current[length:]
        lines.append(current.rstrip())
    return lines


def _columns(
    headers: Sequence[str], cells: List[List[str]], width: int, is_styled: bool
) -> Optional[str]:
    """The table, if it fits without cutting words."""
    columns = range(len(headers))
    natural = [_widest([headers[i], *(row[i] for row in cells)]) for i in columns]
    least = [_least([headers[i], *(row[i] for row in cells)]) for i in columns]
    for gap in _GAPS:
        widths = _share(natural, least, width - gap * (len(headers) - 1))
        if widths is not None:
            return _drawn(headers, cells, (widths, " " * gap), is_styled)
    return None


def _without_empty(
    headers: Sequence[str], cells: List[List[str]]
) -> Tuple[Sequence[str], List[List[str]]]:
    columns = [i for i in range(len(headers)) if not cells or any(row[i] for row in cells)]
    return [headers[i] for i in columns], [[row[i] for i in columns] for row in cells]


def _share(natural: List[int], least: List[int], room: int) -> Any:
    """Column widths of at most `room` in total; None if even the least widths exceed it."""
    if sum(natural) <= room:
        return natural
    if sum(least) > room:
        return None
    widths = list(least)
    rest = room - sum(widths)
    while rest > 0:
        wanting = [i for i, w in enumerate(widths) if w < natural[i]]
        narrowest = min(wanting, key=lambda i: (widths[i], i))
        widths[narrowest] += 1
        rest -= 1
    return widths


def _without_zones(
    headers: Sequence[str], cells: List[List[str]]
) -> Tuple[Sequence[str], List[List[str]]]:
    """Move the time zone of a column of instants into its header."""
    columns = range(len(headers))
    filled = [[row[i] for row in cells if row[i]] for i in columns]
    timed = {i for i in columns if filled[i] and all(map(_INSTANT.fullmatch, filled[i]))}
    shorter = [
        [cell[: -len("+0000")] if i in timed and cell else cell for i, cell in enumerate(row)]
        for row in cells
    ]
    return [f"{h} (UTC)" if i in timed else h for i, h in enumerate(headers)], shorter


def _drawn(
    headers: Sequence[str],
    cells: Sequence[Sequence[str]],
    form: Tuple[List[int], str],
    is_styled: bool,
) -> str:
    widths, gap = form
    numeric = [is_numeric(row[i] for row in cells) for i in range(len(headers))]
    lines = [_styled(line, is_styled) for line in _row(headers, form, numeric)]
    lines.append(gap.join("-" * width for width in widths))
    for row in cells:
        lines += _row(row, form, numeric)
    return "\n".join(lines)


def _row(texts: Sequence[str], form: Tuple[List[int], str], numeric: Sequence[bool]) -> List[str]:
    widths, gap = form
    wrapped = [wrap(text, width) for text, width in zip(texts, widths)]
    lines = []
    for number in range(max((len(part) for part in wrapped), default=0)):
        parts = []
        for lines_of, width, is_number in zip(wrapped, widths, numeric):
            text = lines_of[number] if number < len(lines_of) else ""
            blanks = " " * (width - width_of(text))
            parts.append(blanks + text if is_number else text + blanks)
        lines.append(gap.join(parts).rstrip())
    return lines


def _listed(
    headers: Sequence[str], cells: Sequence[Sequence[str]], width: int, is_styled: bool
) -> str:
    indent = min(_widest(headers), width // 2) + _GAPS[0]
    blocks = []
    for row in cells:
        lines = []
        for header, cell in zip(headers, row):
            if not cell:
                continue
            first, *rest = wrap(cell, max(1, width - indent))
            name = header[: indent - _GAPS[0]].ljust(indent)
            lines.append((_styled(name, is_styled) + first).rstrip())
            lines += [" " * indent + line for line in rest]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) if blocks else _styled(", ".join(headers), is_styled)


def _fitting(text: str, width: int) -> int:
    """How many characters of a text fit."""
    length = min(len(text), width)
    while width_of(text[:length]) > width:
        length -= 1
    return length


def _styled(text: str, is_styled: bool) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if is_styled else text


def _widest(texts: Sequence[str]) -> int:
    return max(width_of(line) for text in texts for line in text.split("\n"))


def _least(texts: Sequence[str]) -> int:
    """The least width without cut words; blocks of several lines are not wrapped."""
    blocks = [line for text in texts if "\n" in text for line in text.split("\n")]
    pieces = (
        piece.strip() for text in texts for line in text.split("\n") for piece in _pieces(line)
    )
    return max((width_of(piece) for piece in (*pieces, *blocks)), default=0)


def _pieces(line: str) -> List[str]:
    """The pieces of a line, between which it may be broken."""
    pieces: List[str] = []
    start = 0
    for match in _WHOLE.finditer(line):
        pieces += _PIECE.findall(line[start : match.start()])
        pieces.append(match.group())
        start = match.end()
    return pieces + _PIECE.findall(line[start:])


def _printable(text: str) -> str:
    """Replace control characters: a name must not move the cursor of the terminal."""
    return "".join(
        c if c == "\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )

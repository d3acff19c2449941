"""Text tables for scripts, with columns separated by ` | `."""

from __future__ import annotations

from typing import Any, Iterable, List, Sequence

_HEADER_PADDING = 2


def draw(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Headers, a rule, and the rows. Numeric columns are right-aligned, others left-aligned.

    A cell of several lines makes its row taller. No line ends in blanks.
    """
    cells = [[text_of(cell) for cell in row] for row in rows]
    columns = range(len(headers))
    numeric = [is_numeric(row[i] for row in cells) for i in columns]
    widths = [
        max([len(headers[i]) + _HEADER_PADDING, *(_width(row[i]) for row in cells)])
        for i in columns
    ]
    lines = [_line(headers, widths, numeric), "+".join("-" * (width + 2) for width in widths)]
    for row in cells:
        parts = [cell.split("\n") for cell in row]
        for number in range(max((len(part) for part in parts), default=0)):
            texts = [part[number] if number < len(part) else "" for part in parts]
            lines.append(_line(texts, widths, numeric))
    return "\n".join(lines)


def text_of(cell: Any) -> str:
    """A cell as text; None is empty."""
    return "" if cell is None else str(cell)


def is_numeric(cells: Iterable[str]) -> bool:
    """Whether a column holds numbers and nothing else."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_is_number(cell) for cell in filled)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _width(cell: str) -> int:
    return max(len(line) for line in cell.split("\n"))


def _line(texts: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded: List[str] = []
    for text, width, is_number in zip(texts, widths, numeric):
        padded.append(text.rjust(width) if is_number else text.ljust(width))
    return f" {' | '.join(padded)} ".rstrip()

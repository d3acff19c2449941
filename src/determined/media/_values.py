"""Values that a trial reports as files: the base, tables and texts."""

from __future__ import annotations

import abc
import json
import math
from typing import Any, Dict, NamedTuple, Sequence

MIB = 1024 * 1024
MAX_IMAGE_BYTES = 16 * MIB
MAX_AUDIO_BYTES = 16 * MIB
MAX_TABLE_BYTES = 4 * MIB
MAX_TEXT_BYTES = MIB
MAX_CELLS = 100_000
"""Of one table: columns times rows."""


class Encoded(NamedTuple):
    """A value as the content of a file."""

    kind: str
    """`image`, `table`, `histogram`, `audio` or `text`."""
    extension: str
    """Without a dot. The master sends a file with the content type of its extension."""
    content: bytes


class Media(abc.ABC):
    """A value of `report_media`."""

    @abc.abstractmethod
    def encode(self) -> Encoded:
        """The content of its file.

        Raises:
            TypeError: the value is of a kind that it cannot be made from.
            ValueError: the value is empty, too large, or has an invalid shape.
        """


class Text(Media):
    """A text. The web UI shows it without markup."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"Text takes a str, got {type(text).__name__}: {text!r:.100}")
        self.text = text

    def encode(self) -> Encoded:
        """UTF-8; what cannot be encoded is replaced by `?`."""
        content = self.text.encode("utf-8", errors="replace")
        return Encoded("text", "txt", checked_size("text", content, MAX_TEXT_BYTES, "shorten it"))


class Table(Media):
    """A table of numbers and texts.

    Args:
        columns: their names.
        rows: each has a value for each column. Values that are no numbers, booleans or None
            become text.

    Raises:
        TypeError: a column is no text.
        ValueError: there is no column, a row has another length, or there are more than
            `MAX_CELLS` cells.
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.columns = list(columns)
        self.rows = [list(row) for row in rows]
        for name in self.columns:
            if not isinstance(name, str):
                raise TypeError(f"a column of a table must be text, got {name!r:.100}")
        if not self.columns:
            raise ValueError("a table has no columns; name at least one")
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of the table has {len(row)} values, but there are "
                    f"{len(self.columns)} columns; give each row a value for each column"
                )
        cells = len(self.columns) * len(self.rows)
        if cells > MAX_CELLS:
            raise ValueError(
                f"the table has {cells} cells, at most {MAX_CELLS} are allowed; report a sample "
                "of its rows, or store it in a checkpoint"
            )

    @classmethod
    def of_frame(cls, frame: Any) -> Table:
        """A table of a DataFrame of pandas or polars, without its index."""
        columns = [str(name) for name in frame.columns]
        series = [list(frame[name]) for name in frame.columns]
        return cls(columns, list(zip(*series)))

    def encode(self) -> Encoded:
        """JSON: `columns`, and `rows` of as many values."""
        rows = [[_cell(value) for value in row] for row in self.rows]
        return json_of("table", {"columns": self.columns, "rows": rows})


def as_list(value: Any) -> Any:
    """Arrays and tensors as nested lists; other values unchanged."""
    detach = getattr(value, "detach", None)
    if detach is not None:
        value = detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    tolist = getattr(value, "tolist", None)
    return value if tolist is None else tolist()


def checked_size(what: str, content: bytes, limit: int, remedy: str) -> bytes:
    """The content of a file.

    Raises:
        ValueError: it is larger than `limit` bytes.
    """
    if len(content) > limit:
        raise ValueError(
            f"the {what} has {len(content)} bytes, at most {limit} are allowed; {remedy}"
        )
    return content


def json_of(kind: str, value: Dict[str, Any]) -> Encoded:
    """The content of a table or histogram.

    Raises:
        ValueError: it is larger than `MAX_TABLE_BYTES`.
    """
    content = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    remedy = "report a sample of it, or store it in a checkpoint"
    return Encoded(kind, "json", checked_size(kind, content, MAX_TABLE_BYTES, remedy))


def _cell(value: Any) -> Any:
    """A value of JSON; NaN and infinities as text."""
    value = as_list(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)

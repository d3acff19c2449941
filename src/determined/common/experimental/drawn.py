"""Objects of the SDK as tables: HTML in notebooks, and data frames."""

from __future__ import annotations

import datetime
import html
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
)

if TYPE_CHECKING:
    import pandas

Row = Dict[str, Any]
"""Column to value; a missing value has no column."""
MAX_ROWS_DRAWN = 100
MAX_TEXT_DRAWN = 200


class Drawn:
    """Draws itself in a notebook with what it has read; it does not ask the master."""

    def _row(self) -> Row:
        """Its values by column."""
        raise NotImplementedError

    def _address(self) -> Optional[str]:
        """Its page of the web UI."""
        return None

    def _repr_html_(self) -> str:
        name = html.escape(repr(self))
        address = self._address()
        if address is not None:
            name = f'<a href="{html.escape(address)}" target="_blank" rel="noopener">{name}</a>'
        lines = "".join(
            f"<tr><th style='text-align:left'>{html.escape(column)}</th>"
            f"<td style='text-align:left'>{_cell(value)}</td></tr>"
            for column, value in self._row().items()
        )
        return f"<table><caption style='text-align:left'>{name}</caption>{lines}</table>"


D = TypeVar("D", bound=Drawn)


class DrawnList(List[D]):
    """A list that draws itself as a table, and becomes a data frame."""

    def to_dataframe(self) -> pandas.DataFrame:
        """A row an object.

        Raises:
            ImportError: pandas is not installed.
        """
        return frame(each._row() for each in self)

    def _repr_html_(self) -> str:
        return _table([each._row() for each in self[:MAX_ROWS_DRAWN]], len(self))


T = TypeVar("T")


class Reports(Iterator[T]):
    """Reports of metrics, read on demand."""

    def __init__(self, reports: Iterable[T]) -> None:
        self._reports = iter(reports)

    def __next__(self) -> T:
        return next(self._reports)

    def to_dataframe(self) -> pandas.DataFrame:
        """A row a report that is left, with a column for each metric.

        Raises:
            ImportError: pandas is not installed.
        """
        return frame(_report_row(report) for report in self)


def frame(rows: Iterable[Row]) -> pandas.DataFrame:
    """Rows as a data frame; its columns are those of all rows, in the order of their appearance.

    Raises:
        ImportError: pandas is not installed.
    """
    try:
        import pandas  # the client does not depend on it
    except ImportError as error:
        raise ImportError("to_dataframe needs pandas: pip install pandas") from error
    listed = list(rows)
    return pandas.DataFrame.from_records(listed, columns=_columns(listed))


def flat(prefix: str, values: Optional[Mapping[str, Any]]) -> Row:
    """Values of nested mappings by their path, such as `hparams.net.layers`."""
    row: Row = {}
    for name, value in (values or {}).items():
        path = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, Mapping):
            row.update(flat(path, value))
        else:
            row[path] = value
    return row


def _report_row(report: Any) -> Row:
    return {
        "trial_id": report.trial_id,
        "trial_run_id": report.trial_run_id,
        "steps_completed": report.steps_completed,
        "end_time": report.end_time,
        "group": report.group,
        **flat("", report.metrics),
    }


def _columns(rows: Sequence[Row]) -> List[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _table(rows: Sequence[Row], total: int) -> str:
    columns = _columns(rows)
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row.get(column))}</td>" for column in columns) + "</tr>"
        for row in rows
    )
    rest = f"<p>{total - len(rows)} more: to_dataframe() has all</p>" if total > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(value: Any) -> str:
    text = _text(value)
    if len(text) > MAX_TEXT_DRAWN:
        text = text[:MAX_TEXT_DRAWN] + "…"
    return html.escape(text)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return str(value)

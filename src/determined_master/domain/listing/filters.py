"""The search language of lists: filters and sorts, from text to typed values.

A filter is a tree of groups (`and`, `or`) and of conditions on one column each. A condition
without a value, which a user has not finished, filters nothing. A thing without a value in a
column matches no condition on it except `isEmpty`. Not-a-number counts as no value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.listing.columns import (
    ColumnType,
    Table,
    columns_of,
    is_projects_own,
)

Operator = Literal[
    "=", "!=", "<", "<=", ">", ">=", "contains", "notContains", "isEmpty", "notEmpty"
]
Conjunction = Literal["and", "or"]
Value: TypeAlias = str | float | datetime

OPERATORS = frozenset(get_args(Operator))
ON_TEXT_ONLY = frozenset({"contains", "notContains"})
WITHOUT_VALUE = frozenset({"isEmpty", "notEmpty"})
MAX_DEPTH = 20
MAX_CONDITIONS = 200
MAX_GROUPS = 200
MAX_CHARACTERS = 1024 * 1024
MAX_SORTS = 20
"""Each column of the project's runs costs the database a join."""

_PREFIXES = {
    "LOCATION_TYPE_HYPERPARAMETERS": "hp.",
    "LOCATION_TYPE_RUN_HYPERPARAMETERS": "hp.",
    "LOCATION_TYPE_RUN_METADATA": "metadata.",
}


class Condition(msgspec.Struct, frozen=True):
    """A comparison of one column with a value of the column's type."""

    column: str
    operator: Operator
    type: ColumnType
    value: Value | None = None
    """None only for operators that need none."""


class Group(msgspec.Struct, frozen=True):
    """All or any of its children; a group without children matches everything."""

    conjunction: Conjunction
    children: Sequence[Group | Condition] = ()


class Filter(msgspec.Struct, frozen=True):
    """A whole filter."""

    root: Group
    show_archived: bool = False


class Sort(msgspec.Struct, frozen=True):
    """One column to sort by."""

    column: str
    is_descending: bool = False


def parse_filter(text: str | None, table: Table) -> Filter:
    """Read a filter's JSON. Without a filter, everything that is not archived matches.

    Raises:
        InvalidArgument: it is not such JSON, or names an unknown column or operator.
    """
    if not text:
        return Filter(Group("and"), show_archived=True)
    if len(text) > MAX_CHARACTERS:
        raise InvalidArgument(
            f"the filter has {len(text)} characters, at most {MAX_CHARACTERS} are read: "
            "compare with less"
        )
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"the filter is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise InvalidArgument("the filter must be an object with filterGroup and showArchived")
    shown = raw.get("showArchived", False)
    if not isinstance(shown, bool):
        raise InvalidArgument(f"showArchived is {shown!r}: it must be true or false")
    reader = _Reader(table)
    root = raw.get("filterGroup")
    tree = Group("and") if root is None else reader.group(root, 0)
    return Filter(tree, show_archived=shown)


def parse_sort(text: str | None, table: Table) -> list[Sort]:
    """Read `<column>=asc|desc[,…]`.

    Raises:
        InvalidArgument: another form, an unknown column, or too many.
    """
    sorts: list[Sort] = []
    for part in text.split(",", MAX_SORTS) if text else ():
        if len(sorts) == MAX_SORTS:
            raise InvalidArgument(f"the sort has more than {MAX_SORTS} columns: leave some out")
        column, equals, direction = part.rpartition("=")
        if not equals or direction not in ("asc", "desc"):
            raise InvalidArgument(f"invalid sort parameter: {part}")
        if column not in columns_of(table) and not is_projects_own(column):
            raise InvalidArgument(f"invalid sort col: {column}")
        sorts.append(Sort(column, direction == "desc"))
    return sorts


class _Reader:
    def __init__(self, table: Table) -> None:
        self._table: Table = table
        self._count = 0
        self._groups = 0

    def group(self, raw: Any, depth: int) -> Group:
        if not isinstance(raw, dict) or raw.get("kind", "group") != "group":
            raise InvalidArgument(f"a filter group is expected, not {_short(raw)}")
        self._count_group(depth)
        conjunction: Any = raw.get("conjunction") or "and"
        if conjunction not in ("and", "or"):
            raise InvalidArgument(f"invalid conjunction {conjunction}: use and, or")
        children = raw.get("children") or []
        if not isinstance(children, list):
            raise InvalidArgument("the children of a filter group must be a list")
        read = [self._child(child, depth) for child in children]
        return Group(conjunction, tuple(c for c in read if c is not None))

    def _count_group(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise InvalidArgument(f"the filter is nested deeper than {MAX_DEPTH} groups")
        self._groups += 1
        if self._groups > MAX_GROUPS:
            raise InvalidArgument(
                f"the filter has more than {MAX_GROUPS} groups: put their conditions together"
            )

    def _child(self, raw: Any, depth: int) -> Group | Condition | None:
        kind = raw.get("kind") if isinstance(raw, dict) else None
        if kind == "group":
            return self.group(raw, depth + 1)
        if kind == "field":
            self._count += 1
            if self._count > MAX_CONDITIONS:
                raise InvalidArgument(f"the filter has more than {MAX_CONDITIONS} conditions")
            return self._condition(raw)
        raise InvalidArgument(f"kind must be group or field in {_short(raw)}")

    def _condition(self, raw: dict[str, Any]) -> Condition | None:
        operator: Any = raw.get("operator")
        if operator not in OPERATORS:
            raise InvalidArgument(f"invalid operator {operator}")
        name, type_ = self._column(raw)
        value = raw.get("value")
        if operator in WITHOUT_VALUE:
            return Condition(name, operator, type_)
        if value is None or value == "":
            return None
        if operator in ON_TEXT_ONLY and type_ in ("NUMBER", "DATE"):
            raise InvalidArgument(
                f"operator {operator} is for text, and {name} is a {type_.lower()}:"
                " use = != < <= > >="
            )
        return Condition(name, operator, type_, _value(name, type_, value))

    def _column(self, raw: dict[str, Any]) -> tuple[str, ColumnType]:
        """The name and type of a condition's column."""
        name: Any = _full_name(raw.get("columnName"), raw.get("location"))
        column = columns_of(self._table).get(name) if isinstance(name, str) else None
        if column is not None:
            return name, column.type
        if isinstance(name, str) and is_projects_own(name):
            return name, _asked_type(raw)
        raise InvalidArgument(f"invalid {self._table} column {name}")


def _full_name(name: Any, location: Any) -> Any:
    """The name with the prefix of its location, which clients may leave out."""
    prefix = _PREFIXES.get(location) if isinstance(location, str) else None
    if prefix is None or not name or not isinstance(name, str) or name.startswith(prefix):
        return name
    return prefix + name


def _asked_type(raw: dict[str, Any]) -> ColumnType:
    """The type of a project's own column is that of the request, else that of the value."""
    asked = str(raw.get("type") or "").removeprefix("COLUMN_TYPE_")
    value = raw.get("value")
    if asked in ("NUMBER", "DATE", "TEXT", "ARRAY"):
        return asked  # type: ignore[return-value]  # one of the literals
    return "NUMBER" if isinstance(value, int | float) else "TEXT"


def _value(column: str, type_: ColumnType, value: Any) -> Value:
    if type_ == "NUMBER":
        return _number(column, value)
    if type_ == "DATE":
        return _instant(column, value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise InvalidArgument(f"the value {_short(value)} for {column} must be text")
    return str(value).replace("\x00", "\ufffd")


def _number(column: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise InvalidArgument(f"the value {_short(value)} for {column} must be a number")
    return number


def _instant(column: str, value: Any) -> datetime:
    try:
        instant = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"the value {_short(value)} for {column} must be a time like 2026-01-31T12:00:00Z"
        ) from error
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _short(value: Any) -> str:
    return repr(value)[:80]

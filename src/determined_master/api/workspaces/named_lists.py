"""Filtering and ordering lists of workspaces and projects, which are short and read as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from determined_wire.rest.types.shared import OrderBy


class Row(Protocol):
    """The fields by which both kinds of rows are filtered."""

    @property
    def name(self) -> str: ...
    @property
    def archived(self) -> bool: ...
    @property
    def username(self) -> str: ...
    @property
    def user_id(self) -> int: ...


class Wanted(Protocol):
    """The common part of requests for both lists."""

    @property
    def archived(self) -> bool | None: ...
    @property
    def users(self) -> Sequence[str]: ...
    @property
    def user_ids(self) -> Sequence[int]: ...
    @property
    def order_by(self) -> OrderBy: ...


R = TypeVar("R", bound=Row)


def matching(rows: Sequence[R], request: Wanted) -> list[R]:
    """Those that a request asks for, in its order, by id."""
    found = [
        row
        for row in rows
        if request.archived is None or row.archived is request.archived
        if not request.users or row.username in request.users
        if not request.user_ids or row.user_id in request.user_ids
    ]
    return found[::-1] if request.order_by is OrderBy.ORDER_BY_DESC else found


def ordered(rows: list[R], request: Wanted, key: Callable[[R], Any]) -> list[R]:
    """The same in the order of something else."""
    return sorted(rows, key=key, reverse=request.order_by is OrderBy.ORDER_BY_DESC)

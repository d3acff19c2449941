"""Rows whose stored data cannot be read or shown: each costs its row, not its list."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import asyncpg

from determined_master.domain.errors import DetError, FailedPrecondition

K = TypeVar("K")
R = TypeVar("R")

MAX_BROKEN = 20
"""Rows that one read leaves out. With more of them the fault is not the rows'."""

_OF_DATA = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
_OF_OTHERS = (DetError, asyncpg.InterfaceError, asyncpg.PostgresError)

log = logging.getLogger(__name__)


def may_be_of_row(error: Exception) -> bool:
    """Whether one row can cause this exception, and not the request or the database."""
    return isinstance(error, _OF_DATA) and not isinstance(error, _OF_OTHERS)


async def sound_rows(
    keys: Sequence[K], read: Callable[[Sequence[K]], Awaitable[Sequence[R]]]
) -> list[R]:
    """What `read` makes of the keys, without those for which it fails; these are logged.

    A part that fails is read again in halves, so that a list without broken rows costs one read.

    Raises:
        Exception: of `read`, if it is not of a row, or if more than `MAX_BROKEN` rows are broken.

    Cost: 2 log2(keys) more reads for each broken row.
    """
    broken = 0
    rows: list[R] = []
    parts = [keys]
    while parts:
        part = parts.pop()
        try:
            rows += await read(part)
        except Exception as error:
            if not may_be_of_row(error) or broken == MAX_BROKEN:
                raise
            if len(part) > 1:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
                continue
            broken += 1
            log.error("%s is left out of a list: its data cannot be read", *part, exc_info=error)
    return rows


@contextmanager
def naming_broken_row(thing: str) -> Iterator[None]:
    """Name the thing whose stored data cannot be shown, instead of an internal error.

    Raises:
        FailedPrecondition: an exception that one row can cause, with its words; it is logged.
    """
    try:
        yield
    except Exception as error:
        if not may_be_of_row(error):
            raise
        log.exception("%s cannot be shown: its data cannot be read", thing)
        raise FailedPrecondition(
            f"{thing} cannot be shown: its stored data cannot be read "
            f"({type(error).__name__}: {error}). The master's log has the details; an "
            "administrator can mend or delete the row"
        ) from error

"""Errors for a request that PostgreSQL refuses to store."""

from __future__ import annotations

import asyncpg

from determined_master.domain.errors import Aborted, DetError, InvalidArgument
from determined_master.store.connection_errors import words_of
from determined_master.store.errors import DatabaseUnavailable


def refusal_of(error: BaseException) -> DetError | None:
    """The error for the sender of the values; None if no request can cause it.

    Services report foreseeable errors by name. This covers the others: a row deleted between a
    check and its statement, and values beyond what a column holds.
    """
    match error:
        case asyncpg.ForeignKeyViolationError():
            return Aborted(
                "something that the request names was deleted meanwhile, or something new refers "
                f"to what it deletes ({error.constraint_name}): look at what is there now, and "
                "send it again"
            )
        case asyncpg.UniqueViolationError():
            return Aborted(
                "another request has just stored a thing of the same name or id "
                f"({error.constraint_name}): look at it, or choose another one"
            )
        case asyncpg.ProgramLimitExceededError():
            return InvalidArgument(
                "a name or id in the request is too long to be looked up by: shorten it to 512 "
                "characters"
            )
        case asyncpg.CharacterNotInRepertoireError():
            return InvalidArgument(
                "a text of the request has a NUL character, which cannot be stored or looked for: "
                "leave it out"
            )
        case asyncpg.InvalidRegularExpressionError():
            return InvalidArgument(
                f"the regular expression to search by cannot be used ({words_of(error)}): mend "
                "it, or search for plain text"
            )
        case asyncpg.DataError():
            return InvalidArgument(
                "a value of the request cannot be stored: ids go to 2147483647, other numbers to "
                "9223372036854775807, times from year 1 to 9999 in UTC"
            )
        case _:
            return None


def shortage_of(error: BaseException) -> DatabaseUnavailable | None:
    """The error for whose request met a database that is full; None for any other.

    A retry is worthwhile, however long it takes: an admin has to free space.
    """
    match error:
        case asyncpg.DiskFullError():
            return DatabaseUnavailable(
                f"the database has no room ({words_of(error)}): free some space on its disk; "
                "the same request can then be sent again"
            )
        case asyncpg.TooManyConnectionsError():
            return DatabaseUnavailable(
                f"the database takes no more connections ({words_of(error)}): raise its "
                "max_connections, or let other programs use fewer; the same request can then be "
                "sent again"
            )
        case asyncpg.InsufficientResourcesError():
            return DatabaseUnavailable(
                f"the database is short of something ({words_of(error)}): send the same request "
                "again"
            )
        case _:
            return None

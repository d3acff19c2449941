"""What a request can be told when PostgreSQL refuses what it was asked to store."""

from __future__ import annotations

import asyncpg

from determined_master.domain.errors import Aborted, DetError, InvalidArgument


def refusal_of(error: BaseException) -> DetError | None:
    """The error for who sent the values; None when it is nothing that a request can cause.

    Services tell what they can foresee by its name. This is for the rest: what was taken away
    between a check and its statement, and values beyond what a column holds.
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
        case asyncpg.DataError():
            return InvalidArgument(
                "a value of the request cannot be stored: ids go to 2147483647, other numbers to "
                "9223372036854775807, times from year 1 to 9999 in UTC"
            )
        case _:
            return None

"""Errors of connections and queries while PostgreSQL is unavailable."""

import asyncpg

DATABASE_ERRORS = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that died while it was being set up or used
)
"""Anything that a loop which must live on waits out."""

DATABASE_AWAY = (
    ConnectionError,
    FileNotFoundError,  # the socket of our own server
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # it is shutting down, or starting
)
"""The server is unavailable; the same request may succeed later."""

DATABASE_SILENT = (*DATABASE_AWAY, TimeoutError, asyncpg.InsufficientResourcesError)
"""No information about the query: the server is away, hangs, or refuses connections."""


def is_away(error: BaseException) -> bool:
    """Whether it means only that the server is unavailable.

    An error that names a file is about that file, and no socket.
    """
    return isinstance(error, DATABASE_AWAY) and getattr(error, "filename", None) is None


def words_of(error: BaseException) -> str:
    """Its text in one line: PostgreSQL adds details and hints below it."""
    return str(error).partition("\n")[0]

"""Connections whose loss hides nothing: the error that ended the work is the one raised.

When a transaction ends, and when a connection returns to its pool, the library asks the server
once more. If the server is unavailable, that error replaced the one in progress: a refusal, or a
cancellation, so that the caller of a cancelled task waited forever.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Any

import asyncpg
from asyncpg.transaction import Transaction as LibraryTransaction

from determined_master.store.connection_errors import DATABASE_ERRORS


class Transaction(LibraryTransaction):  # type: ignore[misc]  # asyncpg has no types
    """Commits at its end, or rolls back on an error, which is raised unchanged."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raises the error of the commit; the error of a rollback adds nothing."""
        try:
            await super().__aexit__(kind, error, trace)
        except DATABASE_ERRORS:
            if error is None:
                raise


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """One to the server."""

    def transaction(
        self,
        *,
        isolation: Any = None,
        readonly: bool = False,
        deferrable: bool = False,
    ) -> Transaction:
        """As asyncpg has it."""
        return Transaction(self, isolation, readonly, deferrable)


class ConnectionPool(asyncpg.Pool):  # type: ignore[misc]
    """Gives connections out and takes them back."""

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:
        """Take one back.

        A connection that cannot be reset for its next use is discarded; the work done with it
        stands, or has reported its own end.
        """
        with suppress(*DATABASE_ERRORS):
            await super().release(connection, timeout=timeout)

"""Connections whose loss hides nothing: the error that ended the work is the one raised.

A library's way out of a transaction, and of a pool's connection, asks the server once more. When
the server has gone, its error took the place of what was on its way: of a refusal, and of a
cancellation, so that whoever waits for the end of a task that was cancelled waited forever.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Any

import asyncpg
from asyncpg.transaction import Transaction as LibraryTransaction

from determined_master.store.connection_errors import DATABASE_ERRORS


class Transaction(LibraryTransaction):  # type: ignore[misc]  # asyncpg has no types
    """Commits at its end, or is rolled back by what it met, which continues its way."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raises what the commit met; a rollback that fails says nothing that is not known."""
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

        One that cannot be made ready for its next use is thrown away by then; what was done with
        it is done, or has reported its own end.
        """
        with suppress(*DATABASE_ERRORS):
            await super().release(connection, timeout=timeout)

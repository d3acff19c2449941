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

from determined_master.ports import answered_request
from determined_master.ports.user_slots import UserSlots
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
    """Gives connections out and takes them back; requests of one user get at most half of them."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """As asyncpg has it."""
        super().__init__(*arguments, **options)
        self._slots = UserSlots(max(1, options["max_size"] // 2))
        self._requests: dict[Any, answered_request.AnsweredRequest] = {}

    async def _acquire(self, timeout: float | None) -> Any:
        request = answered_request.current()
        # A request that holds a connection gives it back only when it gets the next one.
        if request is None or request.connections:
            return await super()._acquire(timeout)
        await self._slots.take(request.user_id)
        request.connections += 1
        try:
            connection = await super()._acquire(timeout)
        except BaseException:
            self._end(request)
            raise
        self._requests[connection] = request
        return connection

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:
        """Take one back.

        A connection that cannot be reset for its next use is discarded; the work done with it
        stands, or has reported its own end.
        """
        try:
            with suppress(*DATABASE_ERRORS):
                await super().release(connection, timeout=timeout)
        finally:
            request = self._requests.pop(connection, None)
            if request is not None:
                self._end(request)

    def _end(self, request: answered_request.AnsweredRequest) -> None:
        request.connections -= 1
        self._slots.give_back(request.user_id)

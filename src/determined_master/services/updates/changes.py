"""News of changed entities, from the database to the streams of this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.updates.entities import listen

log = logging.getLogger(__name__)
RECONNECT_S = 1.0

Listener = Callable[[str, int], None]
"""Is given the kind and the id of what has changed; an empty kind when anything may have."""
Connect = Callable[[], Awaitable[Any]]


class EntityChanges:
    """Listens on one connection for as long as somebody wants to know."""

    def __init__(self, connect: Connect) -> None:
        """`connect` opens a connection of its own."""
        self._connect = connect
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()

    async def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener`, which must not block, for each commit from the return on.

        Returns:
            A function that ends it.
        """
        self._listeners.add(listener)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            await self._is_ready.wait()
        except asyncio.CancelledError:
            self._leave(listener)
            raise
        return lambda: self._leave(listener)

    def _leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None
            self._is_ready.clear()

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except DATABASE_ERRORS as error:
                log.info("news of changed entities are interrupted", extra={"error": str(error)})
            await asyncio.sleep(RECONNECT_S)

    async def _follow(self) -> None:
        """Listen until the connection is lost."""
        conn = await self._connect()
        try:
            lost = await listen(conn, self._publish)
            self._is_ready.set()
            self._publish("", 0)  # changes before were missed
            await lost.wait()
        finally:
            conn.terminate()

    def _publish(self, kind: str, id: int) -> None:
        for listener in tuple(self._listeners):
            listener(kind, id)

"""RequestTurns of users with requests that cost much: one user's wait for each other, not for all.

A configuration of 256 KiB keeps a thread busy for some seconds, and a model directory of 50,000
files for as long. Without turns a hundred of them from one user took all threads, and the
submissions of all others waited behind them.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from determined_master.domain.errors import ResourceExhausted
from determined_master.ports.user_slots import UserSlots

AT_ONCE = 2
"""Costly requests of one user that are handled at the same time."""
MAX_WAITING = 256
"""Further ones of the user: their bodies are not read before their turn."""


class RequestTurns:
    """The costly requests of all users."""

    def __init__(self) -> None:
        self._slots = UserSlots(AT_ONCE)

    @contextlib.asynccontextmanager
    async def take(self, user_id: int) -> AsyncIterator[None]:
        """Wait for the turn of a user's request, and hold it in the block.

        Raises:
            ResourceExhausted: too many of the user wait.
        """
        if self._slots.count(user_id) >= AT_ONCE + MAX_WAITING:
            raise ResourceExhausted(
                f"{MAX_WAITING} of your large requests wait for their turn: send fewer at once"
            )
        await self._slots.take(user_id)
        try:
            yield
        finally:
            self._slots.give_back(user_id)

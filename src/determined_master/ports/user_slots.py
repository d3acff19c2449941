"""A number of slots for each user: what one user does waits for that user's own."""

from __future__ import annotations

import asyncio
from collections import Counter


class UserSlots:
    """Gives the slots of each user in the order in which they are asked for."""

    def __init__(self, most: int) -> None:
        """`most`: slots of one user."""
        self._most = most
        self._slots: dict[int, asyncio.Semaphore] = {}
        self._counts: Counter[int] = Counter()

    def count(self, user_id: int) -> int:
        """How many hold a slot of the user, or wait for one."""
        return self._counts[user_id]

    async def take(self, user_id: int) -> None:
        """Wait for a slot; `give_back` follows."""
        slots = self._slots.setdefault(user_id, asyncio.Semaphore(self._most))
        self._counts[user_id] += 1
        try:
            await slots.acquire()
        except BaseException:
            self._leave(user_id)
            raise

    def give_back(self, user_id: int) -> None:
        """Let the next one of the user have the slot."""
        self._slots[user_id].release()
        self._leave(user_id)

    def _leave(self, user_id: int) -> None:
        self._counts[user_id] -= 1
        if not self._counts[user_id]:
            del self._counts[user_id], self._slots[user_id]

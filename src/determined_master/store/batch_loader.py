"""Look-ups that wait at the same time, answered by one query."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_KEYS = 500


class BatchLoader(Generic[K, V]):
    """Gives each look-up the answer of a query that began after it was asked.

    While one query is under way others wait for the next: an idle master answers at once, a
    busy one asks the database less often than it is asked.
    """

    def __init__(self, fetch: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]) -> None:
        self._fetch = fetch
        self._waiting: dict[K, list[asyncio.Future[V | None]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def find(self, key: K) -> V | None:
        """The value that the query finds for the key; None when there is none."""
        answer: asyncio.Future[V | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(answer)
        if self._task is None:
            self._task = asyncio.create_task(self._answer())
        return await answer

    async def _answer(self) -> None:
        """Runs while callers wait."""
        try:
            while self._waiting:
                keys = list(self._waiting)[:MAX_KEYS]
                asked = {key: self._waiting.pop(key) for key in keys}
                await self._answer_some(asked)
        finally:
            self._task = None

    async def _answer_some(self, asked: Mapping[K, Sequence[asyncio.Future[V | None]]]) -> None:
        try:
            found = await self._fetch(list(asked))
        except Exception as error:  # every waiting caller gets it
            for answer in (a for answers in asked.values() for a in answers if not a.done()):
                answer.set_exception(error)
            return
        for key, answers in asked.items():
            for answer in answers:
                if not answer.done():
                    answer.set_result(found.get(key))

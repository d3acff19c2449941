"""Events that wait for the leader, in order for each aggregate."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from determined_master.engine.errors import TermEnded
from determined_master.engine.ids import EffectId, Key
from determined_master.engine.kind import AnyKind, Outcome, Within
from determined_master.store.db import Conn


@dataclass(slots=True, eq=False)
class Post:
    """A posted event; `future` gets its outcome or error."""

    kind: AnyKind
    id: str
    event: Any
    cause: str
    future: asyncio.Future[Outcome[Any] | Exception]
    closes: EffectId | None = None
    within: Within | None = None
    timer: tuple[str, int] | None = None
    """Name of the timer that fired, and the version that set it."""
    inbox_seq: int | None = None

    @property
    def key(self) -> Key:
        """The event's aggregate."""
        return self.kind.name, self.id

    def answer(self, outcome: Outcome[Any] | Exception) -> None:
        """Answer the caller, if it still waits."""
        if not self.future.done():
            self.future.set_result(outcome)


@dataclass(slots=True, eq=False)
class Closing:
    """An effect to close without an event."""

    effect: EffectId
    future: asyncio.Future[Exception | None]
    within: Callable[[Conn], Awaitable[None]] | None = None

    def answer(self, error: Exception | None) -> None:
        """Answer the caller, if it still waits."""
        if not self.future.done():
            self.future.set_result(error)


class PostQueue:
    """Forms batches; no two batches have events of the same aggregate at the same time.

    Args:
        limit: length from which `wait_for_room` waits.
        batch: events of one batch.
    """

    def __init__(self, *, limit: int, batch: int) -> None:
        self._limit = limit
        self._batch = batch
        self._count = 0
        self._waiting: dict[Key, deque[Post]] = {}
        self._ready: deque[Key] = deque()
        self._busy: set[Key] = set()
        self._closings: deque[Closing] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def __len__(self) -> int:
        return self._count

    async def wait_for_room(self) -> None:
        """Return when the queue is below its limit."""
        while self._count >= self._limit:
            self._room.clear()
            await self._room.wait()

    def put(self, post: Post) -> None:
        key = post.key
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = deque((post,))
            if key not in self._busy:
                self._ready.append(key)
                self._filled.set()
        else:
            waiting.append(post)
        self._count += 1

    def put_closing(self, closing: Closing) -> None:
        """Add an effect to close with the next batch."""
        self._closings.append(closing)
        self._filled.set()

    async def take(self) -> tuple[list[Post], list[Closing]]:
        """Wait for a batch; the caller releases its aggregates with `give_back`."""
        while not self._ready and not self._closings:
            self._filled.clear()
            await self._filled.wait()
        posts: list[Post] = []
        while self._ready and len(posts) < self._batch:
            key = self._ready.popleft()
            waiting = self._waiting[key]
            self._busy.add(key)
            while waiting and len(posts) < self._batch:
                posts.append(waiting.popleft())
            if not waiting:
                del self._waiting[key]
        self._count -= len(posts)
        if self._count < self._limit:
            self._room.set()
        closings = list(self._closings)
        self._closings.clear()
        return posts, closings

    def give_back(self, posts: Sequence[Post]) -> None:
        """Release the aggregates of a settled batch."""
        for key in {post.key for post in posts}:
            self._busy.discard(key)
            if key in self._waiting:
                self._ready.append(key)
                self._filled.set()

    def drain(self) -> tuple[list[Post], list[Closing]]:
        """Remove everything that waits, when leadership ends."""
        posts = [post for waiting in self._waiting.values() for post in waiting]
        closings = list(self._closings)
        self._waiting.clear()
        self._ready.clear()
        self._closings.clear()
        self._count = 0
        self._room.set()
        return posts, closings


def end_all(posts: Sequence[Post], closings: Sequence[Closing]) -> None:
    """Answer waiting callers: leadership has ended."""
    for post in posts:
        post.answer(TermEnded())
    for closing in closings:
        closing.answer(TermEnded())

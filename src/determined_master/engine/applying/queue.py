"""Events that wait for the leader, in order for each aggregate."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from determined_master import clock
from determined_master.engine.applying.pauses import Pauses
from determined_master.engine.errors import TermEnded
from determined_master.engine.ids import EffectId, Key
from determined_master.engine.kind import AnyKind, Outcome, Within
from determined_master.engine.turns import Owner, Shares, Turns
from determined_master.store.db import Conn

_GATHER_PASSES = 2
"""Passes of the event loop before a batch: callers that were just answered post their next events
in them. Without these, a search that ends has twice as many batches."""


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
    owner: Owner | None = None
    """Whose work it is; None: a work of its own for each aggregate."""

    @property
    def key(self) -> Key:
        """The event's aggregate."""
        return self.kind.name, self.id

    @property
    def turn(self) -> Owner:
        """The owner in whose turn it is applied."""
        return self.owner or Owner.of(0, f"{self.kind.name} {self.id}")

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
    """Forms batches in turns of the events' owners, with a bound for each.

    No two batches have events of the same aggregate, or of the same work, at the same time: one
    worker is always free for others. A batch of one owner alone would be long: the next event of
    somebody else waits for its end.

    Args:
        limit: length from which `wait_for_room` waits; for each user a quarter of it.
        batch: events of one batch; of each user a half, of each work a quarter. One aggregate may
            have all of it: its events never take more than one worker.
    """

    def __init__(self, *, limit: int, batch: int) -> None:
        self._limit = limit
        self._batch = batch
        self._count = 0
        self._held = Shares(user=max(limit // 4, 1), work=max(limit // 4, 1))
        self._waiting: dict[Key, deque[Post]] = {}
        self._ready: Turns[Key] = Turns()
        self._busy: set[Key] = set()
        self._served: set[str] = set()
        """Works that have a batch now, or pause after one."""
        self._pauses = Pauses()
        self._closings: deque[Closing] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def __len__(self) -> int:
        return self._count

    def has_room(self, owner: Owner) -> bool:
        """Whether the queue is below its limit, and below that of the owner."""
        return self._count < self._limit and self._held.may_have(owner)

    async def wait_for_room(self, owner: Owner) -> None:
        """Return when there is room for an event of the owner."""
        while not self.has_room(owner):
            self._room.clear()
            await self._room.wait()

    def put(self, post: Post) -> None:
        key = post.key
        self._held.add(post.turn)
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = deque((post,))
            if key not in self._busy:
                self._ready.put(post.turn, key)
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
        for _ in range(_GATHER_PASSES):
            await asyncio.sleep(0)
        while True:
            posts = self._take_posts()
            if posts or self._closings:
                break
            self._filled.clear()
            await self._filled.wait()
        self._count -= len(posts)
        for post in posts:
            self._held.add(post.turn, -1)
        self._room.set()
        closings = list(self._closings)
        self._closings.clear()
        return posts, closings

    def give_back(self, posts: Sequence[Post], took_s: float) -> None:
        """Release the aggregates of a settled batch, and its works at once or after a pause.

        Args:
            took_s: seconds that the batch took.
        """
        for key in {post.key for post in posts}:
            self._busy.discard(key)
            if key in self._waiting:
                self._ready.put(self._waiting[key][0].turn, key)
        now_s = clock.monotonic_s()
        owners = {post.turn.work: post.turn for post in posts}
        for work, events in Counter(post.turn.work for post in posts).items():
            pause_s = self._pauses.after(owners[work], events, took_s, now_s)
            if pause_s:
                asyncio.get_running_loop().call_later(pause_s, self._release, work)
            else:
                self._release(work)

    def _release(self, work: str) -> None:
        self._served.discard(work)
        self._filled.set()

    def drain(self) -> tuple[list[Post], list[Closing]]:
        """Remove everything that waits, when leadership ends."""
        posts = [post for waiting in self._waiting.values() for post in waiting]
        closings = list(self._closings)
        self._waiting.clear()
        self._ready = Turns()
        self._closings.clear()
        self._count = 0
        for post in posts:
            self._held.add(post.turn, -1)
        self._room.set()
        return posts, closings

    def _take_posts(self) -> list[Post]:
        posts: list[Post] = []
        shares = Shares(user=max(self._batch // 2, 1), work=max(self._batch // 4, 1))

        def may_have(owner: Owner) -> bool:
            return owner.work not in self._served and shares.may_have(owner)

        while len(posts) < self._batch and (turn := self._ready.take(may_have)):
            owner, key = turn
            waiting = self._waiting[key]
            self._busy.add(key)
            while waiting and len(posts) < self._batch:
                posts.append(waiting.popleft())
                shares.add(owner)
            if not waiting:
                del self._waiting[key]
        self._served.update(post.turn.work for post in posts)
        return posts


def end_all(posts: Sequence[Post], closings: Sequence[Closing]) -> None:
    """Answer waiting callers: leadership has ended."""
    for post in posts:
        post.answer(TermEnded())
    for closing in closings:
        closing.answer(TermEnded())

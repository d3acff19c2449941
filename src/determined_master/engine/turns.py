"""Turns of users, and of the works of each user: nobody waits behind all work of another."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Owner(NamedTuple):
    """Whose work something is."""

    user: str
    work: str
    """One experiment, one task, or what else is served in turns."""

    @classmethod
    def of(cls, user_id: int, work: str) -> Owner:
        """A user's work; the work of an unknown user has turns of its own."""
        return cls(f"user {user_id}" if user_id else work, work)


NOBODY = Owner("", "")
OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)
"""Whose effect is carried out now: the events that result are its owner's work too."""


class Turns(Generic[T]):
    """Items in turns: one of each user, and for each user one of each work."""

    def __init__(self) -> None:
        self._users: dict[str, dict[str, deque[T]]] = {}

    def __bool__(self) -> bool:
        return bool(self._users)

    def put(self, owner: Owner, item: T) -> None:
        """Add an item behind the others of its work."""
        self._users.setdefault(owner.user, {}).setdefault(owner.work, deque()).append(item)

    def take(self, may: Callable[[Owner], bool]) -> tuple[Owner, T] | None:
        """Remove the next item of an owner who may have one; None if there is none.

        Cost: O(1), and O(1) for each owner before it who may not.
        """
        owner = self._next(may)
        if owner is None:
            return None
        works = self._users.pop(owner.user)
        items = works.pop(owner.work)
        item = items.popleft()
        if items:
            works[owner.work] = items
        if works:
            self._users[owner.user] = works
        return owner, item

    def _next(self, may: Callable[[Owner], bool]) -> Owner | None:
        for user, works in self._users.items():
            for work in works:
                owner = Owner(user, work)
                if may(owner):
                    return owner
        return None


class Shares:
    """How many things each user and each work has now, against their bounds."""

    def __init__(self, *, user: int, work: int) -> None:
        self._most_of_user = user
        self._most_of_work = work
        self._users: Counter[str] = Counter()
        self._works: Counter[str] = Counter()

    def may_have(self, owner: Owner) -> bool:
        """Whether an owner may have one more."""
        return (
            self._works[owner.work] < self._most_of_work
            and self._users[owner.user] < self._most_of_user
        )

    def add(self, owner: Owner, count: int = 1) -> None:
        """Count what an owner gets, or with a negative count gives back."""
        for counts, key in ((self._users, owner.user), (self._works, owner.work)):
            counts[key] += count
            if counts[key] <= 0:
                del counts[key]


class FairSlots:
    """A number of slots, given in turns; each user and each work has a bound."""

    def __init__(self, total: int) -> None:
        self._free = total
        self._shares = Shares(user=max(total // 2, 1), work=max(total // 4, 1))
        self._waiting: Turns[asyncio.Future[None]] = Turns()

    @asynccontextmanager
    async def slot(self, owner: Owner) -> AsyncIterator[None]:
        """Hold a slot."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put(owner, granted)
        self._grant()
        try:
            await granted
            yield
        finally:
            if granted.done() and not granted.cancelled():
                self._free += 1
                self._shares.add(owner, -1)
                self._grant()

    def _grant(self) -> None:
        while self._free:
            turn = self._waiting.take(self._shares.may_have)
            if turn is None:
                return
            owner, granted = turn
            if not granted.done():
                self._free -= 1
                self._shares.add(owner)
                granted.set_result(None)

"""A stream of entities to one client: first all that it lacks, then each change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.updates.subscription import (
    KINDS,
    EntityFilter,
    EntityKind,
    Subscription,
    write_ids,
)
from determined_master.store.updates import entities as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller, ThingKind
    from determined_master.services.updates.changes import EntityChanges

STREAMING = "streaming_updates"
"""The feature switch of these streams."""
PAGE = 500
"""Entities that are read at once."""
MAX_STREAMS = 2000
Frame = dict[str, Any]

_THINGS: dict[EntityKind, ThingKind] = {
    "project": "project",
    "model": "model",
    "modelversion": "model",
}


class EntityStreams:
    """The streams of all clients."""

    def __init__(self, db: asyncpg.Pool, changes: EntityChanges, *, is_enabled: bool) -> None:
        """`is_enabled`: whether the feature switch `streaming_updates` is on."""
        self.is_enabled = is_enabled
        self._db = db
        self._changes = changes
        self._count = 0

    def open(self, caller: Callable[[], Awaitable[Caller]]) -> EntityStream | None:
        """A stream, or None when there are too many.

        Args:
            caller: who reads, with the rights of now; raises DetError when nobody may any more.
        """
        if self._count >= MAX_STREAMS:
            return None
        return EntityStream(self, caller)

    async def listen(self, stream: EntityStream) -> Callable[[], None]:
        """Tell a stream of changes; a function that ends it."""
        self._count += 1
        try:
            stop = await self._changes.listen(stream.on_change)
        except asyncio.CancelledError:
            self._count -= 1
            raise

        def leave() -> None:
            self._count -= 1
            stop()

        return leave

    async def numbers(
        self, kind: EntityKind, wanted: EntityFilter, caller: Caller
    ) -> dict[int, int]:
        """The numbers of the last changes of what is wanted and visible, by id."""
        among = access.visible(caller, _THINGS[kind])
        async with self._db.acquire() as conn:
            return await rows.list_numbers(conn, kind, wanted, among=among)

    async def entities(
        self, kind: EntityKind, wanted: EntityFilter, ids: Sequence[int], caller: Caller
    ) -> list[Frame]:
        """Those of these entities that are wanted and visible, by id."""
        among = access.visible(caller, _THINGS[kind])
        async with self._db.acquire() as conn:
            return await rows.list_entities(conn, kind, wanted, ids, among=among)


class EntityStream:
    """One client's stream. A client that reads slowly gets the last state of each entity."""

    def __init__(self, streams: EntityStreams, caller: Callable[[], Awaitable[Caller]]) -> None:
        self._streams = streams
        self._caller = caller
        self._next: Subscription | None = None
        self._wanted: dict[EntityKind, EntityFilter] = {}
        self._sent: dict[EntityKind, dict[int, int]] = {kind: {} for kind in KINDS}
        """The number of the last change that the client has, by the id of the entity."""
        self._changed: dict[EntityKind, set[int]] = {kind: set() for kind in KINDS}
        self._is_behind = False
        """Whether changes were missed."""
        self._wake = asyncio.Event()

    def subscribe(self, subscription: Subscription) -> None:
        """Replace what the client wants."""
        self._next = subscription
        self._wake.set()

    def on_change(self, kind: str, id: int) -> None:
        """An entity has changed; without a kind, any of those that the client has may have."""
        if not kind:
            self._is_behind = True
        for known, ids in self._changed.items():
            if known == kind:
                ids.add(id)
        self._wake.set()

    async def frames(self) -> AsyncGenerator[Frame]:
        """Frames to send, for as long as the caller may read."""
        leave = await self._streams.listen(self)
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                subscription, self._next = self._next, None
                if subscription is not None:
                    yield {"sync_id": subscription.sync_id, "complete": False}
                    async for frame in self._synchronize(subscription):
                        yield frame
                    yield {"sync_id": subscription.sync_id, "complete": True}
                if self._is_behind:
                    async for frame in self._catch_up():
                        yield frame
                async for frame in self._follow():
                    yield frame
        finally:
            leave()

    async def _synchronize(self, subscription: Subscription) -> AsyncGenerator[Frame]:
        """Bring the client from what it knows to what it wants."""
        self._wanted = subscription.wanted
        self._is_behind = False
        for kind in KINDS:
            self._changed[kind].clear()
            known = subscription.known[kind]
            self._sent[kind] = {}
            wanted = subscription.wanted.get(kind)
            if wanted is None:
                continue
            caller = await self._caller()
            numbers = await self._streams.numbers(kind, wanted, caller)
            yield {f"{kind}s_deleted": write_ids(known - numbers.keys())}
            self._sent[kind] = numbers
            news = [i for i, seq in numbers.items() if seq > wanted.since or i not in known]
            for page in _pages(news):
                for entity in await self._streams.entities(kind, wanted, page, caller):
                    self._sent[kind][entity["id"]] = entity["seq"]
                    yield {kind: entity}

    async def _catch_up(self) -> AsyncGenerator[Frame]:
        """Send all again, as it is now: nobody knows which changes were missed."""
        known = {kind: set(ids) for kind, ids in self._sent.items()}
        wanted = {k: msgspec.structs.replace(w, since=-1) for k, w in self._wanted.items()}
        async for frame in self._synchronize(Subscription("", wanted, known)):
            yield frame

    async def _follow(self) -> AsyncGenerator[Frame]:
        """Send what has changed since."""
        for kind in KINDS:
            changed, self._changed[kind] = self._changed[kind], set()
            wanted = self._wanted.get(kind)
            if not changed or wanted is None:
                continue
            for page in _pages(sorted(changed)):
                found = await self._streams.entities(kind, wanted, page, await self._caller())
                sent = self._sent[kind]
                gone = sent.keys() & set(page) - {entity["id"] for entity in found}
                for entity in found:
                    # News of a change may come after the client has it: from a subscription, or
                    # with a later one.
                    if entity["seq"] > sent.get(entity["id"], -1):
                        sent[entity["id"]] = entity["seq"]
                        yield {kind: entity}
                if gone:
                    for id in gone:
                        del sent[id]
                    yield {f"{kind}s_deleted": write_ids(gone)}


def _pages(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + PAGE] for start in range(0, len(ids), PAGE))

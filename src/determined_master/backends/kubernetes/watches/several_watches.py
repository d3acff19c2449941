"""Follows a kind of object in several namespaces as if they were one list."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from determined_master.backends.kubernetes.client import Json, KubernetesApi
from determined_master.backends.kubernetes.options import Times
from determined_master.backends.kubernetes.watches.watch import (
    ObjectChanged,
    ObjectsListed,
    WatchLost,
    follow,
    whole,
)

_Change = ObjectsListed | ObjectChanged | WatchLost


async def follow_all(
    api: KubernetesApi,
    paths: Sequence[str],
    query: Mapping[str, str],
    times: Times,
    keep: Callable[[Json], Any] = whole,
) -> AsyncGenerator[_Change]:
    """As `follow`, of all paths together: they are listed when each of them is.

    Never ends; close it to stop.
    """
    if len(paths) == 1:
        async with contextlib.aclosing(follow(api, paths[0], query, times, keep)) as only:
            async for change in only:
                yield change
    union, changes = _Union(paths), asyncio.Queue[tuple[str, _Change] | Exception]()

    async def collect(path: str) -> None:
        def with_uid(item: Json) -> tuple[str, Any]:
            return str(item["metadata"]["uid"]), keep(item)

        try:
            async with contextlib.aclosing(follow(api, path, query, times, with_uid)) as stream:
                async for change in stream:
                    await changes.put((path, change))
        except Exception as error:  # the caller's, as it would be of one path
            await changes.put(error)

    tasks = [asyncio.create_task(collect(path)) for path in paths]
    try:
        while True:
            event = await changes.get()
            if isinstance(event, Exception):
                raise event
            update = union.take(*event)
            if update is not None:
                yield update
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Union:
    """The objects of several paths. A lost path is unknown until it is listed."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._missing = set(paths)
        self._known: dict[str, dict[str, Any]] = {}

    def take(self, path: str, change: _Change) -> _Change | None:
        """The change of the union; None while the objects of some path are unknown."""
        if isinstance(change, WatchLost):
            self._missing.add(path)
            return change
        if isinstance(change, ObjectsListed):
            self._known[path] = dict(change.items)
            self._missing.discard(path)
            if self._missing:
                return None
            return ObjectsListed([one for items in self._known.values() for one in items.values()])
        uid, item = change.item
        if change.kind == "DELETED":
            self._known[path].pop(uid, None)
        else:
            self._known[path][uid] = item
        return None if self._missing else ObjectChanged(change.kind, item)

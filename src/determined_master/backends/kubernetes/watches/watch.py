"""Follows a kind of object: all existing ones, then every change, without end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Literal

import msgspec

from determined_master.backends.kubernetes.client import (
    Json,
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.options import Times

_PAGE = 100
"""Reading a page holds the loop for about 10 ms."""


class ObjectsListed(msgspec.Struct, frozen=True):
    """All existing objects: others are deleted."""

    items: list[Any]


class ObjectChanged(msgspec.Struct, frozen=True):
    """One object is new, has changed or was deleted."""

    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    item: Any


class WatchLost(msgspec.Struct, frozen=True):
    """The server cannot be reached, or refuses; the watch is retried."""

    reason: str
    is_forbidden: bool = False
    """The account of the master lacks the right."""
    is_missing: bool = False
    """The server does not have objects of that kind."""


def whole(item: Json) -> Json:
    return item


async def follow(
    api: KubernetesApi,
    path: str,
    query: Mapping[str, str],
    times: Times,
    keep: Callable[[Json], Any] = whole,
) -> AsyncGenerator[ObjectsListed | ObjectChanged | WatchLost]:
    """List, watch, and list again after an interrupted watch.

    Never ends; close it to stop. `keep` makes the items of what is yielded of the objects: page by
    page, so that thousands of them never hold the loop for long.
    """
    pauses = times.backoff.pauses()
    while True:
        try:
            items, version = await list_all(api, path, query, keep)
            yield ObjectsListed(items)
            pauses = times.backoff.pauses()
            async with contextlib.aclosing(_watch(api, path, query, version, times)) as changes:
                async for change in changes:
                    yield ObjectChanged(change.kind, keep(change.item))
        except (KubernetesUnreachable, KubernetesRefused) as error:
            if isinstance(error, KubernetesRefused) and error.status == 410:
                await asyncio.sleep(times.backoff.first)
                continue  # too long ago for the server to list the changes
            status = error.status if isinstance(error, KubernetesRefused) else 0
            yield WatchLost(str(error), status == 403, status == 404)
            await asyncio.sleep(next(pauses))


async def list_all(
    api: KubernetesApi,
    path: str,
    query: Mapping[str, str],
    keep: Callable[[Json], Any] = whole,
) -> tuple[list[Any], str]:
    """All objects, and the version from which a watch continues. Raises Unreachable, Refused."""
    items: list[Any] = []
    page = {**query, "limit": str(_PAGE)}
    while True:
        answer = await api.call("GET", path, query=page)
        items += map(keep, answer.get("items") or [])
        meta = answer.get("metadata") or {}
        if not meta.get("continue"):
            return items, str(meta.get("resourceVersion") or "")
        page = {**page, "continue": str(meta["continue"])}


async def _watch(
    api: KubernetesApi, path: str, query: Mapping[str, str], version: str, times: Times
) -> AsyncGenerator[ObjectChanged]:
    """Changes since a version; continues after the server has ended a watch normally.

    Raises:
        Refused: with status 410, when the version is too old. Unreachable: the watch broke.
    """
    while True:
        parameters = {
            **query,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(times.watch_s),
        }
        stream = api.stream(path, parameters, idle_s=times.watch_s + 30)
        rest = b""
        async with contextlib.aclosing(stream) as pieces:
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if not line.strip():
                        continue
                    change = msgspec.json.decode(line)
                    item = change.get("object") or {}
                    if change.get("type") == "ERROR":
                        code = int(item.get("code") or 500)
                        raise KubernetesRefused(
                            code, str(item.get("reason")), str(item.get("message"))
                        )
                    version = str(item.get("metadata", {}).get("resourceVersion") or version)
                    if change.get("type") in ("ADDED", "MODIFIED", "DELETED"):
                        yield ObjectChanged(change["type"], item)

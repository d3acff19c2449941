"""Objects of the fake cluster: versions, selectors, and what happened since when."""

from __future__ import annotations

import asyncio
import copy
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Json = dict[str, Any]


AHEAD_S = 0.0
"""Of the cluster's clock, before that of the master."""


def now() -> datetime:
    """The current instant by the cluster's clock."""
    return datetime.now(UTC) + timedelta(seconds=AHEAD_S)


def now_text(after_s: int = 0) -> str:
    at = now() + timedelta(seconds=after_s)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class Happened(NamedTuple):
    """One change of an object; `before` is None for a new one."""

    version: int
    kind: str
    before: Json | None
    now: Json
    is_gone: bool

    def seen_by(self, namespace: str | None, query: dict[str, str]) -> str:
        """The type of the change for a watch with these selectors; empty for none.

        An object that the selectors take no more is deleted for the watch.
        """
        if namespace not in (None, self.now["metadata"].get("namespace", "")):
            return ""
        was = self.before is not None and matches(self.before, query)
        if not self.is_gone and matches(self.now, query):
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else ""


class Store:
    """All objects, by kind, namespace and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Json] = {}
        self.version = 100
        self.oldest = 0
        """Watches that ask for an older version are told that it is gone."""
        self.happened: list[Happened] = []
        self._last: dict[tuple[str, str], Json] = {}
        self.news = asyncio.Condition()
        self.listeners: list[Callable[[str, str, Json], None]] = []

    async def put(self, kind: str, item: Json) -> Json:
        """Store a new or a changed object."""
        meta = item.setdefault("metadata", {})
        key = (kind, meta.get("namespace", ""), meta["name"])
        what = "MODIFIED" if key in self.objects else "ADDED"
        meta.setdefault("uid", str(uuid.uuid4()))
        meta.setdefault("creationTimestamp", now_text())
        await self._note(what, kind, item)
        self.objects[key] = item
        return copy.deepcopy(item)

    async def remove(self, kind: str, namespace: str, name: str) -> Json | None:
        """Remove an object for good, with the objects that it owns."""
        item = self.objects.pop((kind, namespace, name), None)
        if item is not None:
            await self._note("DELETED", kind, item)
            for owned in [
                k for k, i in self.objects.items() if _owner(i) == item["metadata"]["uid"]
            ]:
                await self.remove(*owned)
        return item

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        return self.objects.get((kind, namespace, name))

    def list(self, kind: str, namespace: str | None, query: dict[str, str]) -> list[Json]:
        """Those that the selectors of a request take."""
        return [
            copy.deepcopy(item)
            for (k, ns, _), item in sorted(self.objects.items())
            if k == kind and namespace in (None, ns) and matches(item, query)
        ]

    async def _note(self, what: str, kind: str, item: Json) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        key, now = (kind, item["metadata"]["uid"]), copy.deepcopy(item)
        before = self._last.get(key)
        self.happened.append(Happened(self.version, kind, before, now, what == "DELETED"))
        self._last[key] = now
        for listener in self.listeners:
            listener(what, kind, item)
        async with self.news:
            self.news.notify_all()


def _owner(item: Json) -> str | None:
    owners = item["metadata"].get("ownerReferences") or [{}]
    found: str | None = owners[0].get("uid")
    return found


def matches(item: Json, query: dict[str, str]) -> bool:
    """Whether label and field selectors take an object."""
    labels = item["metadata"].get("labels") or {}
    for term in filter(None, query.get("labelSelector", "").split(",")):
        key, is_not, value = term.partition("!=")
        if not is_not:
            key, _, value = term.partition("=")
        if (labels.get(key) == value) is bool(is_not):
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        path, is_not, value = term.partition("!=")
        if not is_not:
            path, _, value = term.partition("=")
        found: Any = item
        for part in path.split("."):
            found = (found or {}).get(part)
        if ((found or "") == value) is bool(is_not):
            return False
    return True

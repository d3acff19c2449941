"""Connections to what tasks serve that wait for a next request.

To connect again costs a round trip, with TLS several.

A connection is one service's alone, so what comes over it can only be that service's own answer.
"""

from __future__ import annotations

import asyncio

from determined_master.api.upstream.connection import Upstream
from determined_master.services.tasks.proxies import ServiceTarget

IDLE_S = 10.0
"""Time after which a connection that waits is closed."""
MAX_OF_SERVICE = 8
MAX_WAITING = 256
"""Of all services: each is an open file."""
ConnectionKey = tuple[str, str]


class IdleConnections:
    """The connections that wait, the latest one used first."""

    def __init__(self) -> None:
        self._waiting: dict[ConnectionKey, list[Upstream]] = {}
        self._timers: dict[Upstream, asyncio.TimerHandle] = {}
        self._watched: set[ConnectionKey] = set()
        """Connections with a callback for their end."""

    def __len__(self) -> int:
        return len(self._timers)

    def take(self, target: ServiceTarget) -> Upstream | None:
        """A connection to a service, whose server has not closed it so far; the caller's now."""
        key = _key_of(target)
        while key in self._waiting:
            upstream = self._remove(key, self._waiting[key][-1])
            if upstream.is_alive:
                return upstream
            upstream.drop()
        return None

    def put(self, target: ServiceTarget, upstream: Upstream, ending: asyncio.Future[None]) -> None:
        """Keep a connection until it is wanted, waits too long or its allocation has ended.

        Args:
            target: the service that it leads to.
            upstream: without a request in progress.
            ending: is done when the allocation has ended.
        """
        key = _key_of(target)
        waiting = self._waiting.get(key, [])
        is_full = len(waiting) >= MAX_OF_SERVICE or len(self) >= MAX_WAITING
        if is_full or ending.done() or not upstream.is_alive:
            upstream.drop()
            return
        if key not in self._watched:
            self._watched.add(key)
            ending.add_done_callback(lambda _: self._end(key))
        self._waiting[key] = waiting
        waiting.append(upstream)
        loop = asyncio.get_running_loop()
        self._timers[upstream] = loop.call_later(IDLE_S, self._expire, key, upstream)

    def close(self) -> None:
        """Close all of them."""
        for key in list(self._waiting):
            self._end(key)

    def _expire(self, key: ConnectionKey, upstream: Upstream) -> None:
        self._remove(key, upstream).drop()

    def _end(self, key: ConnectionKey) -> None:
        self._watched.discard(key)
        for upstream in list(self._waiting.get(key, ())):
            self._remove(key, upstream).drop()

    def _remove(self, key: ConnectionKey, upstream: Upstream) -> Upstream:
        self._timers.pop(upstream).cancel()
        self._waiting[key].remove(upstream)
        if not self._waiting[key]:
            del self._waiting[key]
        return upstream


def _key_of(target: ServiceTarget) -> ConnectionKey:
    return target.allocation_id, target.service_id

"""The requests of one pool, kept in the order of the queue from plan to plan."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from determined_master.domain.schedule.ordering import queue_key

if TYPE_CHECKING:
    from determined_master.domain.schedule.ordering import QueueKey
    from determined_master.domain.schedule.view import RequestView

MANY = 8
"""Number of changed requests from which sorting all costs less than placing each."""


class PendingQueue:
    """Requests in the order of `queue_key`; to sort them again costs a scheduler next to nothing.

    Cost: O(1) per change. Listing all costs O(log n) comparisons for each request added or removed
    since, and a copy of the list. Keys are unique because they contain the request's id.
    """

    def __init__(self) -> None:
        self._keys: list[QueueKey] = []
        self._requests: list[RequestView] = []
        """Sorted by key, as of the last listing."""
        self._key_of: dict[str, QueueKey] = {}
        self._new: dict[str, RequestView] = {}
        self._gone: set[str] = set()
        self._ordered: tuple[RequestView, ...] | None = ()

    def put(self, request: RequestView) -> None:
        """Add a request; replaces the one with the same id."""
        self._gone.add(request.allocation_id)
        self._new[request.allocation_id] = request
        self._ordered = None

    def drop(self, allocation_id: str) -> None:
        """Remove a request, if present."""
        self._gone.add(allocation_id)
        self._new.pop(allocation_id, None)
        self._ordered = None

    def requests(self) -> tuple[RequestView, ...]:
        """All requests, the next one first."""
        if self._ordered is None:
            if MANY * (len(self._gone) + len(self._new)) > len(self._keys):
                self._sort()
            else:
                self._place()
            self._new, self._gone = {}, set()
            self._ordered = tuple(self._requests)
        return self._ordered

    def _sort(self) -> None:
        gone = self._gone
        left = [r for r in self._requests if r.allocation_id not in gone]
        entries = sorted((queue_key(r), r) for r in (*left, *self._new.values()))
        self._keys, self._requests = [key for key, _ in entries], [r for _, r in entries]
        self._key_of = {key[-1]: key for key in self._keys}

    def _place(self) -> None:
        keys, requests, key_of = self._keys, self._requests, self._key_of
        for allocation_id in self._gone:
            key = key_of.pop(allocation_id, None)
            if key is not None:
                at = bisect_left(keys, key)
                del keys[at], requests[at]
        for request in self._new.values():
            key = key_of[request.allocation_id] = queue_key(request)
            at = bisect_left(keys, key)
            keys.insert(at, key)
            requests.insert(at, request)

"""What waits in one pool, kept in the order of the queue from plan to plan."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from determined_master.domain.schedule.ordering import queue_key

if TYPE_CHECKING:
    from determined_master.domain.schedule.ordering import Key
    from determined_master.domain.schedule.view import RequestView


class Line:
    """Requests in the order of `queue_key`; to sort them again costs a scheduler next to nothing.

    Cost: O(1) a change; O(n) for all of them, when something has changed since they were last
    asked for, with few comparisons: what is new is merged into what is in order.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[Key, RequestView]] = []
        """As they were when they were last asked for."""
        self._new: dict[str, RequestView] = {}
        self._gone: set[str] = set()
        self._ordered: tuple[RequestView, ...] | None = ()

    def put(self, request: RequestView) -> None:
        """Let it wait, in place of what waits by the same id."""
        self._gone.add(request.allocation_id)
        self._new[request.allocation_id] = request
        self._ordered = None

    def drop(self, allocation_id: str) -> None:
        """It waits no more, if it did."""
        self._gone.add(allocation_id)
        self._new.pop(allocation_id, None)
        self._ordered = None

    def requests(self) -> tuple[RequestView, ...]:
        """All of them, who is next first."""
        if self._ordered is None:
            gone = self._gone
            entries = [e for e in self._entries if e[1].allocation_id not in gone]
            entries += [(queue_key(r), r) for r in self._new.values()]
            entries.sort(key=itemgetter(0))
            self._entries, self._new, self._gone = entries, {}, set()
            self._ordered = tuple([r for _, r in entries])
        return self._ordered

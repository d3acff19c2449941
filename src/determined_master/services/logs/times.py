"""Times of the lines of long logs: the parts of a log that a filter by time has to read.

Lines are read in the order of their numbers, and numbers follow times only roughly: an agent that
was away sends its lines later, and clients may post any time. So the earliest and the latest time
of each 10,000 lines decide whether a part may hold lines that are wanted. Without them, a page
from the middle of 10,000,000 lines reads half of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec

from determined_master import clock
from determined_master.store.logs import parts as rows
from determined_master.store.logs.parts import LogPart

if TYPE_CHECKING:
    from determined_master.records.logs import LogFilter
    from determined_master.store.db import Database

PART_LINES = 10_000
SETTLED = timedelta(seconds=60)
"""Lines that were drawn before one of this age are committed (see `following.Follower`)."""
CHECK_S = 10.0
"""Between two looks for further parts of a task."""
MAX_TASKS = 100

Span = tuple[int, int | None]
"""Lines above the first number, and up to the other; None without an end."""


class _Times(msgspec.Struct):
    """The parts of one task's log that are known."""

    parts: list[LogPart] = msgspec.field(default_factory=list)
    checked_s: float = -CHECK_S

    @property
    def last_id(self) -> int:
        """The last line of the last part."""
        return self.parts[-1].last_id if self.parts else 0


class LogTimes:
    """The times of tasks' lines; found out when a filter by time first needs them."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: OrderedDict[str, _Times] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def spans(self, task_ids: Sequence[str], wanted: LogFilter) -> list[Span]:
        """The parts of the tasks' logs that may hold wanted lines, in order and apart."""
        if wanted.after is None and wanted.before is None:
            return [(0, None)]
        found: list[Span] = []
        for task_id in task_ids:
            found += _spans_of(await self._of(task_id), wanted)
        return _joined(found)

    async def _of(self, task_id: str) -> _Times:
        """The parts of a task, and those that have come since."""
        times = self._known.setdefault(task_id, _Times())
        self._known.move_to_end(task_id)
        while len(self._known) > MAX_TASKS:
            self._known.popitem(last=False)
        async with self._locks.setdefault(task_id, asyncio.Lock()):
            if clock.monotonic_s() < times.checked_s + CHECK_S:
                return times
            while True:  # a connection is held for one part at a time
                async with self._db.acquire() as conn:
                    part = await rows.find_part(
                        conn, task_id, times.last_id, PART_LINES, clock.now() - SETTLED
                    )
                if part is None:
                    break
                times.parts.append(part)
            times.checked_s = clock.monotonic_s()
        return times


def _spans_of(times: _Times, wanted: LogFilter) -> list[Span]:
    spans: list[Span] = []
    low = 0
    for part in times.parts:
        is_early = wanted.after is not None and part.last_at <= wanted.after
        is_late = wanted.before is not None and part.first_at >= wanted.before
        if not (is_early or is_late):
            spans.append((low, part.last_id))
        low = part.last_id
    return [*spans, (low, None)]


def _joined(spans: Sequence[Span]) -> list[Span]:
    """The same lines in as few spans as possible, in order."""
    joined: list[Span] = []
    for low, high in sorted(spans, key=lambda span: span[0]):
        if joined and (joined[-1][1] is None or low <= joined[-1][1]):
            before_low, before_high = joined[-1]
            is_open = before_high is None or high is None
            joined[-1] = (before_low, None if is_open else max(before_high or 0, high or 0))
        else:
            joined.append((low, high))
    return joined

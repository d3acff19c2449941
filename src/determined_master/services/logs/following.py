"""Following logs: which lines a follower has been sent, and which came late.

A line's number is drawn before its commit, so lines of other transactions may appear below the
last one sent. A follower looks back for them, at numbers alone: to read the lines themselves
again cost each of fifty followers of a busy task twenty thousand lines at every wake.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.records.logs import LogFilter, LogRow
from determined_master.store.logs import task_logs as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.services.logs.searches import LogSearches
    from determined_master.services.logs.times import LogTimes

PAGE = 1000
LOOK_BACK_S = 1.0
"""Between two looks for lines that came late."""


class LinesAsked(msgspec.Struct, frozen=True):
    """The lines that a request asks for, and where they are read: searches have their own."""

    db: asyncpg.Pool
    searches: LogSearches
    user_id: int
    task_ids: Sequence[str]
    wanted: LogFilter
    times: LogTimes

    async def page(
        self, beyond: int | None, *, limit: int, newest_first: bool = False
    ) -> list[LogRow]:
        """The next lines after a number (before it, newest first)."""
        spans = await self.times.spans(self.task_ids, self.wanted)
        found: list[LogRow] = []
        for low, high in reversed(spans) if newest_first else spans:
            if newest_first:
                start = _least(beyond, None if high is None else high + 1)
                end = low + 1 if low else None
                is_over = start is not None and start <= low + 1
            else:
                start = max(beyond or 0, low) or None
                end = high
                is_over = end is not None and start is not None and start >= end
            if not is_over:
                found += await self._between(start, end, limit - len(found), newest_first)
            if len(found) >= limit:
                break
        return found

    async def _between(
        self, beyond: int | None, until: int | None, limit: int, newest_first: bool
    ) -> list[LogRow]:
        """The next lines from one number to another."""
        if self.wanted.search_text:
            return await self.searches.page(
                self.user_id,
                self.task_ids,
                self.wanted,
                beyond=beyond,
                until=until,
                limit=limit,
                newest_first=newest_first,
            )
        async with self.db.acquire() as conn:
            return await rows.list_lines(
                conn,
                self.task_ids,
                self.wanted,
                beyond=beyond,
                until=until,
                limit=limit,
                newest_first=newest_first,
            )

    async def ids(self, between: tuple[int, int]) -> list[int]:
        """The numbers of lines above the first of these numbers and up to the other."""
        if self.wanted.search_text:
            return await self.searches.ids(self.user_id, self.task_ids, self.wanted, between)
        async with self.db.acquire() as conn:
            return await rows.list_ids(conn, self.task_ids, self.wanted, between=between)

    async def by_ids(self, ids: Sequence[int]) -> list[LogRow]:
        """These lines."""
        async with self.db.acquire() as conn:
            return await rows.list_by_ids(conn, self.task_ids, ids)


def _least(one: int | None, other: int | None) -> int | None:
    """The lesser of two numbers that may not be there."""
    given = [number for number in (one, other) if number is not None]
    return min(given, default=None)


class Follower:
    """The lines of some tasks, each once, with the position of each follower."""

    OVERLAP = 20_000
    """How many numbers below the newest are checked again, at most."""
    SETTLED_S = 60.0
    """Lines drawn before one that was sent this long ago are committed by now."""

    def __init__(self, asked: LinesAsked) -> None:
        self._asked = asked
        self.count = 0
        """How many lines were sent."""
        self.floor = 0
        """Below it all is settled."""
        self._newest = 0
        self._recent: set[int] = set()
        """The numbers of those above the floor that were sent, and of some below it."""
        self._marks: deque[tuple[float, int]] = deque()
        """When, at most once a second, and what had been the newest line then."""
        self._looked_back_s = -LOOK_BACK_S

    async def pages(self, *, is_over: bool) -> AsyncIterator[list[LogRow]]:
        """Pages of lines that were not sent, those that came late before the new ones.

        Args:
            is_over: no line comes after those that there are: look back in any case.
        """
        if is_over or self.is_to_look_back():
            self._looked_back_s = clock.monotonic_s()
            async for page in self._late():
                self.add(page)
                yield page
        page = await self._asked.page(self._newest, limit=PAGE)
        while page:
            self.add(page)
            yield page
            if len(page) < PAGE:
                return
            page = await self._asked.page(page[-1].id, limit=PAGE)

    def is_to_look_back(self) -> bool:
        """Whether the last look back is long enough ago."""
        return clock.monotonic_s() >= self._looked_back_s + LOOK_BACK_S

    def add(self, page: Sequence[LogRow]) -> None:
        """Note that a page was sent."""
        now_s = clock.monotonic_s()
        self.count += len(page)
        self._recent.update(row.id for row in page)
        self._newest = max(self._newest, page[-1].id)
        if not self._marks or self._marks[-1][0] < now_s - 1:
            self._marks.append((now_s, self._newest))
        self.floor = max(self.floor, self._newest - self.OVERLAP)
        while self._marks and self._marks[0][0] < now_s - self.SETTLED_S:
            self.floor = max(self.floor, self._marks.popleft()[1])
        if len(self._recent) > 2 * self.OVERLAP:
            self._recent = {i for i in self._recent if i > self.floor}

    async def _late(self) -> AsyncIterator[list[LogRow]]:
        if self._newest == self.floor:
            return
        there = await self._asked.ids((self.floor, self._newest))
        late = [i for i in there if i not in self._recent]
        for start in range(0, len(late), PAGE):
            page = await self._asked.by_ids(late[start : start + PAGE])
            if page:
                yield page

"""Searches in the lines of tasks: in slices, on connections of their own, with a share per user.

A search may read a whole log of gigabytes. A slice is bounded in lines and time, and a user has
one at work at a time, so that searches of one user delay neither other requests nor other users.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from determined_master.domain.errors import InvalidArgument, ResourceExhausted
from determined_master.store.logs import task_logs as rows

if TYPE_CHECKING:
    from determined_master.records.logs import LogFilter, LogRow
    from determined_master.store.db import Conn, Database

SLICE_LINES = 20_000
LEAST_LINES = 100
"""A slice that takes too long is halved down to this."""
SLICE_S = 5.0
CONNECTIONS = 2
MAX_PATTERN = 1000
"""Characters."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_DIRECTOR = re.compile(r"\*\*\*|\(\?[a-z]*b")
"""At the start of a pattern: another syntax of PostgreSQL, with other back references."""


class _Turn(msgspec.Struct):
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    count: int = 0
    """Searches that use the lock or wait for it."""


class LogSearches:
    """Pages of lines that contain a text or match a pattern. Call `close` at the end.

    Args:
        open_pool: opens the connections, with a limit of `SLICE_S` for each statement; called by
            the first search.
    """

    def __init__(self, open_pool: Callable[[], Awaitable[Database]]) -> None:
        self._open = open_pool
        self._pool: Database | None = None
        self._opening = asyncio.Lock()
        self._turns: dict[int, _Turn] = {}

    def close(self) -> None:
        """End the connections."""
        if self._pool is not None:
            self._pool.terminate()

    async def page(
        self,
        user_id: int,
        task_ids: Sequence[str],
        wanted: LogFilter,
        *,
        beyond: int | None = None,
        until: int | None = None,
        limit: int,
        newest_first: bool = False,
    ) -> list[LogRow]:
        """The next lines that match, as `store.task_logs.list_lines`.

        Raises:
            InvalidArgument: the pattern cannot be used.
            ResourceExhausted: it takes too long for a few lines.
        """
        check_pattern(wanted)
        found: list[LogRow] = []
        size: int = SLICE_LINES
        while True:
            async with self._turn(user_id) as conn:
                end = await rows.find_slice_end(
                    conn, task_ids, beyond=beyond, size=size, newest_first=newest_first
                )
                is_last = end is None or _is_past(end, until, newest_first=newest_first)
                end = until if is_last else end
                try:
                    found += await rows.list_lines(
                        conn,
                        task_ids,
                        wanted,
                        beyond=beyond,
                        until=end,
                        limit=limit - len(found),
                        newest_first=newest_first,
                    )
                except asyncpg.QueryCanceledError as error:
                    if size <= LEAST_LINES:
                        raise _too_slow(wanted, size) from error
                    size //= 2
                    continue
                except asyncpg.InvalidRegularExpressionError as error:
                    raise _invalid(wanted, str(error)) from error
            if is_last or len(found) >= limit:
                return found
            beyond = end

    async def ids(
        self, user_id: int, task_ids: Sequence[str], wanted: LogFilter, between: tuple[int, int]
    ) -> list[int]:
        """Numbers of lines that match, as `store.task_logs.list_ids`; errors as `page`."""
        check_pattern(wanted)
        async with self._turn(user_id) as conn:
            try:
                return await rows.list_ids(conn, task_ids, wanted, between=between)
            except asyncpg.QueryCanceledError as error:
                raise _too_slow(wanted, between[1] - between[0]) from error
            except asyncpg.InvalidRegularExpressionError as error:
                raise _invalid(wanted, str(error)) from error

    @contextlib.asynccontextmanager
    async def _turn(self, user_id: int) -> AsyncIterator[Conn]:
        """A connection, once no other search of the user has one."""
        turn = self._turns.setdefault(user_id, _Turn())
        turn.count += 1
        try:
            async with turn.lock, (await self._connections()).acquire() as conn:
                yield conn
        finally:
            turn.count -= 1
            if not turn.count:
                del self._turns[user_id]

    async def _connections(self) -> Database:
        async with self._opening:
            if self._pool is None:
                self._pool = await self._open()
            return self._pool


def _is_past(end: int, until: int | None, *, newest_first: bool) -> bool:
    """Whether a slice reaches the last line that is asked for."""
    if until is None:
        return False
    return end <= until if newest_first else end >= until


def check_pattern(wanted: LogFilter) -> None:
    """Check a pattern before it reaches the database.

    Raises:
        InvalidArgument: it is too long, or has back references, whose time has no bound.
    """
    if not wanted.is_regex:
        return
    pattern = wanted.search_text
    if len(pattern) > MAX_PATTERN:
        raise _invalid(wanted, f"it has {len(pattern)} characters, at most {MAX_PATTERN} are read")
    if any(match[1] in "123456789" for match in _ESCAPED.finditer(pattern)):
        raise _invalid(wanted, "back references are not supported: write the text out")
    if _DIRECTOR.match(pattern):
        raise _invalid(wanted, "it must not begin with *** or (?b")


def _invalid(wanted: LogFilter, why: str) -> InvalidArgument:
    return InvalidArgument(f"the pattern {wanted.search_text[:100]!r} cannot be used: {why}")


def _too_slow(wanted: LogFilter, lines: int) -> ResourceExhausted:
    return ResourceExhausted(
        f"the search for {wanted.search_text[:100]!r} took longer than {SLICE_S:g} s for {lines} "
        "lines: use a simpler pattern, or filter by time or rank"
    )

"""Use cases of task logs: storing them, reading and following them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, nullcontext
from typing import TYPE_CHECKING, Protocol

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.log_lines import LEVEL_NUMBERS, storable
from determined_master.ports.orders import LogPlace, StoredOutput, TaskNote
from determined_master.records.logs import LogFilter, LogRow
from determined_master.services.logs import incoming
from determined_master.services.logs.fields import Fields, KnownValues, follow_fields, read_fields
from determined_master.services.logs.following import LOOK_BACK_S, PAGE, Follower, LinesAsked
from determined_master.services.logs.incoming import PostedLine
from determined_master.services.logs.news import POLL_S, LogNews
from determined_master.services.logs.times import LogTimes
from determined_master.store.logs import cursors
from determined_master.store.logs import task_logs as rows
from determined_master.store.tasks import tasks
from determined_master.store.workspaces.owners import find_workspaces

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.task.tracebacks import TailLine
    from determined_master.services.logs.searches import LogSearches
    from determined_master.store.logs.log_values import LogValue
    from determined_wire.agent_link import LogBatch

FOLLOW_EVERY_S = 0.1
"""It looks no more often, however busy its tasks are: fifty may follow one."""


class LineWatcher(Protocol):
    """Acts on the lines of tasks."""

    async def look_at(self, task_id: str, agent_id: str | None, lines: Sequence[str]) -> None:
        """Act on stored lines; what was acted on may come again, and changes nothing."""
        ...


class TaskLogs:
    """Lines of tasks."""

    def __init__(
        self,
        db: asyncpg.Pool,
        watchers: Sequence[LineWatcher],
        searches: LogSearches,
        on_lines: Callable[[str], None] = lambda task_id: None,
    ) -> None:
        """`on_lines` gets each task that may have new lines; it must not block."""
        self._db = db
        self._watchers = watchers
        self._searches = searches
        self._times = LogTimes(db)
        self._news = LogNews(on_lines)
        self._known = KnownValues()

    async def store_batch(
        self, agent_id: str, batch: LogBatch, place: LogPlace | None = None
    ) -> int:
        """Store an agent's lines, each number once, and their place in the log of a pod.

        Returns:
            The number of the last stored line, after its commit.
        """
        logs: list[str] = []
        values: set[LogValue] = set()
        async with self._db.acquire() as conn, conn.transaction():
            last = await cursors.lock_cursor(conn, batch.container_id, batch.task_id)
            for lines in incoming.in_pieces(incoming.rows_of_batch(agent_id, batch)):
                fresh = lines[max(0, last + 1 - batch.first_seq - len(logs)) :]
                if fresh:
                    values |= await rows.copy_lines(conn, fresh, self._known.stored)
                logs += [row[-1] for row in lines]
            newest = max(last, batch.first_seq + len(logs) - 1)
            await cursors.update_cursor(conn, batch.container_id, newest, place)
        self._known.add(values)
        # All of it, including stored lines, which may not have been matched.
        await self._look_at(batch.task_id, agent_id, logs)
        if batch.is_last:
            async with self._db.acquire() as conn:
                await cursors.complete_cursors(conn, [batch.container_id])
        self.notify(batch.task_id)
        return newest

    async def _look_at(self, task_id: str, agent_id: str | None, logs: Sequence[str]) -> None:
        for watcher in self._watchers:
            await watcher.look_at(task_id, agent_id, logs)

    async def stored_output(self, task_id: str, container_id: str) -> StoredOutput:
        """How much of a container's output is stored."""
        async with self._db.acquire() as conn:
            cursor = await cursors.find_cursor(conn, container_id)
            if cursor is None:
                return StoredOutput()
            last_seq, place = cursor
            if place is not None:
                return StoredOutput(last_seq=last_seq, place=place)
            times = await cursors.find_times(conn, task_id, container_id)  # stored without a place
        if times is None:
            return StoredOutput()
        first_us, last_us = map(incoming.microseconds, times)
        return StoredOutput(last_seq=last_seq, place=LogPlace.whole(last_seq, first_us, last_us))

    async def tail(self, task_id: str, container_id: str) -> list[TailLine]:
        """The last lines that a container's program has written, of those stored by now."""
        async with self._db.acquire() as conn:
            return await rows.list_tail(conn, task_id, container_id)

    async def note(self, note: TaskNote) -> None:
        """Store a line that a backend adds to a task's log; one with a key once."""
        ids = (note.task_id, note.allocation_id, note.agent_id, note.container_id)
        level = LEVEL_NUMBERS[note.level]
        text = storable(note.text) + "\n"
        row = (*ids, None, note.at or clock.now(), level, "agent", "stdout", text)
        async with self._db.acquire() as conn, conn.transaction():
            if note.key and not await rows.insert_told(conn, note.task_id, note.key):
                return
            await rows.copy_lines(conn, [row], self._known.stored)
        self.notify(note.task_id)

    async def expect(self, container_id: str, task_id: str) -> None:
        """Expect lines of a container, though it may have ended: followers wait for the last."""
        async with self._db.acquire() as conn:
            await cursors.lock_cursor(conn, container_id, task_id)

    async def give_up(self, container_ids: Sequence[str]) -> None:
        """Expect no further lines of containers whose agent is lost: nobody waits for them."""
        async with self._db.acquire() as conn:
            await cursors.complete_cursors(conn, container_ids)

    async def post(self, caller: Caller, lines: Sequence[PostedLine]) -> None:
        """Store lines that a task or a client posts; returns after their commit.

        Raises:
            InvalidArgument: they are of several tasks. NotFound: the caller sees no such task.
            PermissionDenied: it is another user's.
        """
        if not lines:
            return
        task_ids = {line.task_id for line in lines}
        if len(task_ids) > 1:
            raise InvalidArgument(
                f"task logs in one request must all be of one task: these are of {len(task_ids)}, "
                "send a request for each"
            )
        [task_id] = task_ids
        access.may(caller, "report", "task")
        now = clock.now()
        logs: list[str] = []
        values: set[LogValue] = set()
        async with self._db.acquire() as conn:
            where = await find_workspaces(conn, "task", [task_id])
            missing = f"task '{task_id}' not found"
            if task_id not in where:
                raise NotFound(missing)
            access.may_see(caller, "task", where[task_id], missing)
            owner_id = await tasks.find_user(conn, task_id)
            access.may(caller, "report", "log", owner_id=owner_id, workspace_id=where[task_id])
            pieces = incoming.in_pieces(
                row for line in lines for row in incoming.rows_of_post(line, now)
            )
            async with nullcontext() if incoming.is_one_piece(lines) else conn.transaction():
                for records in pieces:
                    values |= await rows.copy_lines(conn, records, self._known.stored)
                    logs += [row[-1] for row in records]
        self._known.add(values)
        await self._look_at(task_id, lines[0].agent_id, logs)
        self.notify(task_id)

    def _asked(self, caller: Caller, task_ids: Sequence[str], wanted: LogFilter) -> LinesAsked:
        return LinesAsked(self._db, self._searches, caller.user_id, task_ids, wanted, self._times)

    def notify(self, task_id: str) -> None:
        """Wake those who follow a task."""
        self._news.notify(task_id)

    async def read(
        self,
        caller: Caller,
        task_ids: Sequence[str],
        wanted: LogFilter,
        *,
        limit: int = 0,
        newest_first: bool = False,
    ) -> AsyncIterator[list[LogRow]]:
        """Pages of stored lines; `limit` 0 means all. Errors of a search as in `LogSearches`."""
        access.may(caller, "read", "task")
        beyond, left = None, limit
        while limit == 0 or left > 0:
            size = PAGE if limit == 0 else min(PAGE, left)
            asked = self._asked(caller, task_ids, wanted)
            page = await asked.page(beyond, limit=size, newest_first=newest_first)
            if page:
                yield page
            if len(page) < size:
                return
            beyond, left = page[-1].id, left - len(page)

    async def follow(
        self, caller: Caller, task_ids: Sequence[str], wanted: LogFilter, *, limit: int = 0
    ) -> AsyncIterator[list[LogRow]]:
        """Pages of lines as they come, until the tasks have ended and all of it is stored."""
        access.may(caller, "read", "task")
        asked = self._asked(caller, task_ids, wanted)
        follower = Follower(asked)
        looks_back = False

        def within_s() -> float:
            return POLL_S if looks_back else LOOK_BACK_S

        wakes = self._news.wakes(task_ids, every_s=FOLLOW_EVERY_S, within_s=within_s)
        async with aclosing(wakes):
            async for _ in wakes:
                async with self._db.acquire() as conn:
                    is_over = await cursors.is_complete(conn, task_ids)
                looks_back = follower.is_to_look_back()
                async for page in follower.pages(is_over=is_over):
                    if limit and follower.count >= limit:
                        yield page[: len(page) - follower.count + limit]
                        return
                    yield page
                if is_over:
                    return

    async def fields(
        self, caller: Caller, task_ids: Sequence[str], *, follow: bool = False
    ) -> AsyncIterator[Fields]:
        """Values that lines can be filtered by; with `follow`, again when there are new ones."""
        access.may(caller, "read", "task")
        if not follow:
            yield await read_fields(self._db, task_ids)
            return
        async with aclosing(follow_fields(self._db, self._news, task_ids)) as found:
            async for fields in found:
                yield fields

    def forget_values(self) -> None:
        """Note that lines were removed, and their values to filter by."""
        self._known.forget()

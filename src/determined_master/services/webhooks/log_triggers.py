"""Looks for the patterns of webhooks in the lines of tasks."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock, entropy
from determined_master.domain.patterns import PatternSet
from determined_master.domain.webhooks.events import ReportedLog, WebhookEvent
from determined_master.store.webhooks import deliveries as rows
from determined_master.store.workspaces.owners import find_workspaces

if TYPE_CHECKING:
    import asyncpg

    from determined_master.records.webhooks import LogTriggerRow

MAX_KNOWN_TASKS = 5000
LINES_AT_ONCE = 1000
"""To look through more would hold the loop."""
MAX_LINE = 2000
"""Characters of a reported line."""
FORGOTTEN_AFTER_S = 60.0
"""Patterns of a task are read again then: it may move to another workspace, and
a master that led in between may have changed webhooks."""


class _Watched(msgspec.Struct):
    """The patterns that were not found in a task yet."""

    triggers: list[LogTriggerRow]
    patterns: PatternSet
    read_s: float


class LogTriggers:
    """One set of patterns a task; each is reported once a task."""

    def __init__(self, db: asyncpg.Pool, on_match: Callable[[], None]) -> None:
        """`on_match` is called after each report."""
        self._db = db
        self._on_match = on_match
        self._is_needed = False
        self._asked_s: float | None = None
        self._known: OrderedDict[str, _Watched] = OrderedDict()

    def forget(self) -> None:
        """A webhook has changed."""
        self._asked_s = None
        self._known.clear()

    async def look_at(self, task_id: str, agent_id: str | None, lines: Sequence[str]) -> None:
        """Report the lines that match."""
        now_s = clock.monotonic_s()
        if self._asked_s is None or now_s - self._asked_s > FORGOTTEN_AFTER_S:
            async with self._db.acquire() as conn:
                self._is_needed = await rows.has_log_triggers(conn)
            self._asked_s = now_s
        if not self._is_needed:
            return
        watched = await self._watched(task_id)
        for start in range(0, len(lines), LINES_AT_ONCE):
            if not watched.triggers:
                return
            if start:
                await asyncio.sleep(0)  # what else waits comes first
            some = [line.rstrip("\r\n") for line in lines[start : start + LINES_AT_ONCE]]
            if watched.patterns.may_match(some):
                await self._report(watched, task_id, agent_id or "", some)

    async def _report(
        self, watched: _Watched, task_id: str, agent_id: str, lines: Sequence[str]
    ) -> None:
        """Report the first match of each pattern, and watch for the others only."""
        first: dict[int, str] = {}
        for line in lines:
            for index in watched.patterns.match(line):
                first.setdefault(index, line)
        now = clock.now()
        for index, line in first.items():
            trigger = watched.triggers[index]
            event = WebhookEvent(
                id=str(entropy.new_uuid()),
                type="log",
                at=int(now.timestamp()),
                condition={"regex": trigger.regex},
                log=ReportedLog(task_id, agent_id, line[:MAX_LINE] + "\n"),
            )
            async with self._db.acquire() as conn:
                await rows.insert_match(conn, trigger.id, task_id, event, now)
            self._on_match()
        watched.triggers = [t for i, t in enumerate(watched.triggers) if i not in first]
        watched.patterns = PatternSet([t.regex for t in watched.triggers])

    async def _watched(self, task_id: str) -> _Watched:
        now_s = clock.monotonic_s()
        known = self._known.get(task_id)
        if known is not None and now_s - known.read_s < FORGOTTEN_AFTER_S:
            return known
        async with self._db.acquire() as conn:
            where = await find_workspaces(conn, "task", [task_id])
            triggers = await rows.list_log_triggers(conn, task_id, where.get(task_id, 0))
        made = _Watched(triggers, PatternSet([t.regex for t in triggers]), now_s)
        self._known[task_id] = made
        self._known.move_to_end(task_id)
        if len(self._known) > MAX_KNOWN_TASKS:
            self._known.popitem(last=False)
        return made

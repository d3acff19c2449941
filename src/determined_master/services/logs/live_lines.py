"""The lines of tasks for the live channel: which lines follow a position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from determined_master.domain.updates.log_position import LinePosition
from determined_master.records.logs import LogRow
from determined_master.store.logs import live_lines as rows
from determined_master.store.logs.cursors import is_complete

if TYPE_CHECKING:
    from determined_master.store.db import Database

OVERLAP = 20_000
"""How many numbers below the newest line are looked at again, at most."""


class LiveLines:
    """Reads lines; implements `services.updates.live.log_channel.LineSource`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def end(self, task_id: str) -> LinePosition:
        """The position after all lines that are stored; those that come late are after it."""
        async with self._db.acquire() as conn:
            newest, snapshot = await rows.find_end(conn, task_id)
        return LinePosition(newest, max(0, newest - OVERLAP), snapshot)

    async def is_over(self, task_id: str) -> bool:
        """Whether the task has ended and all of its lines are stored."""
        async with self._db.acquire() as conn:
            return await is_complete(conn, [task_id])

    async def read(
        self, task_id: str, position: LinePosition, until: LinePosition | None, limit: int
    ) -> tuple[Sequence[LogRow], LinePosition] | None:
        """The next lines and the position after them; None if the position is too old.

        Args:
            task_id: whose lines.
            position: what was sent.
            until: only lines that were sent at this position; None for all.
            limit: of lines after the newest one; those that came late are returned with them.
        """
        async with self._db.acquire() as conn:
            found, snapshot = await rows.list_unsent(
                conn, task_id, position, until, max_late=OVERLAP + 1, limit=limit
            )
        late = sum(row.id <= position.newest for row in found)
        if late > OVERLAP:
            return None
        if until is not None and len(found) - late < limit:
            return found, until
        if not found:
            return found, position
        newest = max(position.newest, found[-1].id)
        floor = max(position.floor, newest - OVERLAP)
        return found, LinePosition(newest, floor, snapshot if until is None else until.snapshot)

"""The values that the lines of tasks can be filtered by: known, read and followed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence, Set
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from determined_master.services.logs.news import POLL_S
from determined_master.store.logs import cursors, log_values

if TYPE_CHECKING:
    from determined_master.services.logs.news import LogNews
    from determined_master.store.db import Database
    from determined_master.store.logs.log_values import LogValue

Fields = dict[str, list[Any]]
"""Values by the name of their field in an answer."""

MAX_KNOWN = 100_000
"""About 30 MB; the lines of a task that runs have about eight values."""
MAX_VALUE_LENGTH = 200
FOLLOW_EVERY_S = 1.0
"""A follower looks no more often: values are new only when a container starts."""


class KnownValues:
    """Values that are stored, so that most lines are stored without asking for their values."""

    def __init__(self) -> None:
        self.stored: set[LogValue] = set()

    def add(self, values: Set[LogValue]) -> None:
        """Remember values whose transaction has committed, as far as there is room."""
        if len(self.stored) + len(values) > MAX_KNOWN:
            self.stored.clear()
        if len(values) <= MAX_KNOWN:
            self.stored.update(value for value in values if len(value[-1]) <= MAX_VALUE_LENGTH)

    def forget(self) -> None:
        """Take no value for stored: some were removed."""
        self.stored.clear()


async def read_fields(db: Database, task_ids: Sequence[str]) -> Fields:
    """The values of tasks' lines."""
    async with db.acquire() as conn:
        return await log_values.list_values(conn, task_ids)


async def follow_fields(
    db: Database, news: LogNews, task_ids: Sequence[str]
) -> AsyncGenerator[Fields, None]:
    """All values, and all again when there are new ones, until the last line is stored."""
    sent = None
    wakes = news.wakes(task_ids, every_s=FOLLOW_EVERY_S, within_s=lambda: POLL_S)
    async with aclosing(wakes):
        async for _ in wakes:
            async with db.acquire() as conn:
                is_over = await cursors.is_complete(conn, task_ids)
                fields = await log_values.list_values(conn, task_ids)
            if fields != sent:
                yield fields
                sent = fields
            if is_over:
                return

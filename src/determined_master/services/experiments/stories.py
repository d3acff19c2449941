"""Stories of trials, experiments and allocations: events and causes from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.engine import StoryLine, list_story

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn, Database

KINDS = ("experiment", "trial", "allocation")
MAX_LINES = 1000
EXISTS = {
    "experiment": "SELECT EXISTS (SELECT FROM experiments WHERE id::text = $1)",
    "trial": "SELECT EXISTS (SELECT FROM trials WHERE id::text = $1)",
    "allocation": "SELECT EXISTS (SELECT FROM allocations WHERE id = $1)",
}
ALLOCATIONS = """
    SELECT a.id FROM allocations a JOIN tasks k ON k.id = a.task_id
     WHERE k.trial_id::text = $1 ORDER BY a.requested_at, a.id
"""


class Stories:
    """Stories of aggregates."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def read(
        self, caller: Caller, kind: str, id: str, *, offset: int, limit: int
    ) -> tuple[Sequence[StoryLine], int]:
        """Lines in the order of time, and how many there are in all.

        A trial's story has its allocations in it.

        Raises:
            NotFound: there is no such thing.
        """
        access.may(caller, "read", "experiment")
        if offset < 0 or not 0 <= limit <= MAX_LINES:
            raise InvalidArgument(
                f"offset {offset}, limit {limit}: offset must not be negative and limit at most "
                f"{MAX_LINES}"
            )
        async with self._db.acquire() as conn:
            if not await conn.fetchval(EXISTS[kind], id):
                raise NotFound(f"{kind} '{id}' not found")
            aggregates = await self._aggregates(conn, kind, id)
            names = [[k for k, _ in aggregates], [i for _, i in aggregates]]
            total = await conn.fetchval(
                "SELECT count(*) FROM unnest($1::text[], $2::text[]) AS w (kind, id) "
                "JOIN journal j ON j.kind = w.kind AND j.id = w.id",
                *names,
            )
            lines = await list_story(conn, aggregates, limit=offset + (limit or MAX_LINES))
        return lines[offset:], int(total)

    async def _aggregates(self, conn: Conn, kind: str, id: str) -> list[tuple[str, str]]:
        aggregates = [(kind, id)]
        if kind == "trial":
            aggregates += [("allocation", row["id"]) for row in await conn.fetch(ALLOCATIONS, id)]
        return aggregates

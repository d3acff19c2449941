"""Stories of trials, experiments and allocations: events and causes from the journal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.engine import count_story, list_story
from determined_master.records.stories import StoryLine
from determined_master.store.experiments import lookups
from determined_master.store.tasks import allocations

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.stories import ThingWithStory
    from determined_master.store.db import Conn, Database

KINDS = ("experiment", "trial", "allocation")
MAX_LINES = 1000
_REQUEST = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
"""A request of a search, by which the search knows a trial."""


class Story(msgspec.Struct, frozen=True):
    """A page of a story."""

    lines: Sequence[StoryLine]
    total: int
    reason: str
    """Why the thing is in its state."""
    trials: Mapping[str, int]
    """Trials by the ids of the search's requests for them, which events name."""


def request_of(line: StoryLine) -> str:
    """The request of a search that an event is about; empty for none."""
    return str(line.event.get("request_id") or "")


class Stories:
    """Stories of aggregates."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def read(
        self, caller: Caller, kind: ThingWithStory, id: str, *, offset: int, limit: int
    ) -> Story:
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
            if not await lookups.exists(conn, kind, id):
                raise NotFound(f"{kind} '{id}' not found")
            aggregates = await self._aggregates(conn, kind, id)
            total = await count_story(conn, aggregates)
            lines = await list_story(conn, aggregates, limit=offset + (limit or MAX_LINES))
            reason = await lookups.find_reason(conn, kind, id)
            requests = {r for line in lines[offset:] if _REQUEST.fullmatch(r := request_of(line))}
            requests |= set(_REQUEST.findall(reason))
            trials: Mapping[str, int] = {}
            if kind == "experiment" and requests:
                trials = await lookups.list_trials_by_request(conn, int(id), sorted(requests))
        reason = _REQUEST.sub(lambda m: str(trials.get(m[0], m[0])), reason)
        return Story(lines[offset:], total, reason, trials)

    async def _aggregates(
        self, conn: Conn, kind: ThingWithStory, id: str
    ) -> list[tuple[str, str]]:
        aggregates: list[tuple[str, str]] = [(kind, id)]
        if kind == "trial":
            found = await allocations.list_ids_of_trial(conn, id)
            aggregates += [("allocation", allocation_id) for allocation_id in found]
        return aggregates

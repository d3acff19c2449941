"""Stories of trials, experiments and allocations: events and causes from the journal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.engine import count_story, list_story
from determined_master.records.stories import StoryLine
from determined_master.services.experiments.story.story_texts import user_of
from determined_master.store import causes
from determined_master.store.experiments import lookups
from determined_master.store.tasks import allocations

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.stories import StoredCause, ThingWithStory
    from determined_master.store.db import Conn, Database

KINDS = ("experiment", "trial", "allocation")
MAX_LINES = 1000
DEFAULT_ITEMS = 200
REQUEST = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
"""A request of a search, by which the search knows a trial."""


class Story(msgspec.Struct, frozen=True):
    """A page of a story."""

    lines: Sequence[StoryLine]
    total: int
    reason: str
    """Why the thing is in its state."""
    trials: Mapping[str, int]
    """Trials by the ids of the search's requests for them, which events name."""
    config_changes: Sequence[str] = ()
    """Keys of the configuration that others have set, each with the policy or template."""


def request_of(line: StoryLine) -> str:
    """The request of a search that an event is about; empty for none."""
    return str(line.event.get("request_id") or "")


Cursor = tuple[datetime, str, str, int]


class Items(msgspec.Struct, frozen=True):
    """Lines of a story after some line."""

    lines: Sequence[StoryLine]
    has_more: bool
    reason: str
    trials: Mapping[str, int]
    users: Mapping[str, str]
    """Names of users by their ids, which causes name."""
    failure: StoredCause | None = None
    """Why it, or its latest attempt, failed."""


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
            trials = await self._trials(conn, kind, id, lines[offset:], reason)
            shown = await _as_reported(conn, kind, id, lines[offset:])
            changes = await lookups.list_config_changes(conn, kind, id)
        reason = REQUEST.sub(lambda m: str(trials.get(m[0], m[0])), reason)
        return Story(shown, total, reason, trials, changes)

    async def after(
        self, caller: Caller, kind: ThingWithStory, id: str, cursor: Cursor | None, limit: int
    ) -> Items:
        """Lines in the order of time, after the one with this cursor; 0 for `DEFAULT_ITEMS`.

        A trial's and a task's story has the allocations in it.

        Raises:
            NotFound: there is no such thing. InvalidArgument: the limit is out of bounds.
        """
        access.may(caller, "read", "task" if kind == "task" else "experiment")
        if not 0 <= limit <= MAX_LINES:
            raise InvalidArgument(
                f"limit is {limit}: it must be 1 to {MAX_LINES}, or 0 for {DEFAULT_ITEMS}"
            )
        most = limit or DEFAULT_ITEMS
        async with self._db.acquire() as conn:
            if not await lookups.exists(conn, kind, id):
                raise NotFound(f"{kind} '{id}' not found")
            aggregates = await self._aggregates(conn, kind, id)
            lines = await list_story(conn, aggregates, after=cursor, limit=most + 1)
            reason = await lookups.find_reason(conn, kind, id)
            trials = await self._trials(conn, kind, id, lines, reason)
            user_ids = {int(u) for line in lines if (u := user_of(line)).isdecimal()}
            users = await lookups.list_usernames(conn, sorted(user_ids))
            shown = await _as_reported(conn, kind, id, lines[:most])
            failure = await causes.find_cause(conn, kind, id)
        reason = REQUEST.sub(lambda m: str(trials.get(m[0], m[0])), reason)
        return Items(shown, len(lines) > most, reason, trials, users, failure)

    async def _trials(
        self, conn: Conn, kind: ThingWithStory, id: str, lines: Sequence[StoryLine], reason: str
    ) -> Mapping[str, int]:
        """The trials of a search by the requests that lines and the reason name."""
        requests = {r for line in lines if REQUEST.fullmatch(r := request_of(line))}
        requests |= set(REQUEST.findall(reason))
        if kind != "experiment" or not requests:
            return {}
        return await lookups.list_trials_by_request(conn, int(id), sorted(requests))

    async def _aggregates(
        self, conn: Conn, kind: ThingWithStory, id: str
    ) -> list[tuple[str, str]]:
        if kind == "task":
            found = await allocations.list_ids_of_task(conn, id)
            trial_id = await lookups.find_trial_of_task(conn, id)
            own = [("interactive", id), ("task", id)]
            if trial_id is not None:
                own = [("trial", str(trial_id))]
            return [*own, *(("allocation", allocation_id) for allocation_id in found)]
        aggregates: list[tuple[str, str]] = [(kind, id)]
        if kind == "trial":
            found = await allocations.list_ids_of_trial(conn, int(id))
            aggregates += [("allocation", allocation_id) for allocation_id in found]
        return aggregates


async def _as_reported(
    conn: Conn, kind: ThingWithStory, id: str, lines: Sequence[StoryLine]
) -> Sequence[StoryLine]:
    """The same lines with metrics as trials report them, where events have their negatives."""
    if kind != "experiment" or not await lookups.is_greater_better(conn, id):
        return lines
    return [_turned(line) for line in lines]


def _turned(line: StoryLine) -> StoryLine:
    metric = line.event.get("metric")
    if line.event.get("event") != "validation_reported" or metric is None:
        return line
    return replace(line, event={**line.event, "metric": -metric})

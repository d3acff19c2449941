"""The events of the cluster: the journal of all things as one list, the newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, ResourceExhausted
from determined_master.records.events import EventLine, EventQuery
from determined_master.services.experiments.story.story_texts import user_of
from determined_master.store.experiments import lookups
from determined_master.store.updates import events as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.experiments.story.stories import Cursor
    from determined_master.store.db import Conn, Database

KINDS = ("experiment", "trial", "allocation", "interactive", "task")
MAX_EVENTS = 1000
DEFAULT_EVENTS = 200
FIRST_SPAN = timedelta(minutes=1)
SPAN_GROWTH = 4
BUDGET_S = 2.0
"""Time limit of a search: the answer has what it found, and the client continues from there."""
STATEMENT_S = 5.0
"""A span that takes longer is searched in parts."""
READS_AT_ONCE = 2
"""A read may take a connection for seconds: others of the pool are for other requests."""
_TICK = timedelta(microseconds=1)


class EventRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for events."""

    kinds: Sequence[str] = ()
    user_id: int = 0
    acts_only: bool = False
    """Only what users asked for."""
    before: Cursor | None = None
    since: datetime | None = None
    limit: int = 0


class FoundEvents(msgspec.Struct, frozen=True):
    """A page of events, the newest first."""

    lines: Sequence[EventLine]
    users: Mapping[int, str]
    next: Cursor | None
    """Where to continue; None when there is nothing more."""
    searched_to: datetime


class Events:
    """Events of all things."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._gate = asyncio.Semaphore(READS_AT_ONCE)

    async def read(self, caller: Caller, wanted: EventRequest) -> FoundEvents:
        """Events that the caller sees: of experiments, trials and tasks of visible workspaces.

        The time before the last event is searched in spans that grow, since a busy cluster has
        thousands of events a second and an idle one a few in a week.

        Raises:
            InvalidArgument: a kind is unknown, or the limit is out of bounds.
            ResourceExhausted: a minute of the journal takes too long.
        """
        access.may(caller, "read", "experiment")
        _check(wanted)
        most = wanted.limit or DEFAULT_EVENTS
        began_s = clock.monotonic_s()
        upper = wanted.before[0] + _TICK if wanted.before else clock.now() + _TICK
        lines: list[EventLine] = []
        async with (
            self._gate,
            self._db.acquire() as conn,
            conn.transaction(readonly=True),
        ):
            await rows.plan_for_events(conn, STATEMENT_S)
            lower = await self._lower_bound(conn, wanted.since)
            span = FIRST_SPAN
            while len(lines) <= most and upper > lower:
                after = max(lower, upper - span)
                query = _query(caller, wanted, after, upper, most + 1 - len(lines))
                try:
                    async with conn.transaction():  # a savepoint: the next span can be tried
                        lines += await rows.list_events(conn, query)
                except asyncpg.QueryCanceledError:
                    span /= SPAN_GROWTH**2
                    if span < FIRST_SPAN / SPAN_GROWTH:
                        raise _too_busy(upper) from None
                    continue
                upper, span = after, min(span * SPAN_GROWTH, timedelta(days=400))
                if clock.monotonic_s() - began_s > BUDGET_S:
                    break
            users = await lookups.list_usernames(conn, sorted({actor_of(one) for one in lines}))
        shown = lines[:most]
        following: Cursor | None = None
        if len(lines) > most:
            following = shown[-1].line.cursor
        elif upper > lower:
            following = (upper, "", "", 0)
        searched_to = shown[-1].line.at if len(lines) > most else upper
        return FoundEvents(shown, {int(k): v for k, v in users.items()}, following, searched_to)

    async def _lower_bound(self, conn: Conn, since: datetime | None) -> datetime:
        month = await rows.find_first_month(conn)
        now = clock.now()
        first = datetime(month.year, month.month, 1, tzinfo=UTC) if month else now
        return max(first, since) if since else first


def _too_busy(at: datetime) -> ResourceExhausted:
    return ResourceExhausted(
        f"the events before {at:%Y-%m-%d %H:%M:%S} UTC take too long: give since, kinds or a user"
    )


def actor_of(event: EventLine) -> int:
    """The user who asked for an event: who sent the request, or who owns what was created.

    0 where the master itself acted.
    """
    if event.line.cause in rows.CREATIONS:
        return event.owner_id
    user = user_of(event.line)
    return int(user) if user.isdecimal() else 0


def _check(wanted: EventRequest) -> None:
    if not 0 <= wanted.limit <= MAX_EVENTS:
        raise InvalidArgument(
            f"limit is {wanted.limit}: it must be 1 to {MAX_EVENTS}, or 0 for {DEFAULT_EVENTS}"
        )
    for kind in wanted.kinds:
        if kind not in KINDS:
            raise InvalidArgument(f"kinds has {kind!r}: it must be one of {', '.join(KINDS)}")


def _query(
    caller: Caller, wanted: EventRequest, after: datetime, before: datetime, limit: int
) -> EventQuery:
    return EventQuery(
        kinds=wanted.kinds,
        user_id=wanted.user_id,
        acts_only=wanted.acts_only,
        experiment_workspaces=access.visible(caller, "experiment"),
        task_workspaces=access.visible(caller, "task"),
        after=after,
        before=before,
        cursor=wanted.before,
        limit=limit,
    )

"""A user's activity: submissions and used slots by day, and what ended while they were away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument
from determined_master.services.queue.overview import FIRST_LOOK_BACK, MAX_ITEMS, OverviewItem
from determined_master.store.cluster.usage import plan_for_reports
from determined_master.store.queue import activity as rows
from determined_master.store.queue import overview

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Database

MAX_DAYS = 366
DEFAULT_DAYS = 30


class ActivityDay(msgspec.Struct, frozen=True, kw_only=True):
    """One UTC day of a user."""

    day: date
    submitted: int = 0
    completed: int = 0
    failed: int = 0
    slot_seconds: float = 0.0


class ActivityFacts(msgspec.Struct, frozen=True):
    """Days, the oldest first, without gaps; what ended without an error since the last visit."""

    visited_at: datetime | None
    days: Sequence[ActivityDay]
    ended: Sequence[OverviewItem]
    ended_count: int


class Activity:
    """Activity of all users."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def read(self, caller: Caller, days: int) -> ActivityFacts:
        """The caller's activity of the last days, today included; 0 for `DEFAULT_DAYS`.

        Raises:
            InvalidArgument: the number of days is out of bounds.
        """
        access.may(caller, "read", "queue")
        if not 0 <= days <= MAX_DAYS:
            raise InvalidArgument(
                f"days is {days}: it must be 1 to {MAX_DAYS}, or 0 for {DEFAULT_DAYS}"
            )
        now = clock.now()
        first = now.date() - timedelta(days=(days or DEFAULT_DAYS) - 1)
        begin = datetime.combine(first, time(), UTC)
        user_id = caller.user_id
        async with self._db.acquire() as conn:
            visited_at = await overview.find_visit(conn, user_id)
            since = visited_at or now - FIRST_LOOK_BACK
            count, ended = await rows.list_ended(conn, user_id, since, MAX_ITEMS)
            submitted = {one.day: one for one in await rows.list_submitted(conn, user_id, begin)}
            async with conn.transaction(readonly=True):
                await plan_for_reports(conn)
                fresh = await rows.find_summed_until(conn, first)
                used = await rows.list_used(conn, user_id, caller.username, first, fresh, now)
        found = [
            _day(first + timedelta(days=n), submitted, used)
            for n in range((now.date() - first).days + 1)
        ]
        seen = [row for row in ended if _is_seen(caller, row)]
        items = [_item(row) for row in seen]
        return ActivityFacts(visited_at, found, items, count - (len(ended) - len(seen)))


def _day(
    day: date, submitted: dict[date, rows.SubmittedDay], used: dict[date, float]
) -> ActivityDay:
    made = submitted.get(day)
    return ActivityDay(
        day=day,
        submitted=made.submitted if made else 0,
        completed=made.completed if made else 0,
        failed=made.failed if made else 0,
        slot_seconds=used.get(day, 0.0),
    )


def _is_seen(caller: Caller, row: rows.EndedRow) -> bool:
    kind: access.ThingKind = "experiment" if row.type == "EXPERIMENT" else "task"
    return access.can(caller, "read", kind, workspace_id=row.workspace_id or access.NOWHERE)


def _item(row: rows.EndedRow) -> OverviewItem:
    return OverviewItem(
        kind=row.type.lower(),
        id=row.entity_id,
        name=row.name,
        job_id=row.job_id,
        state=row.state,
        project_id=row.project_id,
        workspace_id=row.workspace_id,
        pool=row.pool,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )

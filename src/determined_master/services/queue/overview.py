"""A user's overview: what of theirs runs, waits, and failed since they last looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.services.queue.job_facts import NO_ORDER, JobFacts
from determined_master.services.queue.own_jobs import JobOwners, list_own_jobs
from determined_master.store.queue import overview as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.queue.job_queue import JobQueue
    from determined_master.store.db import Database

MAX_ITEMS = 100
FIRST_LOOK_BACK = timedelta(days=7)


class OverviewItem(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment or task; `started_at` is when it was submitted."""

    kind: str
    id: str
    name: str
    job_id: str
    state: str
    project_id: int
    workspace_id: int
    pool: str
    slots: int = 0
    progress: float = 0.0
    started_at: datetime
    ended_at: datetime | None = None
    jobs_ahead: int = NO_ORDER
    reason: str = ""


class OverviewFacts(msgspec.Struct, frozen=True):
    """The lists, each of at most `MAX_ITEMS`, the newest first, and the counts of all."""

    visited_at: datetime | None
    running: Sequence[OverviewItem]
    queued: Sequence[OverviewItem]
    failures: Sequence[OverviewItem]
    running_count: int
    queued_count: int
    failure_count: int


class Overview:
    """Overviews of all users."""

    def __init__(self, db: Database, queue: JobQueue) -> None:
        self._db = db
        self._queue = queue
        self._owners = JobOwners(db)

    async def visit(self, caller: Caller) -> None:
        """Note that the caller has seen what failed."""
        access.may(caller, "read", "queue")
        async with self._db.acquire() as conn:
            await rows.upsert_visit(conn, caller.user_id, clock.now())

    async def read(self, caller: Caller) -> OverviewFacts:
        """The caller's overview: only things that the caller still sees."""
        jobs = await list_own_jobs(caller, self._queue, self._owners, MAX_ITEMS)
        shown = [*jobs.running, *jobs.queued]
        async with self._db.acquire() as conn:
            visited_at = await rows.find_visit(conn, caller.user_id)
            since = visited_at or clock.now() - FIRST_LOOK_BACK
            count, failed = await rows.list_failed(conn, caller.user_id, since, MAX_ITEMS)
            projects = await rows.find_projects(
                conn,
                [int(job.entity_id) for job in shown if job.type == "EXPERIMENT"],
                [job.entity_id for job in shown if job.type != "EXPERIMENT"],
            )
        visible = [row for row in failed if _is_seen(caller, row.type, row.workspace_id)]
        return OverviewFacts(
            visited_at,
            [_item(job, projects) for job in jobs.running],
            [_item(job, projects) for job in jobs.queued],
            [_failure(row) for row in visible],
            jobs.running_count,
            jobs.queued_count,
            count - (len(failed) - len(visible)),
        )


def _is_seen(caller: Caller, type_: str, workspace_id: int) -> bool:
    kind: access.ThingKind = "experiment" if type_ == "EXPERIMENT" else "task"
    return access.can(caller, "read", kind, workspace_id=workspace_id or access.NOWHERE)


def _item(job: JobFacts, projects: Mapping[str, int]) -> OverviewItem:
    return OverviewItem(
        kind=job.type.lower(),
        id=job.entity_id,
        name=job.name,
        job_id=job.job_id,
        state="RUNNING" if job.is_scheduled else "QUEUED",
        project_id=projects.get(job.entity_id, 0),
        workspace_id=job.workspace_id,
        pool=job.pool,
        slots=job.allocated_slots or job.requested_slots,
        progress=job.progress,
        started_at=job.submitted_at,
        jobs_ahead=NO_ORDER if job.is_scheduled else job.jobs_ahead,
    )


def _failure(row: rows.FailedRow) -> OverviewItem:
    return OverviewItem(
        kind=row.type.lower(),
        id=row.entity_id,
        name=row.name,
        job_id=row.job_id,
        state="ERROR",
        project_id=row.project_id,
        workspace_id=row.workspace_id,
        pool=row.pool,
        started_at=row.started_at,
        ended_at=row.ended_at,
        reason=row.reason,
    )

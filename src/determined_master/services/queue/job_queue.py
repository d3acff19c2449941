"""The job queue of each pool: who waits and runs, in which order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.domain.listing.paging import page_of
from determined_master.domain.states import ENDED
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.services.queue.job_facts import (
    NO_ORDER,
    JobFacts,
    JobState,
    facts_at_rest,
    facts_of,
    first_of,
    is_uuid,
    limited,
    order_of,
    priced,
)
from determined_master.store.queue import job_queue as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.domain.listing.paging import Page
    from determined_master.pools.live import LiveAllocations
    from determined_master.services.cluster.pools import Pools
    from determined_master.store.db import Database

LOOK_BACK_DAYS = 30


class JobSummary(msgspec.Struct, frozen=True):
    """Where a job stands."""

    state: JobState
    jobs_ahead: int
    """From 0; -1 where the scheduler knows no order."""


class JobQuery(msgspec.Struct, frozen=True):
    """Which jobs of a queue a caller asks for."""

    states: Collection[str] = ()
    """QUEUED, SCHEDULED; empty for both."""
    descending: bool = False
    """The last of the queue first."""
    offset: int = 0
    limit: int = 0
    """0 or -1: all of them."""


ALL_JOBS = JobQuery()


class QueuedJob(msgspec.Struct, frozen=True):
    """A job of a queue, as the scheduler knows it."""

    pool: str
    job_id: str
    allocations: list[Allocation]
    ahead: int
    """Jobs before it; -1 where the scheduler knows no order."""


class PoolStats(msgspec.Struct, frozen=True):
    """How busy a pool is, and how long requests waited on the days of the last month."""

    pool: str
    queued: int
    scheduled: int
    waits: tuple[tuple[str, float], ...]
    """Day as YYYY-MM-DD, mean seconds."""


class JobQueue:
    """Reads the queues."""

    def __init__(self, db: Database, live: LiveAllocations, pools: Pools) -> None:
        self._db = db
        self._live = live
        self._pools = pools

    async def list_jobs(
        self, caller: Caller, pool: str, wanted: JobQuery = ALL_JOBS
    ) -> tuple[list[JobFacts], Page]:
        """The jobs of a pool that have requests, in the order of the queue, a page of them; of
        those that the caller may not see no more than the place that they take.

        Args:
            caller: the caller.
            pool: its name; empty for the default compute pool.
            wanted: which of them.

        Raises:
            NotFound: there is no such pool.
            InvalidArgument: there is no such page.
        """
        access.may(caller, "read", "queue")
        name = self._pools.named(pool)
        queued = [job for job in self._queue(name) if self._is_wanted(job, wanted.states)]
        if wanted.descending:
            queued.reverse()
        page = page_of(len(queued), wanted.offset, wanted.limit, takes_minus_one=True)
        found = await self.described(queued[page.start : page.end])
        return [limited(caller, job) for job in found], page

    def list_queued(self) -> list[QueuedJob]:
        """The jobs of all pools, each in the order of its pool's queue. Cost: O(jobs)."""
        pools = {a.request.pool for a in self._live.values() if _is_shown(a)}
        return [job for pool in sorted(pools) for job in self._queue(pool)]

    def has_slots(self, job: QueuedJob) -> bool:
        """Whether anything of a job has slots."""
        return any(map(self._is_scheduled, job.allocations))

    async def described(self, jobs: Sequence[QueuedJob]) -> list[JobFacts]:
        """Facts of these jobs, in their order; those that are gone are left out."""
        async with self._db.acquire() as conn:
            found = await rows.list_jobs(conn, {job.job_id for job in jobs})
        known = {row.job_id: row for row in found}
        described = []
        for job in jobs:
            if job.job_id in known:
                facts = self._facts(known[job.job_id], job.pool, job.allocations)
                facts = msgspec.structs.replace(facts, jobs_ahead=job.ahead)
                described.append(priced(facts, self._pools.slot_price(job.pool)))
        return described

    async def find(self, job_id: str) -> JobFacts:
        """One job that has requests, or is an experiment or generic task that may have more.

        Raises:
            NotFound: no job has that id, or it has ended.
        """
        shown = [a for a in self._live.of_job(job_id) if _is_shown(a)]
        found: list[rows.JobRow] = []
        if is_uuid(job_id):
            async with self._db.acquire() as conn:
                found = await rows.list_jobs(conn, [job_id])
        for row in found:
            if shown:
                return self._facts(row, row.resource_pool or shown[0].request.pool, shown)
            if row.resources is not None and row.state not in ENDED:
                return facts_at_rest(row)
        raise NotFound(f"job {job_id} not found")

    def summary(self, job_id: str) -> JobSummary | None:
        """Where a job stands; None for one without requests. Cost: O(jobs), no query."""
        own = [a for a in self._live.of_job(job_id) if _is_shown(a)]
        if not own:
            return None
        request = own[0].request
        state: JobState = "SCHEDULED" if any(map(self._is_scheduled, own)) else "QUEUED"
        priorities = self._pools.priorities(request.pool)
        if priorities == "none":
            return JobSummary(state, NO_ORDER)
        place = order_of(request, priorities)
        ahead = sum(
            a.request.pool == request.pool and order_of(a.request, priorities) < place
            for a in self._live.one_of_each_job()
            if _is_shown(a)
        )
        return JobSummary(state, ahead)

    async def stats(self, caller: Caller, pools: Sequence[str] = ()) -> list[PoolStats]:
        """Statistics by pool; names that no pool has are left out."""
        access.may(caller, "read", "queue")
        names = [n for n in self._pools.names if not pools or n in pools]
        today = clock.now().date()
        first = datetime.combine(today - timedelta(days=LOOK_BACK_DAYS), time(), UTC)
        async with self._db.acquire() as conn:
            waits = await rows.list_waits(conn, names, first)
        found = []
        for name in names:
            days = {str(day): seconds for pool, day, seconds in waits if pool == name}
            days.setdefault(str(today), 0.0)
            scheduled = {a.request.job_id for a in self._shown(name) if self._is_scheduled(a)}
            everybody = {a.request.job_id for a in self._shown(name)}
            found.append(
                PoolStats(
                    pool=name,
                    queued=len(everybody - scheduled),
                    scheduled=len(scheduled),
                    waits=tuple(sorted(days.items())),
                )
            )
        return found

    def _queue(self, pool: str) -> list[QueuedJob]:
        """The jobs of a pool in the order of its queue. Cost: O(jobs), no query."""
        by_job: dict[str, list[Allocation]] = {}
        for allocation in self._shown(pool):
            by_job.setdefault(allocation.request.job_id, []).append(allocation)
        firsts = [(first_of(own).request, own) for own in by_job.values()]
        priorities = self._pools.priorities(pool)
        if priorities == "none":
            firsts.sort(key=lambda job: (job[0].submitted_at, job[0].job_id))
            return [QueuedJob(pool, first.job_id, own, NO_ORDER) for first, own in firsts]
        firsts.sort(key=lambda job: order_of(job[0], priorities))
        return [QueuedJob(pool, first.job_id, own, n) for n, (first, own) in enumerate(firsts)]

    def _is_wanted(self, job: QueuedJob, states: Collection[str]) -> bool:
        if not states:
            return True
        return ("SCHEDULED" if self.has_slots(job) else "QUEUED") in states

    def _is_scheduled(self, allocation: Allocation) -> bool:
        """Whether it has its slots. A pod has them once Kubernetes has placed it."""
        if allocation.state == "ASSIGNED":
            return not self._pools.is_kubernetes(allocation.request.pool)
        return allocation.state != "PENDING"

    def _facts(self, row: rows.JobRow, pool: str, allocations: Sequence[Allocation]) -> JobFacts:
        facts = facts_of(row, pool, allocations)
        scheduled = [a for a in allocations if self._is_scheduled(a)]
        slots = sum(a.request.slots for a in scheduled)
        return msgspec.structs.replace(facts, is_scheduled=bool(scheduled), allocated_slots=slots)

    def _shown(self, pool: str) -> list[Allocation]:
        return [a for a in self._live.values() if a.request.pool == pool and _is_shown(a)]


def _is_shown(allocation: Allocation) -> bool:
    return TASK_KINDS[allocation.request.task_type].group != "checkpoint_gc"

"""The job queue of each pool: who waits and runs, in which order."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.allocation.messages import JobTerms
from determined_master.domain.errors import NotFound
from determined_master.domain.schedule.ordering import Position
from determined_master.domain.schedule.priorities import PriorityOrder, urgency
from determined_master.domain.schedule.view import position_of
from determined_master.domain.states import LEAVING, TERMINAL
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.services.queue.job_terms import terms_of
from determined_master.store.queue import job_queue as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.allocation.messages import Allocation, AllocationRequest
    from determined_master.pools.live import LiveAllocations
    from determined_master.services.cluster.pools import Pools
    from determined_master.store.db import Database

LOOK_BACK_DAYS = 30
NO_ORDER = -1
JobState = Literal["QUEUED", "SCHEDULED"]
Order = tuple[int, Position, datetime, str]
"""Of jobs in a queue with priorities: urgency, position, age, id."""


class JobFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a queue."""

    job_id: str
    type: str
    name: str
    entity_id: str
    user_id: int
    username: str
    workspace_id: int
    pool: str
    submitted_at: datetime
    is_preemptible: bool
    priority: int
    weight: float
    position: Position
    terms: JobTerms
    requested_slots: int
    allocated_slots: int
    is_scheduled: bool
    progress: float
    jobs_ahead: int = NO_ORDER
    """From 0; -1 where the scheduler knows no order."""
    cost_per_hour: float | None = None
    """US dollars of its slots at present; None if unknown."""
    is_limited: bool = False
    """Whether the caller may not see it: it has no name and no user, and its times and what
    belongs to stay hidden."""

    @property
    def state(self) -> JobState:
        """SCHEDULED when anything of it has slots."""
        return "SCHEDULED" if self.is_scheduled else "QUEUED"

    def order(self, priorities: PriorityOrder) -> Order:
        """Its place in a queue with priorities."""
        more = urgency(self.priority, priorities)
        return more, self.position, self.submitted_at, self.job_id


class JobSummary(msgspec.Struct, frozen=True):
    """Where a job stands."""

    state: JobState
    jobs_ahead: int
    """From 0; -1 where the scheduler knows no order."""


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
        self, caller: Caller, pool: str, states: Collection[str] = (), *, descending: bool = False
    ) -> list[JobFacts]:
        """The jobs of a pool that have requests, in the order of the queue; of those that the
        caller may not see no more than the place that they take.

        Args:
            caller: the caller.
            pool: its name; empty for the default compute pool.
            states: QUEUED, SCHEDULED; empty for both.
            descending: the last first.

        Raises:
            NotFound: there is no such pool.
        """
        access.may(caller, "read", "queue")
        name = self._pools.named(pool)
        found = await self._jobs(name)
        kept = [_limited(caller, job) for job in found if not states or job.state in states]
        return kept[::-1] if descending else kept

    async def list_of_user(self, caller: Caller) -> list[JobFacts]:
        """The caller's own jobs that have requests, of all pools, as far as the caller sees them.

        Each knows its place in its pool's queue.
        """
        access.may(caller, "read", "queue")
        pools = {a.request.pool for a in self._live.values() if _is_shown(a)}
        found = [job for pool in sorted(pools) for job in await self._jobs(pool)]
        shown = [_limited(caller, job) for job in found if job.user_id == caller.user_id]
        return [job for job in shown if not job.is_limited]

    async def find(self, job_id: str) -> JobFacts:
        """One job that has requests, or is an experiment or generic task that may have more.

        Raises:
            NotFound: there is none of that id, or it has ended.
        """
        shown = [a for a in self._live.of_job(job_id) if _is_shown(a)]
        found: list[rows.JobRow] = []
        if is_uuid(job_id):
            async with self._db.acquire() as conn:
                found = await rows.list_jobs(conn, [job_id])
        for row in found:
            if shown:
                return self._facts(row, row.resource_pool or shown[0].request.pool, shown)
            if row.resources is not None and row.state not in TERMINAL | LEAVING:
                return _facts_at_rest(row)
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
        place = _order(request, priorities)
        ahead = sum(
            a.request.pool == request.pool and _order(a.request, priorities) < place
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

    async def _jobs(self, pool: str) -> list[JobFacts]:
        by_job: dict[str, list[Allocation]] = {}
        for allocation in self._shown(pool):
            by_job.setdefault(allocation.request.job_id, []).append(allocation)
        async with self._db.acquire() as conn:
            known = await rows.list_jobs(conn, by_job)
        price = self._pools.slot_price(pool)
        found = [_priced(self._facts(row, pool, by_job[row.job_id]), price) for row in known]
        priorities = self._pools.priorities(pool)
        if priorities != "none":
            ordered = sorted(found, key=lambda job: job.order(priorities))
            return [msgspec.structs.replace(job, jobs_ahead=n) for n, job in enumerate(ordered)]
        return sorted(found, key=lambda job: (job.submitted_at, job.job_id))

    def _is_scheduled(self, allocation: Allocation) -> bool:
        """Whether it has its slots. A pod has them once Kubernetes has placed it."""
        if allocation.state == "ASSIGNED":
            return not self._pools.is_kubernetes(allocation.request.pool)
        return allocation.state != "PENDING"

    def _facts(self, row: rows.JobRow, pool: str, allocations: Sequence[Allocation]) -> JobFacts:
        facts = _facts(row, pool, allocations)
        is_scheduled = any(map(self._is_scheduled, allocations))
        return msgspec.structs.replace(facts, is_scheduled=is_scheduled)

    def _shown(self, pool: str) -> list[Allocation]:
        return [a for a in self._live.values() if a.request.pool == pool and _is_shown(a)]


def _priced(job: JobFacts, slot_price: float | None) -> JobFacts:
    if slot_price is None:
        return job
    return msgspec.structs.replace(job, cost_per_hour=round(job.allocated_slots * slot_price, 4))


def _limited(caller: Caller, job: JobFacts) -> JobFacts:
    kind: access.ThingKind = "experiment" if job.type == "EXPERIMENT" else "task"
    if access.can(caller, "read", kind, workspace_id=job.workspace_id):
        return job
    return msgspec.structs.replace(
        job, name="", username="", user_id=0, entity_id="", is_limited=True
    )


def is_uuid(id: str) -> bool:
    """Whether it could be a job's id: no row has any other."""
    try:
        uuid.UUID(id)
    except ValueError:
        return False
    return True


def _is_shown(allocation: Allocation) -> bool:
    return TASK_KINDS[allocation.request.task_type].group != "checkpoint_gc"


def _order(request: AllocationRequest, priorities: PriorityOrder) -> Order:
    own = position_of(request.submitted_at) if request.position is None else request.position
    return urgency(request.priority, priorities), own, request.submitted_at, request.job_id


def _facts(row: rows.JobRow, pool: str, allocations: Sequence[Allocation]) -> JobFacts:
    first = min(allocations, key=lambda a: (a.request.submitted_at, a.id))
    request = first.request
    own = position_of(request.submitted_at)
    scheduled = [a for a in allocations if a.state != "PENDING"]
    return JobFacts(
        job_id=row.job_id,
        type=row.type,
        name=row.name if row.experiment_id is not None else request.name,
        entity_id=str(row.experiment_id) if row.experiment_id is not None else request.task_id,
        user_id=row.user_id,
        username=row.username,
        workspace_id=row.workspace_id,
        pool=pool,
        submitted_at=request.submitted_at,
        is_preemptible=request.is_preemptible,
        priority=request.priority,
        weight=request.weight,
        position=own if request.position is None else request.position,
        terms=JobTerms(request.priority, request.weight, request.max_slots, request.position),
        requested_slots=sum(a.request.slots for a in allocations),
        allocated_slots=sum(a.request.slots for a in scheduled),
        is_scheduled=bool(scheduled),
        progress=row.progress,
    )


def _facts_at_rest(row: rows.JobRow) -> JobFacts:
    """A job that requests no slots now: it is paused, or its next run is about to start."""
    terms = terms_of(row)
    return JobFacts(
        job_id=row.job_id,
        type=row.type,
        name=row.name,
        entity_id=str(row.experiment_id) if row.task_id is None else row.task_id,
        user_id=row.user_id,
        username=row.username,
        workspace_id=row.workspace_id,
        pool=row.resource_pool or "",
        submitted_at=row.submitted_at,
        is_preemptible=True,
        priority=terms.priority,
        weight=terms.weight,
        position=position_of(row.submitted_at) if terms.position is None else terms.position,
        terms=terms,
        requested_slots=0,
        allocated_slots=0,
        is_scheduled=False,
        progress=row.progress,
    )

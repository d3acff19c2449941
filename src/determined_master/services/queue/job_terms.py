"""Keeping live requests in line with what their jobs' owners have set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from determined_master import entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.config.sections.resources import typed_terms
from determined_master.domain.errors import DetError
from determined_master.domain.ids import AllocationId
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.engine import Posting
from determined_master.engine.causes import Occurrence
from determined_master.engine.kind import AnyPosting
from determined_master.store.queue import job_queue

if TYPE_CHECKING:
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.store.db import Database

POOL_CHANGED = "allocation resource pool changed"


class JobTermsSync:
    """Copies the terms of jobs from their rows to live allocations.

    The rows are written first. A change that is lost between them and the allocations is made by
    the next comparison, at the begin of a lead and every few seconds.
    """

    def __init__(self, engine: Engine, db: Database, live: LiveAllocations) -> None:
        self._engine = engine
        self._db = db
        self._live = live

    async def sync(self, job_ids: Iterable[str] | None = None) -> None:
        """Compare live allocations of these jobs, or of all, with their rows."""
        chosen = list(self._live.jobs() if job_ids is None else job_ids)
        if not chosen:
            return
        async with self._db.acquire() as conn:
            rows = await job_queue.list_jobs(conn, chosen)
        postings = [
            Posting(
                ALLOCATION,
                AllocationId(allocation.id),
                event,
                Occurrence("queue", entropy.new_uuid()),
            )
            for row in rows
            if row.resources is not None
            for allocation in self._live.of_job(row.job_id)
            if TASK_KINDS[allocation.request.task_type].has_terms
            for event in _missing(allocation, row)
        ]
        await self._post(postings)

    async def post(self, job_id: str, terms: alloc.JobTerms) -> None:
        """Give all live allocations of a job its terms; they are stored with them."""
        event = alloc.TermsChanged(terms=terms)
        postings = [
            Posting(
                ALLOCATION,
                AllocationId(allocation.id),
                event,
                Occurrence("queue", entropy.new_uuid()),
            )
            for allocation in self._live.of_job(job_id)
        ]
        await self._post(postings)

    async def _post(self, postings: list[AnyPosting]) -> None:
        """Post them all; an allocation that has ended in the meantime needs no terms."""
        if not postings:
            return
        for outcome in await self._engine.post_many(postings):
            if isinstance(outcome, Exception) and not isinstance(outcome, DetError):
                raise outcome


def terms_of(row: job_queue.JobRow) -> alloc.JobTerms:
    """The terms in the row of an experiment or a task."""
    terms = typed_terms(row.resources or {})
    return alloc.JobTerms(
        priority=terms.priority,
        weight=terms.weight,
        max_slots=terms.max_slots,
        position=row.queue_position,
    )


def _missing(
    allocation: alloc.Allocation, row: job_queue.JobRow
) -> list[alloc.TermsChanged | alloc.PreemptRequested]:
    request, terms = allocation.request, terms_of(row)
    if request.pool != row.resource_pool:
        is_told = allocation.preempt_reason is not None
        return [] if is_told else [alloc.PreemptRequested(reason=POOL_CHANGED)]
    known = alloc.JobTerms(request.priority, request.weight, request.max_slots, request.position)
    return [] if known == terms else [alloc.TermsChanged(terms=terms)]

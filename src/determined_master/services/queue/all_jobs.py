"""Everything that runs or waits in all pools, with what holds it, for one page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.schedule.reasons import reason_without_ids
from determined_master.services.queue.job_facts import JobFacts, limited

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.pools.loop import PoolDecision
    from determined_master.services.queue.job_queue import JobQueue, QueuedJob

MAX_JOBS = 2000
MAX_REASONS = 200
"""Waiting jobs that get their reason: each costs a look at all agents of its pool."""


class AllJobsFacts(msgspec.Struct, frozen=True):
    """The jobs that a caller may see, by pool in the order of its queue."""

    jobs: Sequence[JobFacts]
    total: int
    """Of all jobs, also of those beyond `MAX_JOBS`."""
    hidden_count: int
    """Of those among the first `MAX_JOBS` that the caller may not see."""
    reasons: Mapping[str, str]
    """One sentence for each waiting job, by its id, as far as the last plans know one."""


class AllJobs:
    """Reads the queues of all pools."""

    def __init__(self, queue: JobQueue, decision: Callable[[str], PoolDecision | None]) -> None:
        """
        Args:
            queue: has the jobs.
            decision: the last one of a pool.
        """
        self._queue = queue
        self._decision = decision

    async def read(self, caller: Caller) -> AllJobsFacts:
        """The first `MAX_JOBS` jobs; what the caller may not see is counted and not named."""
        access.may(caller, "read", "queue")
        queued = self._queue.list_queued()
        jobs = [limited(caller, job) for job in await self._queue.described(queued[:MAX_JOBS])]
        visible = [job for job in jobs if not job.is_limited]
        waiting = {job.job_id for job in visible if not job.is_scheduled}
        asked = [job for job in queued if job.job_id in waiting][:MAX_REASONS]
        decisions = {pool: self._decision(pool) for pool in {job.pool for job in asked}}
        reasons = await asyncio.to_thread(lambda: dict(_reasons(asked, decisions)))
        return AllJobsFacts(visible, len(queued), len(jobs) - len(visible), reasons)


def _reasons(
    jobs: Sequence[QueuedJob], decisions: Mapping[str, PoolDecision | None]
) -> Iterator[tuple[str, str]]:
    """Of each job the reason of its first request that waits in the last plan of its pool."""
    for pool, decision in decisions.items():
        if decision is None:
            continue
        view = decision.view
        pending = {request.allocation_id: request for request in view.pending}
        waits = {wait.allocation_id: wait for wait in decision.plan.waits}
        for job in jobs:
            ids = (a.id for a in job.allocations if a.id in waits and a.id in pending)
            first = next(ids, None) if job.pool == pool else None
            if first is not None:
                yield job.job_id, reason_without_ids(view, pending[first], waits[first])

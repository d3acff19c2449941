"""The jobs of one user in all queues: their number, and the newest of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.services.queue.job_facts import first_of
from determined_master.store.queue import own_jobs as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.queue.job_facts import JobFacts
    from determined_master.services.queue.job_queue import JobQueue, QueuedJob
    from determined_master.store.db import Database


class OwnJobs(msgspec.Struct, frozen=True):
    """Jobs of a user that the user sees, the newest first, and the number of all such."""

    running: Sequence[JobFacts]
    queued: Sequence[JobFacts]
    running_count: int
    queued_count: int


class JobOwners:
    """Whose the jobs in the queues are: it never changes, so it is read once for each job."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._owners: dict[str, int] = {}

    async def own(self, caller: Caller, job_ids: Collection[str]) -> set[str]:
        """Those of the caller that the caller sees."""
        unknown = [job_id for job_id in job_ids if job_id not in self._owners]
        if unknown:
            async with self._db.acquire() as conn:
                self._owners.update(await rows.list_owners(conn, unknown))
        if len(self._owners) > 2 * len(job_ids):
            kept = set(job_ids)
            self._owners = {id: user for id, user in self._owners.items() if id in kept}
        own = {id for id in job_ids if self._owners.get(id) == caller.user_id}
        experiments, tasks = (access.visible(caller, kind) for kind in ("experiment", "task"))
        if not own or (experiments is None and tasks is None):
            return own
        async with self._db.acquire() as conn:
            return await rows.list_visible(conn, own, experiments, tasks)


async def list_own_jobs(caller: Caller, queue: JobQueue, owners: JobOwners, limit: int) -> OwnJobs:
    """The caller's jobs that have requests, of all pools; each knows its place in its queue.

    Args:
        caller: whose they are.
        queue: has them.
        owners: knows whose they are.
        limit: of the running jobs, and again of the queued ones.
    """
    access.may(caller, "read", "queue")
    jobs = queue.list_queued()
    own = await owners.own(caller, {job.job_id for job in jobs})
    found = sorted((job for job in jobs if job.job_id in own), key=_age, reverse=True)
    running = [job for job in found if queue.has_slots(job)]
    queued = [job for job in found if not queue.has_slots(job)]
    return OwnJobs(
        await queue.described(running[:limit]),
        await queue.described(queued[:limit]),
        len(running),
        len(queued),
    )


def _age(job: QueuedJob) -> tuple[datetime, str]:
    return first_of(job.allocations).request.submitted_at, job.job_id

"""Routes of the job queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from determined_master.api.http.access import FILTERED, IN_SERVICE, SIGNED_IN
from determined_master.api.http.protojson import encode, ready
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS, WORKS
from determined_master.api.shapes import pagination, struct_of
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.schedule.why import Why
from determined_master.services.queue.job_changes import JobChange, JobChanges
from determined_master.services.queue.job_facts import JobFacts
from determined_master.services.queue.job_queue import JobQuery, JobQueue
from determined_master.services.queue.job_why import JobExplanation, JobWhy
from determined_wire import own
from determined_wire.rest import job_queues as wire
from determined_wire.rest.types.job import (
    AggregateQueueStats,
    Job,
    JobState,
    JobSummary,
    JobType,
    LimitedJob,
    QueueStats,
    RBACJob,
)
from determined_wire.rest.types.shared import OrderBy, Pagination

PAGE = 100


@route("GET", "/api/v1/job-queues", access=FILTERED, in_task=READS)
async def get_jobs(
    call: Call, request: wire.GetJobsRequest, job_queue: JobQueue
) -> wire.GetJobsResponse:
    """The jobs of a pool in the order of its queue."""
    jobs, pagination = await _jobs(call, request, job_queue)
    return wire.GetJobsResponse(pagination=pagination, jobs=[_job(job) for job in jobs])


@route("GET", "/api/v1/job-queues-v2", access=FILTERED, in_task=READS)
async def get_jobs_v2(
    call: Call, request: wire.GetJobsV2Request, job_queue: JobQueue
) -> wire.GetJobsV2Response:
    """The same; of jobs that the caller may not see only their place."""
    jobs, pagination = await _jobs(call, request, job_queue)
    shown = [
        RBACJob(limited=_limited(job)) if job.is_limited else RBACJob(full=_job(job))
        for job in jobs
    ]
    return wire.GetJobsV2Response(pagination=pagination, jobs=shown)


@route("GET", "/api/v1/job-queues/stats", access=SIGNED_IN, in_task=READS)
async def get_job_queue_stats(
    call: Call, request: wire.GetJobQueueStatsRequest, job_queue: JobQueue
) -> wire.GetJobQueueStatsResponse:
    """How many jobs wait and run in each pool, and how long requests waited."""
    found = await job_queue.stats(call.caller, request.resource_pools)
    return wire.GetJobQueueStatsResponse(
        results=[
            wire.RPQueueStat(
                stats=QueueStats(queued_count=pool.queued, scheduled_count=pool.scheduled),
                resource_pool=pool.pool,
                aggregates=[AggregateQueueStats(period_start=d, seconds=s) for d, s in pool.waits],
            )
            for pool in found
        ]
    )


@route("POST", "/api/v1/job-queues", access=IN_SERVICE, in_task=WORKS)
async def update_job_queue(
    call: Call, request: wire.UpdateJobQueueRequest, job_changes: JobChanges
) -> wire.UpdateJobQueueResponse:
    """Change priority, weight, place or pool of jobs."""
    changes = [
        struct_of(JobChange, update, pool=update.resource_pool) for update in request.updates
    ]
    await job_changes.apply(call.caller, changes)
    return wire.UpdateJobQueueResponse()


@route("GET", "/api/v1/job-queues/{id}/why", access=IN_SERVICE, in_task=READS)
async def get_job_why(
    call: Call, request: own.GetJobWhyRequest, job_why: JobWhy
) -> own.GetJobWhyResponse:
    """What holds a waiting job, from the decision that left it waiting."""
    state = await job_why.why(call.caller, request.id)
    return own.GetJobWhyResponse(
        job_id=state.job_id,
        resource_pool=state.pool,
        state="QUEUED" if not state.running else "SCHEDULED",
        text=state.text,
        waiting=state.waiting,
        running=state.running,
        waits=None if state.why is None else _waits(state.why, partial(_who, state)),
    )


async def _jobs(
    call: Call, request: wire.GetJobsRequest | wire.GetJobsV2Request, job_queue: JobQueue
) -> tuple[Sequence[JobFacts], Pagination]:
    if request.limit < 0 or request.offset < 0:
        raise InvalidArgument(
            f"offset {request.offset}, limit {request.limit}: neither may be negative"
        )
    wanted = JobQuery(
        states={state.name.removeprefix("STATE_") for state in request.states},
        descending=request.order_by is OrderBy.ORDER_BY_DESC,
        offset=request.offset,
        limit=request.limit or PAGE,
    )
    jobs, page = await job_queue.list_jobs(call.caller, request.resource_pool, wanted)
    return jobs, pagination(page)


def _job(job: JobFacts) -> Job:
    shown = _unpriced(job)
    if job.cost_per_hour is None:
        return shown
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    # Written here, since a list of Job has no field for the cost.
    return ready(Job, encode(own.PricedJob(**fields, cost_per_hour=job.cost_per_hour)))


def _unpriced(job: JobFacts) -> Job:
    return struct_of(
        Job,
        job,
        summary=JobSummary(state=JobState[f"STATE_{job.state}"], jobs_ahead=job.jobs_ahead),
        type=JobType[f"TYPE_{job.type}"],
        submission_time=None if job.is_limited else job.submitted_at,
        resource_pool=job.pool,
    )


def _limited(job: JobFacts) -> LimitedJob:
    return struct_of(
        LimitedJob,
        job,
        summary=JobSummary(state=JobState[f"STATE_{job.state}"], jobs_ahead=job.jobs_ahead),
        type=JobType[f"TYPE_{job.type}"],
        resource_pool=job.pool,
    )


def _who(state: JobExplanation, allocation_id: str) -> dict[str, Any]:
    """Name, owner and ids of a task, to show and to link it; empty for a hidden one."""
    holder = state.holders.get(allocation_id)
    if holder is None:
        return {}
    return {
        "name": holder.name,
        "username": state.usernames.get(str(holder.user_id), ""),
        "task_id": holder.task_id,
        "trial_id": holder.trial_id,
        "experiment_id": holder.experiment_id,
    }


def _waits(why: Why, who: Callable[[str], dict[str, Any]]) -> own.WhyWaits:
    return struct_of(
        own.WhyWaits,
        why,
        free=[struct_of(own.WhyFree, one) for one in why.free],
        ahead=[struct_of(own.WhyAhead, one, **who(one.allocation_id)) for one in why.ahead],
        next=[struct_of(own.WhyNext, one, **who(one.allocation_id)) for one in why.next],
    )

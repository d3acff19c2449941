"""The route of all jobs that run or wait."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.services.queue.all_jobs import AllJobs
from determined_wire.ui import jobs as wire


@route("GET", "/api/ui/v1/jobs", access=FILTERED)
async def get_all_jobs(
    call: Call, request: wire.GetAllJobsRequest, all_jobs: AllJobs
) -> wire.GetAllJobsResponse:
    """The jobs of all pools that run or wait, with what holds them."""
    facts = await all_jobs.read(call.caller)
    jobs = [
        struct_of(
            wire.ListedJob,
            job,
            id=job.entity_id,
            kind=job.type.lower(),
            state=job.state,
            resource_pool=job.pool,
            reason=facts.reasons.get(job.job_id, ""),
        )
        for job in facts.jobs
    ]
    return wire.GetAllJobsResponse(jobs=jobs, total=facts.total, hidden_count=facts.hidden_count)

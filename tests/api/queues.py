"""Jobs in the queues of a master whose pools plan nothing: tests do what a pool would."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.api import cases_experiments as scene
from tests.api.client import Answer
from tests.api.samples import World

from determined_master import clock, entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation import messages as alloc
from determined_master.pools.live import LiveAllocations
from determined_master.services.access.users import Users
from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourceManager, ResourcePool, Scheduler

QUEUES = "/api/v1/job-queues"
SETTINGS = Settings(
    checkpoint_storage={"type": "shared_fs", "host_path": "/tmp/storage"},
    resource_manager=ResourceManager(scheduler=Scheduler(preemption=True)),
    resource_pools=(
        ResourcePool(),
        ResourcePool(pool_name="side", scheduler=Scheduler(default_priority=7)),
        ResourcePool(pool_name="shared", scheduler=Scheduler(type="fair_share")),
    ),
)


class Job(NamedTuple):
    """A job with one request."""

    id: str
    entity_id: str
    allocation_id: str


async def submit(world: World, **resources: Any) -> Job:
    """An experiment whose one trial waits for slots."""
    config = f"{scene.CONFIG}resources: {json.dumps(resources)}\n"
    admin = world.clients["admin"]
    body = {"config": config, "modelDefinition": [scene.FILE], "activate": True}
    answer = await admin("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    made = answer.json()["experiment"]
    path = f"/api/v1/experiments/{made['id']}/trials"
    [trial] = await scene.until(admin, path, lambda got: got["trials"])
    allocation_id = f"{trial['taskId']}.1"

    async def is_queued() -> bool:
        """Its row is there a little earlier, which others may see before the engine does."""
        return world.services[LiveAllocations].find(allocation_id) is not None

    await scene.until_true(is_queued, bool, [])
    return Job(made["jobId"], str(made["id"]), allocation_id)


async def request_of(world: World, task_type: alloc.TaskType, **overrides: Any) -> Job:
    """A job that is no experiment, as one of that type would ask for slots."""
    job_id, task_id = str(entropy.new_uuid()), str(entropy.new_uuid())
    allocation_id, now = f"{task_id}.1", clock.now()
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute(
            "INSERT INTO tasks (id, type, job_id, user_id, started_at) VALUES ($1, $2, $3, 1, $4)",
            *(task_id, task_type, job_id, now),
        )
        await conn.execute(
            "INSERT INTO allocations (id, task_id, state, pool, slots, requested_at)"
            " VALUES ($1, $2, 'PENDING', 'default', 0, $3)",
            *(allocation_id, task_id, now),
        )
    fields: dict[str, Any] = {"slots": 0, "pool": "default", "name": "Command (calm-cat)"}
    request = alloc.AllocationRequest(
        **{**fields, **overrides},
        task_id=task_id,
        task_type=task_type,
        job_id=job_id,
        submitted_at=now,
        requested_at=now,
    )
    event = alloc.AllocationRequested(allocation_id=allocation_id, request=request)
    await world.engine.post(ALLOCATION, allocation_id, event, cause=f"test:{allocation_id}")
    return Job(job_id, task_id, allocation_id)


async def listed(world: World, query: str = "") -> list[dict[str, Any]]:
    """The jobs of a queue, the default compute pool's unless the query says otherwise."""
    answer = await world.clients["admin"]("GET", f"{QUEUES}?{query}")
    assert answer.status == 200, answer.body
    jobs: list[dict[str, Any]] = answer.json()["jobs"]
    return jobs


async def order(world: World, query: str = "") -> list[str]:
    """Ids of the jobs of a queue."""
    return [job["jobId"] for job in await listed(world, query)]


async def update(world: World, *changes: dict[str, Any]) -> Answer:
    """Change jobs."""
    return await world.clients["admin"]("POST", QUEUES, {"updates": changes})


async def changed(world: World, job: Job, **change: Any) -> None:
    """Change one job, which must be possible."""
    answer = await update(world, {"jobId": job.id, **change})
    assert (answer.status, answer.json()) == (200, {}), answer.body


def live(world: World, job: Job) -> alloc.AllocationRequest:
    """What a job asks of the scheduler now."""
    found = world.services[LiveAllocations].find(job.allocation_id)
    assert found is not None
    return found.request

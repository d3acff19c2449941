"""Live requests follow what their jobs' rows say, also when they were not told at first."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.queues import SETTINGS, Job, live, request_of, submit
from tests.api.samples import World
from tests.api.scenes import run
from tests.covers import covers

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.allocation.messages import JobTerms
from determined_master.pools.live import LiveAllocations
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.queue.job_terms import JobTermsSync
from determined_master.store.db import Address, Database

pytestmark = pytest.mark.slow


@pytest.fixture
async def world(database: Address, pool: Database) -> AsyncIterator[World]:
    passwords = Passwords(memory_kib=8, time_cost=1)
    async with running_services(database, pool, passwords, SETTINGS) as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
        yield World(services, engine, {}, {"admin": Client(api, opened.token)})
        api.close()
    passwords.close()


async def rewrite(pool: Database, job: Job, what: str) -> None:
    """Change a job's row and tell nobody, as a master that dies right after its commit."""
    await pool.execute(f"UPDATE experiments SET {what} WHERE job_id = $1::uuid", job.id)


async def events_of(pool: Database, job: Job) -> list[str]:
    query = """
        SELECT event::json ->> 'event' AS event FROM journal
         WHERE kind = 'allocation' AND id = $1 ORDER BY version
    """
    return [row["event"] for row in await pool.fetch(query, job.allocation_id)]


@covers("scheduling-and-provisioning a.5.rows_first")
async def test_an_update_lost_between_row_and_request_is_sent_again(
    world: World, pool: Database
) -> None:
    job, other = await submit(world), await submit(world)
    await rewrite(
        pool,
        job,
        "config = jsonb_set(config, '{resources,priority}', '9'), queue_position = 5",
    )
    assert live(world, job).priority == 42
    await world.services[JobTermsSync].sync()
    assert (live(world, job).priority, live(world, job).position) == (9, 5)
    assert (live(world, other).priority, live(world, other).position) == (42, None)


async def test_the_terms_of_a_generic_task_are_sent_again_too(
    world: World, pool: Database
) -> None:
    config = "entrypoint: [go]\nresources: {slots: 0}\n"
    made = await world.clients["admin"]("POST", "/api/v1/generic-tasks", {"config": config})
    task_id = made.json()["taskId"]
    path = f"/api/v1/tasks/{task_id}"
    await scene.until(world.clients["admin"], path, lambda got: got["task"]["allocations"])
    job_id = await pool.fetchval("SELECT job_id::text FROM tasks WHERE id = $1", task_id)
    job = Job(job_id, task_id, f"{task_id}.1")
    what = "config = jsonb_set(config, '{resources,priority}', '9'), queue_position = 5"
    await pool.execute(f"UPDATE generic_tasks SET {what} WHERE task_id = $1", task_id)
    await world.services[JobTermsSync].sync()
    assert (live(world, job).priority, live(world, job).position) == (9, 5)
    await world.services[JobTermsSync].sync()
    assert await events_of(pool, job) == ["allocation_requested", "terms_changed"]


async def test_requests_with_current_terms_get_no_event(world: World, pool: Database) -> None:
    job = await submit(world)
    before = await events_of(pool, job)
    await world.services[JobTermsSync].sync()
    await world.services[JobTermsSync].sync([job.id])
    await world.services[JobTermsSync].sync([])
    assert await events_of(pool, job) == before == ["allocation_requested"]


async def test_only_the_chosen_jobs_are_compared(world: World, pool: Database) -> None:
    job, other = await submit(world), await submit(world)
    for each in (job, other):
        await rewrite(pool, each, "config = jsonb_set(config, '{resources,weight}', '3')")
    await world.services[JobTermsSync].sync([job.id])
    assert (live(world, job).weight, live(world, other).weight) == (3, 1)


async def test_a_run_in_a_pool_that_its_job_has_left_is_asked_to_leave_once(
    world: World, pool: Database
) -> None:
    job = await submit(world)
    await run(world, job.allocation_id)
    path = f"/api/v1/allocations/{job.allocation_id}/ready"
    await world.clients["admin"]("POST", path, {})
    await rewrite(pool, job, "resource_pool = 'side'")
    await world.services[JobTermsSync].sync()
    await world.services[JobTermsSync].sync()
    found = world.services[LiveAllocations].find(job.allocation_id)
    assert found is not None
    assert found.preempt_reason == "allocation resource pool changed"
    assert (await events_of(pool, job)).count("preempt_requested") == 1


async def test_the_terms_of_a_job_without_a_row_are_its_requests_own(world: World) -> None:
    command = await request_of(world, "COMMAND", priority=50)
    await world.services[JobTermsSync].sync()
    assert live(world, command).priority == 50
    await world.services[JobTermsSync].post(command.id, JobTerms(7, 2.0, position=None))
    await world.services[JobTermsSync].sync()
    assert (live(world, command).priority, live(world, command).weight) == (7, 2.0)
    await world.services[JobTermsSync].post("nobody", JobTerms(1, 1.0))

"""The list of all jobs: every pool's queue, with what holds each job that waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import ok
from tests.api.master import PASSWORD, running_services
from tests.api.queues import SETTINGS, request_of, submit
from tests.api.samples import World

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.allocation import messages as alloc
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.queue import all_jobs
from determined_master.store.db import Address, Database

pytestmark = pytest.mark.slow


@pytest.fixture
async def world(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    async with running_services(database, pool, passwords, SETTINGS) as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
        yield World(services, engine, {}, {"admin": Client(api, opened.token)})
        api.close()


async def listed(world: World) -> dict[str, Any]:
    answer: dict[str, Any] = await ok(world.clients["admin"], "GET", "/api/ui/v1/jobs")
    return answer


async def test_jobs_of_all_pools_are_listed_in_the_order_of_their_queues(world: World) -> None:
    later, first = await submit(world, priority=20), await submit(world, priority=10)
    other = await submit(world, resource_pool="side", slots_per_trial=3)
    shell = await request_of(world, "SHELL")
    placed = (alloc.Placed("c1", "a1", (0,)),)
    await scene.post(world, {"allocation_id": first.allocation_id}, alloc.Assigned(placed))
    answer = await listed(world)
    assert (answer["total"], answer["hiddenCount"]) == (4, 0)
    jobs = {job["jobId"]: job for job in answer["jobs"]}
    assert [job["jobId"] for job in answer["jobs"] if job["kind"] == "experiment"] == [
        first.id,
        later.id,
        other.id,
    ]
    assert jobs[shell.id]["kind"] == "shell"
    running, waiting, side = (jobs[job.id] for job in (first, later, other))
    assert (running["state"], running["allocatedSlots"], running["requestedSlots"]) == (
        "SCHEDULED",
        1,
        1,
    )
    assert (waiting["state"], waiting["jobsAhead"], waiting["priority"]) == ("QUEUED", 1, 20)
    assert (side["resourcePool"], side["requestedSlots"], side["username"]) == ("side", 3, "admin")
    assert side["id"] == other.entity_id


async def test_beyond_the_bound_jobs_are_counted_only(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [await submit(world) for _ in range(3)]
    monkeypatch.setattr(all_jobs, "MAX_JOBS", 2)
    answer = await listed(world)
    assert [job["jobId"] for job in answer["jobs"]] == [job.id for job in jobs[:2]]
    assert (answer["total"], answer["hiddenCount"]) == (3, 0)

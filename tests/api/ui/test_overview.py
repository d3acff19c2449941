"""The overview: the caller's own things that run, wait and failed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import ok
from tests.api.master import PASSWORD, running_services
from tests.api.queues import SETTINGS, submit
from tests.api.samples import World

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.access.permissions import Permission
from determined_master.domain.access.rights import Rights
from determined_master.domain.access.rules import Caller
from determined_master.domain.allocation import messages as alloc
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.queue import overview as overview_module
from determined_master.services.queue.own_jobs import JobOwners
from determined_master.store.db import Address, Conn, Database
from determined_master.store.queue import job_queue

pytestmark = pytest.mark.slow


@pytest.fixture
async def world(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    async with running_services(database, pool, passwords, SETTINGS) as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        clients = {}
        for name, username in (("admin", "admin"), ("user", "determined")):
            opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
            clients[name] = Client(api, opened.token)
        yield World(services, engine, {}, clients)
        api.close()


async def overview(world: World, who: str = "admin") -> dict[str, Any]:
    found: dict[str, Any] = await ok(world.clients[who], "GET", "/api/ui/v1/overview")
    return found


async def test_own_jobs_are_shown_with_their_places_and_others_are_not(world: World) -> None:
    first, second = await submit(world, priority=10), await submit(world, priority=20)
    found = await overview(world)
    assert (found["runningCount"], found["queuedCount"]) == (0, 2)
    places = {item["id"]: item["jobsAhead"] for item in found["queued"]}
    assert places == {first.entity_id: 0, second.entity_id: 1}
    assert found["queued"][0]["id"] == second.entity_id  # the newest first
    item = found["queued"][1]
    assert (item["kind"], item["state"], item["projectId"], item["slots"], item["jobId"]) == (
        "experiment",
        "QUEUED",
        1,
        1,
        first.id,
    )
    assert (await overview(world, "user"))["queuedCount"] == 0
    placed = (alloc.Placed("c1", "a1", (0,)),)
    names = {"allocation_id": first.allocation_id}
    await scene.post(world, names, alloc.Assigned(placed))
    found = await overview(world)
    assert [item["id"] for item in found["running"]] == [first.entity_id]
    assert [item["jobsAhead"] for item in found["running"]] == [-1]


async def test_of_many_own_jobs_only_the_shown_ones_are_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [await submit(world) for _ in range(5)]
    placed = (alloc.Placed("c1", "a1", (0,)),)
    await scene.post(world, {"allocation_id": jobs[0].allocation_id}, alloc.Assigned(placed))
    read: list[str] = []

    async def list_jobs(conn: Conn, job_ids: Iterable[str]) -> list[job_queue.JobRow]:
        read.extend(job_ids)
        return await whole(conn, job_ids)

    whole = job_queue.list_jobs
    monkeypatch.setattr(job_queue, "list_jobs", list_jobs)
    monkeypatch.setattr(overview_module, "MAX_ITEMS", 2)
    found = await overview(world)
    assert (found["runningCount"], found["queuedCount"]) == (1, 4)
    assert [item["jobId"] for item in found["running"]] == [jobs[0].id]
    assert [item["jobId"] for item in found["queued"]] == [jobs[4].id, jobs[3].id]
    assert sorted(read) == sorted([jobs[0].id, jobs[3].id, jobs[4].id])


async def test_the_owner_of_a_job_is_read_once(world: World, pool: Database) -> None:
    first, owners, admin = await submit(world), JobOwners(pool), Caller(1, "admin", is_admin=True)
    assert await owners.own(admin, {first.id}) == {first.id}
    await pool.execute("UPDATE experiments SET user_id = 2")
    second = await submit(world)
    assert await owners.own(admin, {first.id, second.id}) == {first.id, second.id}
    assert await owners.own(Caller(2, "determined"), {first.id, second.id}) == set()
    assert await owners.own(admin, set()) == set()
    assert await owners.own(admin, {first.id}) == set(), "jobs that have left are forgotten"


async def test_own_jobs_of_a_workspace_that_the_user_no_longer_sees_are_left_out(
    world: World, pool: Database
) -> None:
    job = await submit(world)

    def member(workspace_id: int) -> Caller:
        return Caller(1, "admin", rights=Rights(within={workspace_id: frozenset(Permission)}))

    owners = JobOwners(pool)
    assert await owners.own(member(1), {job.id}) == {job.id}
    assert await owners.own(member(2), {job.id}) == set()


async def test_failures_are_shown_until_the_next_visit(world: World, pool: Database) -> None:
    assert (await overview(world))["lastVisitAt"] is None
    jobs = [await submit(world) for _ in range(3)]
    ids = [int(job.entity_id) for job in jobs]
    await pool.execute(
        "UPDATE experiments SET state = 'ERROR', reason = 'no luck', ended_at = now() "
        "WHERE id = ANY ($1)",
        ids[:2],
    )
    await pool.execute(
        "UPDATE experiments SET state = 'ERROR', ended_at = now() - interval '8 days' "
        "WHERE id = $1",
        ids[2],
    )
    found = await overview(world)
    assert {item["id"] for item in found["failures"]} == {str(i) for i in ids[:2]}
    assert (found["failureCount"], found["failures"][0]["reason"]) == (2, "no luck")
    assert (await overview(world, "user"))["failures"] == []
    await ok(world.clients["admin"], "POST", "/api/ui/v1/overview/visit", {})
    found = await overview(world)
    assert (found["failures"], found["failureCount"]) == ([], 0)
    assert found["lastVisitAt"] is not None


async def test_a_task_that_failed_is_a_failure(world: World, pool: Database) -> None:
    await pool.execute(
        "INSERT INTO tasks (id, type, job_id, user_id, started_at, ended_at) "
        "VALUES ('t1', 'COMMAND', gen_random_uuid(), 1, now(), now())"
    )
    await pool.execute(
        "INSERT INTO interactive_tasks (task_id, state, config, workspace_id) "
        "VALUES ('t1', 'TERMINATED', '{\"description\": \"my command\"}', 1)"
    )
    await pool.execute(
        "INSERT INTO allocations (id, task_id, state, pool, slots, requested_at, ended_at, "
        "exit_error) VALUES ('t1.1', 't1', 'TERMINATED', 'default', 0, now(), now(), 'exit 1')"
    )
    (failure,) = (await overview(world))["failures"]
    assert (failure["kind"], failure["id"], failure["name"], failure["reason"]) == (
        "command",
        "t1",
        "my command",
        "exit 1",
    )


async def activity(world: World, query: str = "", who: str = "admin") -> dict[str, Any]:
    path = f"/api/ui/v1/overview/activity?{query}"
    found: dict[str, Any] = await ok(world.clients[who], "GET", path)
    return found


async def test_activity_counts_submissions_by_day_and_what_became_of_them(
    world: World, pool: Database
) -> None:
    jobs = [await submit(world) for _ in range(4)]
    ids = [int(job.entity_id) for job in jobs]
    await pool.execute(
        "UPDATE experiments SET state = 'COMPLETED', ended_at = now() WHERE id = $1", ids[0]
    )
    await pool.execute(
        "UPDATE experiments SET state = 'ERROR', ended_at = now() WHERE id = $1", ids[1]
    )
    await pool.execute(
        "UPDATE experiments SET started_at = started_at - interval '2 days' WHERE id = $1", ids[2]
    )
    days = (await activity(world, "days=7"))["days"]
    assert len(days) == 7
    assert [day["submitted"] for day in days] == [0, 0, 0, 0, 1, 0, 3]
    assert (days[-1]["completed"], days[-1]["failed"]) == (1, 1)
    assert [day["day"] for day in days] == sorted(day["day"] for day in days)
    assert len((await activity(world))["days"]) == 30
    others = (await activity(world, "days=7", "user"))["days"]
    assert sum(day["submitted"] for day in others) == 0


async def test_activity_has_slot_seconds_of_summed_days_and_of_today(
    world: World, pool: Database
) -> None:
    await submit(world)
    await pool.execute(
        "INSERT INTO usage_days SELECT (now() AT TIME ZONE 'UTC')::date - 2, 'username', u, s "
        "FROM (VALUES ('admin', 7200.0), ('determined', 1.0)) v (u, s)"
    )
    await pool.execute(
        "UPDATE allocations SET slots = 2, started_at = day, ended_at = day + interval '1 second' "
        "FROM (SELECT date_trunc('day', now(), 'UTC') AS day) d"
    )
    days = (await activity(world, "days=3"))["days"]
    assert [day["slotSeconds"] for day in days] == [7200.0, 0.0, 2.0]


async def test_successful_ends_are_shown_until_the_next_visit(
    world: World, pool: Database
) -> None:
    jobs = [await submit(world) for _ in range(3)]
    ids = [int(job.entity_id) for job in jobs]
    for id, state in zip(ids, ("COMPLETED", "CANCELED", "ERROR"), strict=True):
        query = "UPDATE experiments SET state = $2, ended_at = now() WHERE id = $1"
        await pool.execute(query, id, state)
    found = await activity(world)
    assert {(item["id"], item["state"]) for item in found["ended"]} == {
        (str(ids[0]), "COMPLETED"),
        (str(ids[1]), "CANCELED"),
    }
    assert (found["endedCount"], found["lastVisitAt"]) == (2, None)
    await ok(world.clients["admin"], "POST", "/api/ui/v1/overview/visit", {})
    found = await activity(world)
    assert (found["ended"], found["endedCount"]) == ([], 0)


@pytest.mark.parametrize("days", ["-1", "367"])
async def test_activity_of_too_many_days_is_refused(world: World, days: str) -> None:
    answer = await world.clients["admin"]("GET", f"/api/ui/v1/overview/activity?days={days}")
    assert (answer.status, f"days is {days}" in answer.text) == (400, True)

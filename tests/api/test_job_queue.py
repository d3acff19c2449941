"""The job queue over the API: its order, what can be changed in it, and its statistics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.queues import (
    QUEUES,
    SETTINGS,
    changed,
    listed,
    live,
    order,
    request_of,
    submit,
    update,
)
from tests.api.samples import World
from tests.api.scenes import reaches, run, run_to_end
from tests.covers import covers

from determined_master import clock
from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.pools.live import LiveAllocations
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.services.cluster.pools import Pools
from determined_master.store.db import Address, Database


@pytest.fixture
async def world(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    """A master of three pools: by priority with preemption, without it, and by shares."""
    async with running_services(database, pool, passwords, SETTINGS) as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
        yield World(services, engine, {}, {"admin": Client(api, opened.token)})
        api.close()


def summary_of(job: dict[str, Any]) -> tuple[str, int]:
    return job["summary"]["state"], job["summary"]["jobsAhead"]


@covers(
    "scheduling-and-provisioning a.1.defaults a.2.priority a.4.priority a.4.weight "
    "a.6.list_default a.6.list_order a.6.queued"
)
async def test_a_queue_is_ordered_by_priority_and_age_and_counts_jobs_ahead(
    world: World,
) -> None:
    first, second = await submit(world), await submit(world)
    urgent = await submit(world, priority=1)
    jobs = await listed(world)
    assert [job["jobId"] for job in jobs] == [urgent.id, first.id, second.id]
    assert [summary_of(job) for job in jobs] == [("STATE_QUEUED", n) for n in range(3)]
    assert [(job["priority"], job["weight"]) for job in jobs] == [(1, 1), (42, 1), (42, 1)]
    assert live(world, first).max_slots is None
    backwards = await order(world, "resourcePool=default&orderBy=ORDER_BY_DESC")
    assert backwards == [second.id, first.id, urgent.id]


@covers("scheduling-and-provisioning a.2.fair_share a.3.fair_share")
async def test_a_pool_of_shares_has_no_order(world: World) -> None:
    one, other = [await submit(world, resource_pool="shared") for _ in range(2)]
    await changed(world, other, priority=1)
    jobs = await listed(world, "resourcePool=shared")
    assert [job["jobId"] for job in jobs] == [one.id, other.id]
    assert [summary_of(job) for job in jobs] == [("STATE_QUEUED", -1)] * 2
    refused = await update(world, {"jobId": one.id, "aheadOf": other.id})
    assert (refused.status, "change the job's weight instead" in refused.text) == (400, True)


@covers(
    "scheduling-and-provisioning a.2.no_position a.3.start a.3.ahead_behind a.3.reset a.3.same"
)
async def test_a_moved_job_keeps_its_place_until_its_priority_changes(world: World) -> None:
    first, second, third = [await submit(world) for _ in range(3)]
    await changed(world, third, aheadOf=first.id)
    assert await order(world) == [third.id, first.id, second.id]
    await changed(world, first, behindOf=second.id)
    assert await order(world) == [third.id, second.id, first.id]
    await changed(world, third, priority=42)
    assert await order(world) == [third.id, second.id, first.id]
    await changed(world, third, priority=43)
    assert await order(world) == [second.id, first.id, third.id]
    for job in (third, first):
        await changed(world, job, priority=41)
    assert live(world, first).position is None
    assert await order(world) == [first.id, third.id, second.id]
    await changed(world, second, aheadOf=third.id)
    assert await order(world) == [first.id, second.id, third.id]
    assert live(world, second).priority == 41


@covers("scheduling-and-provisioning a.3.continued")
async def test_an_experiment_that_continues_is_back_at_its_age(world: World) -> None:
    first, second = await submit(world), await submit(world)
    await changed(world, second, aheadOf=first.id)
    await run_to_end(world, second.allocation_id, 0)
    await reaches(world, second.entity_id, "STATE_COMPLETED")
    body = {"id": int(second.entity_id), "overrideConfig": ""}
    answer = await world.clients["admin"]("POST", "/api/v1/experiments/continue", body)
    assert answer.status == 200, answer.body
    await scene.until(world.clients["admin"], QUEUES, lambda got: len(got["jobs"]) == 2)
    assert await order(world) == [first.id, second.id]


@covers(
    "scheduling-and-provisioning a.5.one_by_one a.5.one_failure a.5.several_failures "
    "a.5.unknown_job a.5.priority_range a.5.weight_range"
)
async def test_each_change_is_tried_and_all_failures_are_reported(world: World) -> None:
    job = await submit(world)
    answer = await update(
        world,
        {"jobId": "zz", "priority": 2},
        {"jobId": job.id, "priority": 7},
        {"jobId": job.id, "weight": 0},
    )
    assert answer.status == 400
    assert answer.text == (
        "encountered the following errors: job zz not found, weight must be greater than 0, but "
        "found 0.0"
    )
    assert live(world, job).priority == 7
    for change, status, said in (
        ({"jobId": "zz", "priority": 2}, 404, "job zz not found"),
        ({"jobId": "0" * 8, "weight": 2}, 404, "job 00000000 not found"),
        ({"jobId": job.id, "priority": 0}, 400, "priority must be between 1 and 99"),
        ({"jobId": job.id, "priority": 100}, 400, "priority must be between 1 and 99"),
        ({"jobId": job.id, "weight": -1}, 400, "weight must be greater than 0"),
    ):
        answer = await update(world, change)
        assert answer.status == status
        assert answer.text.startswith(said)
    assert (live(world, job).priority, live(world, job).weight) == (7, 1)


@covers("scheduling-and-provisioning a.5.pool_unknown a.5.pool_same a.5.no_action")
async def test_a_pool_or_an_action_that_makes_no_sense_is_refused(world: World) -> None:
    job = await submit(world)
    for change, status, said in (
        ({"resourcePool": ""}, 404, "invalid resource pool name : choose one of default, side"),
        ({"resourcePool": "gone"}, 404, "invalid resource pool name gone"),
        ({"resourcePool": "default"}, 400, "resource pool is unchanged (default == default)"),
        ({}, 400, "unexpected action: "),
        ({"aheadOf": job.id}, 400, f"job {job.id} cannot be moved ahead of or behind itself"),
        ({"aheadOf": "zz"}, 404, "job zz not found in resource pool default"),
    ):
        answer = await update(world, {"jobId": job.id, **change})
        assert (answer.status, answer.text[: len(said)]) == (status, said)


@covers("scheduling-and-provisioning a.5.pool_bound")
async def test_a_job_does_not_move_to_a_pool_of_other_workspaces(world: World) -> None:
    job, admin = await submit(world), world.clients["admin"]
    made = await admin("POST", "/api/v1/workspaces", {"name": "theirs"})
    bindings = "/api/v1/resource-pools/side/workspace-bindings"
    body = {"workspaceIds": [made.json()["workspace"]["id"]], "workspaceNames": []}
    assert (await admin("POST", bindings, body)).status == 200
    answer = await update(world, {"jobId": job.id, "resourcePool": "side"})
    said = "resource pool side does not exist or is not available to workspace id 1"
    assert (answer.status, answer.text[: len(said)]) == (400, said)
    assert live(world, job).pool == "default"


@covers("scheduling-and-provisioning a.3.no_request a.5.begin")
async def test_a_job_without_a_request_is_changed_and_its_next_request_knows(
    world: World,
) -> None:
    job = await submit(world, resource_pool="side", max_slots=3)
    assert (live(world, job).priority, live(world, job).max_slots) == (7, 3)
    admin = world.clients["admin"]
    await admin("POST", f"/api/v1/experiments/{job.entity_id}/pause")
    side = f"{QUEUES}?resourcePool=side"
    await scene.until(admin, side, lambda got: not got["jobs"])
    await changed(world, job, priority=9)
    await changed(world, job, weight=2.5)
    await admin("POST", f"/api/v1/experiments/{job.entity_id}/activate")
    found = await scene.until(admin, side, lambda got: got["jobs"])
    assert [(j["priority"], j["weight"]) for j in found] == [(9, 2.5)]
    [again] = world.services[LiveAllocations].of_job(job.id)
    assert again.id != job.allocation_id
    assert (again.request.priority, again.request.max_slots) == (9, 3)


@covers("scheduling-and-provisioning a.5.patch a.5.rows_first")
async def test_an_edit_of_an_experiment_reaches_its_live_request(world: World) -> None:
    job = await submit(world)
    body = {"resources": {"priority": 3, "weight": 4, "maxSlots": 5}}
    path = f"/api/v1/experiments/{job.entity_id}"
    assert (await world.clients["admin"]("PATCH", path, body)).status == 200
    request = live(world, job)
    assert (request.priority, request.weight, request.max_slots) == (3, 4, 5)
    kept = (await world.clients["admin"]("GET", path)).json()["config"]["resources"]
    assert (kept["priority"], kept["weight"], kept["max_slots"]) == (3, 4, 5)


@covers("scheduling-and-provisioning a.5.pool_change")
async def test_a_job_that_moves_leaves_and_asks_again_in_its_new_pool_with_its_terms(
    world: World,
) -> None:
    job = await submit(world, priority=3)
    names = await run(world, job.allocation_id)
    await world.clients["admin"]("POST", f"/api/v1/allocations/{job.allocation_id}/ready", {})
    await changed(world, job, resourcePool="side")
    found = world.services[LiveAllocations].find(job.allocation_id)
    assert found is not None
    assert found.preempt_reason == "allocation resource pool changed"
    assert found.kill_cause is None
    await scene.post(world, names, scene.alloc.PreemptAcknowledged())
    await scene.container(world, names, "TERMINATED", exit_code=0)
    side = f"{QUEUES}?resourcePool=side"
    there = await scene.until(world.clients["admin"], side, lambda got: got["jobs"])
    assert [(j["jobId"], j["priority"]) for j in there] == [(job.id, 3)]
    assert await order(world) == []


@covers("scheduling-and-provisioning a.4.preemptible a.5.pool_type")
async def test_jobs_of_every_type_are_moved_but_only_experiments_between_pools(
    world: World,
) -> None:
    first, command = await submit(world), await request_of(world, "COMMAND")
    assert [(j["jobId"], j["type"], j["isPreemptible"]) for j in await listed(world)] == [
        (first.id, "TYPE_EXPERIMENT", True),
        (command.id, "TYPE_COMMAND", False),
    ]
    await changed(world, command, aheadOf=first.id)
    assert await order(world) == [command.id, first.id]
    await changed(world, command, weight=2)
    assert await order(world) == [command.id, first.id]
    await changed(world, command, priority=50)
    assert (live(world, command).priority, live(world, command).weight) == (50, 2)
    assert await order(world) == [first.id, command.id]
    answer = await update(world, {"jobId": command.id, "resourcePool": "side"})
    said = "setting resource pool for job type COMMAND is not supported, only that of experiments"
    assert (answer.status, said in answer.text) == (400, True)


@covers("scheduling-and-provisioning a.1.place a.6.hidden")
async def test_the_masters_own_tasks_are_not_shown_and_cannot_be_moved(world: World) -> None:
    hidden = await request_of(world, "CHECKPOINT_GC")
    assert await order(world) == []
    assert (await update(world, {"jobId": hidden.id, "priority": 1})).status == 404
    path = f"{QUEUES}/stats?resourcePools=default"
    [found] = (await world.clients["admin"]("GET", path)).json()["results"]
    assert found["stats"] == {"queuedCount": 0, "scheduledCount": 0}


@covers(
    "scheduling-and-provisioning a.6.scheduled a.6.slots a.6.finished a.6.backfilled "
    "a.6.list_states a.6.summary"
)
async def test_a_job_is_queued_then_scheduled_then_gone(world: World) -> None:
    job, waiting = await submit(world), await submit(world)
    path = f"/api/v1/experiments/{job.entity_id}"
    admin = world.clients["admin"]
    before = (await admin("GET", path)).json()["jobSummary"]
    assert before == {"state": "STATE_QUEUED", "jobsAhead": 0}
    behind = (await admin("GET", f"/api/v1/experiments/{waiting.entity_id}")).json()
    assert behind["jobSummary"]["jobsAhead"] == 1
    names = await run(world, job.allocation_id)
    slots = [
        (j["jobId"], summary_of(j)[0], j["requestedSlots"], j["allocatedSlots"])
        for j in await listed(world)
    ]
    assert slots == [(job.id, "STATE_SCHEDULED", 1, 1), (waiting.id, "STATE_QUEUED", 1, 0)]
    assert await order(world, "states=STATE_SCHEDULED") == [job.id]
    assert await order(world, "states=STATE_QUEUED") == [waiting.id]
    await scene.container(world, names, "TERMINATED", exit_code=0)
    await reaches(world, job.entity_id, "STATE_COMPLETED")
    assert await order(world) == [waiting.id]
    assert (await admin("GET", path)).json()["jobSummary"] is None
    assert (await update(world, {"jobId": job.id, "priority": 1})).text == (
        f"job {job.id} not found"
    )


async def test_the_slots_of_a_job_have_a_price_in_a_pool_that_knows_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, waiting = await submit(world), await submit(world)
    names = await run(world, job.allocation_id)
    assert not any("costPerHour" in shown for shown in await listed(world))
    monkeypatch.setattr(Pools, "slot_price", lambda self, pool: 0.75)
    costs = {shown["jobId"]: shown["costPerHour"] for shown in await listed(world)}
    assert costs == {job.id: 0.75, waiting.id: 0.0}
    page = (await world.clients["admin"]("GET", f"{QUEUES}-v2")).json()
    assert [shown["full"]["costPerHour"] for shown in page["jobs"]] == [0.75, 0.0]
    await scene.container(world, names, "TERMINATED", exit_code=0)


@covers("scheduling-and-provisioning a.6.list_page")
async def test_a_page_of_a_queue_has_100_jobs_unless_another_is_asked_for(world: World) -> None:
    jobs = [await submit(world) for _ in range(3)]
    admin = world.clients["admin"]
    plain = (await admin("GET", QUEUES)).json()["pagination"]
    assert (plain["limit"], plain["endIndex"], plain["total"]) == (100, 3, 3)
    assert await order(world, "offset=1&limit=1") == [jobs[1].id]
    assert (await admin("GET", f"{QUEUES}?limit=-1")).status == 400


@covers("scheduling-and-provisioning a.6.pool_counts a.6.stats_days a.6.stats_names")
async def test_statistics_count_jobs_and_give_the_mean_wait_of_each_day(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()
    running, _ = await submit(world), await submit(world)
    await run(world, running.allocation_id)
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0)
    async with world.services[Users]._db.acquire() as conn:
        for days, wait_s in ((1, 10), (1, 30), (30, 7), (32, 99)):
            at = noon - timedelta(days=days)
            await conn.execute(
                "INSERT INTO allocations (id, task_id, state, pool, slots, requested_at,"
                " started_at, ended_at) SELECT gen_random_uuid(), id, 'TERMINATED', 'default', 1,"
                " $1, $2, $2 FROM tasks LIMIT 1",
                *(at, at + timedelta(seconds=wait_s)),
            )
    monkeypatch.setattr(clock, "now", lambda: now)  # the days asked for stay those counted from
    path = f"{QUEUES}/stats?resourcePools=default&resourcePools=nowhere"
    [found] = (await world.clients["admin"]("GET", path)).json()["results"]
    assert found["resourcePool"] == "default"
    assert found["stats"] == {"queuedCount": 1, "scheduledCount": 1}
    days = {a["periodStart"]: a["seconds"] for a in found["aggregates"]}
    assert days.pop(str(now.date())) < 60
    assert days.pop(str((now + timedelta(days=1)).date()), 0.0) < 60, "should midnight pass"
    assert days == {
        str((now - timedelta(days=1)).date()): 20,
        str((now - timedelta(days=30)).date()): 7,
    }
    everywhere = (await world.clients["admin"]("GET", f"{QUEUES}/stats")).json()["results"]
    assert [r["resourcePool"] for r in everywhere] == ["default", "side", "shared"]


@covers("scheduling-and-provisioning a.5.control")
async def test_every_user_may_change_the_queue_and_no_task_may(world: World) -> None:
    job = await submit(world)
    names = await run(world, job.allocation_id)
    api = world.clients["admin"].app
    task = Client(api, await scene.session_token(world, names))
    body = {"updates": [{"jobId": job.id, "priority": 1}]}
    assert (await task("POST", QUEUES, body)).status == 403
    opened = await world.services[Auth].login("determined", PASSWORD, is_hashed=False)
    assert (await Client(api, opened.token)("POST", QUEUES, body)).status == 200
    assert live(world, job).priority == 1


@covers("scheduling-and-provisioning a.4.preemption_flag")
async def test_pools_show_whether_they_preempt(world: World) -> None:
    pools = (await world.clients["admin"]("GET", "/api/v1/resource-pools")).json()["resourcePools"]
    told = {
        p["name"]: (p["schedulerType"].rsplit("TYPE_")[-1], p["details"]["priorityScheduler"])
        for p in pools
    }
    [(first, own), (second, other), shared] = told.values()
    assert (first, own["preemption"], own["defaultPriority"]) == ("PRIORITY", True, 42)
    assert (second, other["preemption"], other["defaultPriority"]) == ("PRIORITY", False, 7)
    assert shared == ("FAIR_SHARE", None)

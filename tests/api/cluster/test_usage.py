"""Reports on usage over the API."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.checkpoints.test_gc import collections_of, gone
from tests.api.client import Client
from tests.api.samples import World
from tests.api.scenes import reaches, run, run_to_end
from tests.api.workspaces.test_projects import project, workspace
from tests.covers import covers
from tests.store.rows import STARTED, add_allocation, add_experiment, add_project, add_trial

from determined_master import entropy
from determined_master.domain.allocation import messages as alloc
from determined_master.services.catalog import Services
from determined_master.services.cluster.usage import MAX_LISTED_SPANS, Usage
from determined_master.services.workspaces.projects import Projects
from determined_master.store.db import Database

E = "scheduling-and-provisioning"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
WINDOW = "timestamp_after=2026-01-01T00:00:00Z&timestamp_before=2026-01-02T00:00:00Z"
ALWAYS = "timestamp_after=2026-01-01T00:00:00Z&timestamp_before=2099-01-01T00:00:00Z"
DAILY = "period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
MONTHLY = "period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"


async def report(client: Client, name: str, query: str) -> list[dict[str, str]]:
    answer = await client("GET", f"/resources/allocation/{name}?{query}")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/csv"), answer.body
    return list(csv.DictReader(io.StringIO(answer.body.decode())))


async def an_experiment(pool: Database, key: str = "PROJ", **columns: Any) -> int:
    number = await add_project(pool, key)
    config = {"hyperparameters": {}, "resources": {"slots_per_trial": 2}}
    return await add_experiment(pool, number, config=config, **columns)


async def owner(pool: Database, experiment_id: int) -> str:
    query = "SELECT username FROM users u JOIN experiments e ON e.user_id = u.id WHERE e.id = $1"
    return str(await pool.fetchval(query, experiment_id))


@covers(f"{E} e.5.allocations e.5.overlap e.5.slot_hours e.5.times")
async def test_allocations_that_overlap_the_window_are_listed_by_their_start(
    user: Client, pool: Database
) -> None:
    number = await an_experiment(pool)
    name = await owner(pool, number)
    at = STARTED + 3 * HOUR
    images = {"pulling_at": at, "pulled_at": at + timedelta(milliseconds=1500)}
    second = await add_allocation(
        pool, number, started_at=at, ended_at=at + 30 * MINUTE, slots=4, workspace_name="w",
        pool="gpus", **images,
    )  # fmt: skip
    first = await add_allocation(pool, user_id=1, started_at=STARTED - HOUR, ended_at=at)
    await add_allocation(pool, number, started_at=STARTED - HOUR, ended_at=STARTED)
    await add_allocation(pool, number, started_at=STARTED + DAY, ended_at=STARTED + 2 * DAY)
    await add_allocation(pool, number)
    assert await report(user, "allocations-csv", WINDOW) == [
        {
            "allocation_id": first,
            "task_type": "COMMAND",
            "username": "admin",
            "workspace_name": "",
            "experiment_id": "",
            "slots": "1",
            "start_time": "2025-12-31T23:00:00Z",
            "end_time": "2026-01-01T03:00:00Z",
            "imagepulling_time": "0.0",
            "slot_hours": "3.000000",
            "resource_pool": "default",
        },
        {
            "allocation_id": second,
            "task_type": "TRIAL",
            "username": name,
            "workspace_name": "w",
            "experiment_id": str(number),
            "slots": "4",
            "start_time": "2026-01-01T03:00:00Z",
            "end_time": "2026-01-01T03:30:00Z",
            "imagepulling_time": "1.500000",
            "slot_hours": "2.000000",
            "resource_pool": "gpus",
        },
    ]


@covers(f"{E} e.5.slot_hours e.5.times")
async def test_running_work_counts_until_now(user: Client, pool: Database) -> None:
    number = await an_experiment(pool)
    began = datetime.now(UTC) - 2 * HOUR
    await add_allocation(pool, number, started_at=began, state="RUNNING", slots=3)
    [row] = await report(user, "allocations-csv", ALWAYS)
    assert row["end_time"] == ""
    assert 6 <= float(row["slot_hours"]) < 6.1


async def test_the_time_until_every_container_has_its_image_is_reported(world: World) -> None:
    names = await scene.submitted(world)
    task = f"/api/v1/tasks/{names['task_id']}"
    await scene.until(world.clients["admin"], task, lambda got: got["task"]["allocations"])
    ids = [str(entropy.new_uuid()) for _ in range(2)]
    placed = tuple(alloc.Placed(i, "a1", (n,)) for n, i in enumerate(ids))
    await scene.post(world, names, alloc.Assigned(placed))
    first, second = ({**names, "container_id": i} for i in ids)
    await scene.container(world, first, "PULLING")
    await scene.container(world, first, "STARTING")

    async def pulled() -> datetime | None:
        query = "SELECT pulling_at, pulled_at FROM allocations WHERE id = $1"
        row = await world.services[Projects]._db.fetchrow(query, names["allocation_id"])
        assert row["pulling_at"] is not None
        found: datetime | None = row["pulled_at"]
        return found

    assert await pulled() is None
    await scene.container(world, second, "PULLING")
    await scene.container(world, second, "RUNNING")
    had_all_at = await pulled()
    await scene.container(world, first, "RUNNING")
    assert had_all_at is not None
    assert await pulled() == had_all_at
    [row] = await report(world.clients["admin"], "allocations-csv", ALWAYS)
    assert float(row["imagepulling_time"]) > 0


async def test_a_program_without_an_experiment_counts_for_its_workspace(world: World) -> None:
    admin = world.clients["admin"]
    there = await project(admin, await workspace(admin, "elsewhere"))
    body = {"config": "{entrypoint: [x], resources: {slots: 1}}", "projectId": there}
    made = await admin("POST", "/api/v1/generic-tasks", body)
    assert made.status == 200, made.body
    await run(world, f"{made.json()['taskId']}.1")
    [row] = await report(admin, "allocations-csv", ALWAYS)
    assert (row["task_type"], row["workspace_name"]) == ("GENERIC", "elsewhere")
    assert row["experiment_id"] == ""


@covers(f"{E} e.5.moved e.5.deleted")
async def test_a_report_stays_as_it_was_when_its_experiment_moves_and_goes(world: World) -> None:
    admin = world.clients["admin"]
    world.names |= await scene.submitted(world)
    await run_to_end(world, world.names["allocation_id"], 0)
    await reaches(world, world.names["experiment_id"], "STATE_COMPLETED")
    [before] = await report(admin, "allocations-csv", ALWAYS)
    assert before["workspace_name"] == "Uncategorized"
    assert before["experiment_id"] == world.names["experiment_id"]
    there = await project(admin, await workspace(admin, "elsewhere"))
    number = world.names["experiment_id"]
    body = {"destinationProjectId": there}
    assert (await admin("POST", f"/api/v1/experiments/{number}/move", body)).status == 200
    assert await report(admin, "allocations-csv", ALWAYS) == [before]
    assert (await admin("DELETE", f"/api/v1/experiments/{number}")).status == 200
    [collection] = await collections_of(world)
    await run_to_end(world, collection, 0)
    await gone(world, number)
    async with world.services[Projects]._db.acquire() as conn:
        assert await conn.fetchval("SELECT count(*) FROM allocations") == 0
    kept, collected = await report(admin, "allocations-csv", ALWAYS)
    assert kept == before
    assert (collected["task_type"], collected["workspace_name"]) == ("CHECKPOINT_GC", "elsewhere")


@covers(f"{E} e.5.raw e.5.kinds e.5.labels e.5.json")
async def test_spans_of_a_trial_begin_where_the_one_before_ended(
    user: Client, pool: Database
) -> None:
    number = await an_experiment(pool, labels=["a,b", "c\\d", "e"])
    trial = await add_trial(pool, number)
    metric = """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
        VALUES ($1, $2, 1, 1, $3, '{}')
    """
    for minutes, group in ((2, "training"), (3, "validation"), (4, "own")):
        await pool.execute(metric, trial, group, STARTED + minutes * MINUTE)
    checkpoint = """
        INSERT INTO checkpoints (uuid, trial_id, state, reported_at)
        VALUES (gen_random_uuid(), $1, 'COMPLETED', $2)
    """
    await pool.execute(checkpoint, trial, STARTED + 6 * MINUTE)
    pulled = {"pulling_at": STARTED, "pulled_at": STARTED + MINUTE}
    await add_allocation(pool, number, trial_id=trial, started_at=STARTED, **pulled)
    await add_trial(pool, await an_experiment(pool, "FREE", unmanaged=True))
    rows = await report(user, "raw", WINDOW)
    assert {row["labels"] for row in rows} == {"a\\,b,c\\\\d,e"}
    assert {(row["experiment_id"], row["slots"]) for row in rows} == {(str(number), "2")}
    assert {row["username"] for row in rows} == {await owner(pool, number)}
    assert [(r["kind"], r["start_time"][14:19], r["seconds"]) for r in rows] == [
        ("imagepulling", "00:00", "60.000000"),
        ("training", "01:00", "60.000000"),
        ("validation", "02:00", "60.000000"),
        ("checkpointing", "03:00", "180.000000"),
    ]
    query = "timestampAfter=2026-01-01T00:02:30Z&timestampBefore=2026-01-01T00:05:00Z"
    answer = await user("GET", f"/api/v1/resources/allocation/raw?{query}")
    entries = answer.json()["resourceEntries"]
    assert [(e["kind"], e["seconds"]) for e in entries] == [
        ("validation", 30),
        ("checkpointing", 120),
    ]
    assert entries[0]["labels"] == ["a,b", "c\\d", "e"]
    assert entries[0]["experimentId"] == number


async def test_a_list_of_spans_that_would_hold_the_master_is_refused(
    user: Client, pool: Database
) -> None:
    trial = await add_trial(pool, await an_experiment(pool))
    query = """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
        SELECT $1, 'training', n, 1, $2::timestamptz + n * interval '1 s', '{}'
          FROM generate_series(1, $3) n
    """
    await pool.execute(query, trial, STARTED, MAX_LISTED_SPANS + 1)
    asked = "timestampAfter=2026-01-01T00:00:00Z&timestampBefore=2026-01-02T00:00:00Z"
    answer = await user("GET", f"/api/v1/resources/allocation/raw?{asked}")
    assert (answer.status, "/resources/allocation/raw" in answer.text) == (429, True)
    assert len(await report(user, "raw", WINDOW)) == MAX_LISTED_SPANS + 1


@covers(f"{E} e.5.aggregated e.5.sums e.5.days e.5.zero e.5.json e.5.dates")
async def test_sums_are_returned_by_day_and_by_month(
    user: Client, services: Services, pool: Database
) -> None:
    number = await an_experiment(pool, labels=["a", "b"])
    name = await owner(pool, number)
    late = STARTED + 23 * HOUR
    await add_allocation(pool, number, started_at=late, ended_at=late + 2 * HOUR, slots=2)
    await add_allocation(pool, user_id=1, started_at=STARTED, ended_at=late, slots=0, pool="side")
    await add_allocation(
        pool, number, started_at=STARTED + 9 * DAY, ended_at=STARTED + 9 * DAY + MINUTE
    )
    assert await services[Usage].sum_up(STARTED + 32 * DAY) == 32
    path = "/api/v1/resources/allocation/aggregated"
    span = "startDate=2026-01-01&endDate=2026-01-09"
    found = (await user("GET", f"{path}?{span}&{DAILY}")).json()["resourceEntries"]
    assert found == [
        {
            "periodStart": "2026-01-01",
            "period": "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY",
            "seconds": 7200,
            "byUsername": {"admin": 0, name: 7200},
            "byExperimentLabel": {"a": 7200, "b": 7200},
            "byResourcePool": {"default": 7200, "side": 0},
        },
        {
            "periodStart": "2026-01-02",
            "period": "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY",
            "seconds": 7200,
            "byUsername": {name: 7200},
            "byExperimentLabel": {"a": 7200, "b": 7200},
            "byResourcePool": {"default": 7200},
        },
    ]
    rows = await report(user, "aggregated", f"start_date=2026-01&end_date=2026-02&{MONTHLY}")
    assert {row["date"] for row in rows} == {"2026-01"}
    assert {(r["aggregation_type"], r["aggregation_key"]): r["seconds"] for r in rows} == {
        ("total", "total"): "14460.000000",
        ("username", "admin"): "0.0",
        ("username", name): "14460.000000",
        ("experiment_label", "a"): "14460.000000",
        ("experiment_label", "b"): "14460.000000",
        ("resource_pool", "default"): "14460.000000",
        ("resource_pool", "side"): "0.0",
    }


@covers(f"{E} e.5.instant_errors e.5.date_errors")
@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/resources/allocation/raw?timestamp_after=x", 400, "missing parameter: timestamp_bef"),
        ("/resources/allocation/raw?timestamp_after=x&timestamp_before=y", 400, "invalid start"),
        ("/resources/allocation/aggregated?start_date=a&end_date=b&period=x", 400, "no aggreg"),
        ("/api/v1/resources/allocation/aggregated?startDate=2026-01-01", 400, "no aggregation"),
        ("/api/v1/resources/allocation/raw", 400, "invalid start time: it is missing"),
    ],
)
async def test_a_report_that_cannot_be_is_refused(
    user: Client, path: str, status: int, said: str
) -> None:
    answer = await user("GET", path)
    assert (answer.status, said in answer.text) == (status, True), answer.body


async def test_reports_need_a_user(anonymous: Client) -> None:
    for name in ("allocations-csv", "raw", "aggregated"):
        assert (await anonymous("GET", f"/resources/allocation/{name}?{WINDOW}")).status == 401


async def test_costs_are_asked_for_by_user_workspace_job_or_pool(
    user: Client, pool: Database
) -> None:
    number = await an_experiment(pool)
    await add_allocation(
        pool, number, started_at=STARTED, ended_at=STARTED + HOUR, slots=2, pool="gpus"
    )
    query = "timestampAfter=2026-01-01T00:00:00Z&timestampBefore=2026-01-02T00:00:00Z"
    found = (await user("GET", f"/api/v1/resources/costs?{query}&by=pool")).json()
    [entry] = [e for e in found["entries"] if e["key"] == "gpus"]
    assert entry == {"key": "gpus", "slotHours": 2.0, "unpricedSlotHours": 2.0}
    answer = await user("GET", f"/api/v1/resources/costs?{query}&by=month")
    assert answer.status == 400
    assert "by must be one of user, workspace, job, pool but found 'month'" in answer.text

"""Resource pools over the API: what the list tells, and which pool an experiment goes to."""

from __future__ import annotations

from typing import Any

from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.samples import World
from tests.api.scenes import run, trials_of
from tests.api.workspaces.test_projects import project, workspace
from tests.covers import covers

CONFIG = "{name: e, entrypoint: x, searcher: {name: single, metric: loss}, resources: {%s}}"
E = "scheduling-and-provisioning"


async def listed(client: Client, query: str = "") -> dict[str, dict[str, Any]]:
    answer = await client("GET", f"/api/v1/resource-pools{query}")
    assert answer.status == 200, answer.body
    return {pool["name"]: pool for pool in answer.json()["resourcePools"]}


async def pool_of(client: Client, resources: str = "", **body: Any) -> str:
    given = {"config": CONFIG % resources, "activate": False, **body}
    answer = await client("POST", "/api/v1/experiments", given)
    assert answer.status == 200, answer.body
    return str(answer.json()["experiment"]["resourcePool"])


@covers(
    f"{E} e.2.type e.2.defaults e.2.preemptible e.2.slots_per_agent e.2.aux_capacity "
    "e.2.location e.2.agents e.2.slot_type e.2.scheduler e.2.priority"
)
async def test_the_list_shows_the_kind_of_a_pool(pools: World) -> None:
    found = await listed(pools.clients["user"])
    assert list(found) == ["main", "side", "lab", "spare"]
    main, side, lab = found["main"], found["side"], found["lab"]
    assert {p["type"] for p in found.values()} == {"RESOURCE_POOL_TYPE_STATIC"}
    assert {p["location"] for p in found.values()} == {"on-prem"}
    assert {(p["slotsPerAgent"], p["preemptible"]) for p in found.values()} == {(-1, False)}
    assert [p["name"] for p in found.values() if p["defaultComputePool"]] == ["main"]
    assert [p["name"] for p in found.values() if p["defaultAuxPool"]] == ["side"]
    assert [p["numAgents"] for p in found.values()] == [2, 1, 0, 0]
    assert (main["slotType"], lab["slotType"]) == ("TYPE_CUDA", "TYPE_UNSPECIFIED")
    assert (main["description"], main["clusterName"]) == ("the large ones", "west")
    assert main["resourceManagerMetadata"] == {"floor": "2"}
    assert (main["auxContainerCapacityPerAgent"], main["auxContainerCapacity"]) == (100, 200)
    assert (side["auxContainerCapacityPerAgent"], side["auxContainerCapacity"]) == (7, 7)
    assert side["details"]["priorityScheduler"]["preemption"] is True
    assert side["details"]["priorityScheduler"]["defaultPriority"] == 9
    assert side["schedulerFittingPolicy"] == "FITTING_POLICY_BEST"
    assert lab["schedulerType"] == "SCHEDULER_TYPE_FAIR_SHARE"
    assert lab["schedulerFittingPolicy"] == "FITTING_POLICY_WORST"
    assert lab["details"]["priorityScheduler"] is None


@covers(f"{E} e.2.slots e.2.stats e.2.aux")
async def test_the_list_counts_slots_and_jobs(world: World) -> None:
    admin = world.clients["admin"]
    before = (await listed(admin))["default"]
    assert (before["slotsAvailable"], before["slotsUsed"]) == (1, 0)
    body = {"config": CONFIG % "slots_per_trial: 1", "activate": True}
    ids = [
        (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]["id"]
        for _ in range(2)
    ]
    for number in ids:
        await trials_of(world, number)
    [first] = await trials_of(world, ids[0])
    await run(world, f"{first['taskId']}.1")
    await scene.until(
        admin,
        "/api/v1/resource-pools",
        lambda got: sum(got["resourcePools"][0]["stats"].values()) == 2,
    )
    found = (await listed(admin))["default"]
    assert (found["slotsUsed"], found["auxContainersRunning"]) == (1, 0)
    assert found["stats"] == {"queuedCount": 1, "scheduledCount": 1}


@covers(f"{E} e.1.aux e.1.compute e.1.default_open")
async def test_a_task_without_a_pool_gets_the_default_of_its_workspace_or_cluster(
    pools: World,
) -> None:
    admin = pools.clients["admin"]
    plain = await project(admin, await workspace(admin, "plain"))
    own = {"defaultComputePool": "lab", "defaultAuxPool": "spare"}
    chosen = await project(admin, await workspace(admin, "chosen", **own))
    assert await pool_of(admin, "slots_per_trial: 2", projectId=plain) == "main"
    assert await pool_of(admin, "slots_per_trial: 0", projectId=plain) == "side"
    assert await pool_of(admin, "slots_per_trial: 2", projectId=chosen) == "lab"
    assert await pool_of(admin, "slots_per_trial: 0", projectId=chosen) == "spare"
    assert await pool_of(admin, "resource_pool: main", projectId=chosen) == "main"


@covers(f"{E} e.1.unknown e.1.empty")
async def test_a_pool_that_is_not_there_is_named(pools: World) -> None:
    admin = pools.clients["admin"]
    asked = await admin("GET", "/api/v1/job-queues-v2?resourcePool=gone")
    assert asked.status == 404
    assert asked.text.startswith("cannot find resource pool gone")
    body = {"config": CONFIG % "slots_per_trial: 1", "activate": True}
    made = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]
    await trials_of(pools, made["id"])
    path = "/api/v1/job-queues"
    await scene.until(admin, f"{path}-v2", lambda got: got["jobs"])
    moved = await admin("POST", path, {"updates": [{"jobId": made["jobId"], "resourcePool": ""}]})
    assert moved.status == 404
    assert "invalid resource pool name" in moved.text
    assert "choose one of main, side, lab, spare" in moved.text

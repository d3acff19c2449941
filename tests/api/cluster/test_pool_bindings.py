"""Bindings of resource pools to workspaces over the API, and what they keep others from."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.cluster.test_pools import CONFIG, E, listed, pool_of
from tests.api.master import running_services
from tests.api.samples import World
from tests.api.scenes import reaches, run_to_end, trials_of
from tests.api.several_pools import POOLS, SomeAgents
from tests.api.workspaces.test_projects import project, workspace
from tests.covers import covers

from determined_master.domain.errors import FailedPrecondition
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.services.cluster.pool_bindings import PoolBindings
from determined_master.services.cluster.pools import Pools
from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourceManager
from determined_master.store.db import Address, Database


def path(pool: str) -> str:
    return f"/api/v1/resource-pools/{pool}/workspace-bindings"


async def ask(client: Client, method: str, pool: str, *names: str, ids: Any = ()) -> Answer:
    body = {"workspaceNames": list(names), "workspaceIds": list(ids)}
    return await client(method, path(pool), body)


async def bound(client: Client, pool: str) -> list[int]:
    answer = await client("GET", path(pool))
    assert answer.status == 200, answer.body
    ids: list[int] = answer.json()["workspaceIds"]
    return ids


async def available(client: Client, workspace_id: int, query: str = "") -> list[str]:
    route = f"/api/v1/workspaces/{workspace_id}/available-resource-pools{query}"
    answer = await client("GET", route)
    assert answer.status == 200, answer.body
    names: list[str] = answer.json()["resourcePools"]
    return names


@covers(
    f"{E} e.3.many e.3.unbound e.3.bound e.3.available e.3.bind e.3.overwrite e.3.unbind "
    "e.3.list_workspaces e.3.list_pools e.3.none"
)
async def test_a_bound_pool_serves_its_workspaces_and_no_others(pools: World) -> None:
    admin, user = pools.clients["admin"], pools.clients["user"]
    one, two = await workspace(admin, "One"), await workspace(admin, "two")
    assert await available(user, one) == ["main", "side", "lab", "spare"]
    assert (await ask(admin, "POST", "lab")).json() == {}
    assert await bound(user, "lab") == []
    assert (await ask(admin, "POST", "lab", "one", ids=[one])).status == 200
    assert (await ask(admin, "POST", "lab", ids=[two])).status == 200
    assert (await ask(admin, "POST", "spare", "ONE")).status == 200
    assert await bound(user, "lab") == [one, two]
    assert await available(user, one) == ["main", "side", "lab", "spare"]
    assert await available(user, two) == ["main", "side", "lab"]
    assert await available(user, 1) == ["main", "side"]
    assert await available(user, two, "?offset=1&limit=1") == ["side"]
    paged = (await user("GET", f"{path('lab')}?limit=1")).json()
    assert (paged["workspaceIds"], paged["pagination"]["total"]) == ([one], 2)
    assert list(await listed(user, "?unbound=true")) == ["main", "side"]
    assert (await ask(admin, "PUT", "lab", "two")).status == 200
    assert await bound(user, "lab") == [two]
    assert (await ask(admin, "DELETE", "lab", "two")).status == 200
    assert await bound(user, "lab") == []
    assert "lab" in await available(user, 1)
    assert (await ask(admin, "PUT", "spare")).status == 200
    assert await bound(user, "spare") == []


@covers(f"{E} e.3.default e.3.unknown_pool e.3.unknown_pool_list e.3.unknown_workspace")
async def test_errors_name_the_pool_that_cannot_be_bound(pools: World) -> None:
    admin = pools.clients["admin"]
    for pool in ("main", "side"):
        for method in ("POST", "PUT"):
            refused = await ask(admin, method, pool, "Uncategorized")
            key = f"default resource pool {pool} cannot be bound to any workspace"
            assert (refused.status, refused.text.startswith(key)) == (400, True)
            own = await ask(pools.clients["user"], method, pool, "Uncategorized")
            assert (own.status, own.text) == (400, refused.text)
    twice = await ask(admin, "POST", "lab", "Uncategorized", "Uncategorized")
    assert (twice.status, "Uncategorized is named twice" in twice.text) == (400, True)
    for method in ("POST", "PUT"):
        refused = await ask(admin, method, "gone", "Uncategorized")
        assert (refused.status, refused.text) == (
            404,
            "pool with name gone doesn't exist; there are: main, side, lab, spare",
        )
    refused = await admin("GET", path("gone"))
    assert (refused.status, refused.text) == (
        404,
        "pool with name gone doesn't exist or is not available",
    )
    refused = await ask(admin, "POST", "lab", "nobody", "Uncategorized", "none")
    assert refused.status == 404
    assert refused.text == "the following workspaces do not exist: [nobody none]"
    assert await bound(admin, "lab") == []
    assert (await admin("GET", "/api/v1/workspaces/99/available-resource-pools")).status == 404


@covers(f"{E} e.3.no_binding e.3.duplicate e.3.unknown_id")
async def test_a_call_changes_all_that_it_names_or_nothing(pools: World) -> None:
    admin = pools.clients["admin"]
    one = await workspace(admin, "one")
    assert (await ask(admin, "POST", "lab", ids=[one, 99])).status == 404
    assert await bound(admin, "lab") == []
    await ask(admin, "POST", "lab", ids=[1])
    again = await ask(admin, "POST", "lab", ids=[1, one])
    assert (again.status, "already bound" in again.text) == (409, True)
    gone = await ask(admin, "DELETE", "lab", ids=[1, one])
    assert gone.status == 404
    told = f"the binding of resource pool lab and workspace [{one}] does not exist: leave it out"
    assert gone.text == told
    assert await bound(admin, "lab") == [1]


@covers(f"{E} e.3.permission")
async def test_only_admins_change_bindings(pools: World) -> None:
    admin, user = pools.clients["admin"], pools.clients["user"]
    for method, pool in (("POST", "lab"), ("PUT", "gone"), ("DELETE", "lab")):
        refused = await ask(user, method, pool, "Uncategorized")
        assert refused.status == 403
        assert "no permission to modify bindings" in refused.text
    assert await bound(admin, "lab") == []


@covers(f"{E} e.1.bound e.1.unavailable")
async def test_a_pool_of_others_is_as_one_that_is_not_there(pools: World) -> None:
    admin, user = pools.clients["admin"], pools.clients["user"]
    one = await workspace(user, "one")
    inside, outside = await project(user, one), 1
    await ask(admin, "POST", "lab", "one")
    assert await pool_of(user, "resource_pool: lab", projectId=inside) == "lab"
    for pool in ("lab", "gone"):
        body = {"config": CONFIG % f"resource_pool: {pool}", "projectId": outside}
        refused = await user("POST", "/api/v1/experiments", body)
        assert refused.status == 400
        said = f"resource pool {pool} does not exist or is not available to workspace id 1"
        assert refused.text == (
            f"invalid resource configuration: {said}; available: main, side, spare"
        )
    refused = await user("PATCH", "/api/v1/workspaces/1", {"defaultComputePool": "lab"})
    assert refused.status == 403
    refused = await admin("PATCH", "/api/v1/workspaces/1", {"defaultComputePool": "lab"})
    assert (refused.status, "bound to other workspaces" in refused.text) == (400, True)
    refused = await user("POST", "/api/v1/workspaces", {"name": "w", "defaultAuxPool": "lab"})
    assert refused.status == 400
    chosen = await user("PATCH", f"/api/v1/workspaces/{one}", {"defaultComputePool": "lab"})
    assert chosen.json()["workspace"]["defaultComputePool"] == "lab"


@covers(f"{E} e.3.running")
async def test_running_work_stays_when_its_binding_is_removed_and_new_work_is_refused(
    pools: World,
) -> None:
    admin = pools.clients["admin"]
    first = await project(admin, await workspace(admin, "first"))
    await workspace(admin, "second")
    await ask(admin, "POST", "lab", "first")
    body = {"config": CONFIG % "resource_pool: lab", "projectId": first, "activate": True}
    made = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]
    [trial] = await trials_of(pools, made["id"])
    await ask(admin, "PUT", "lab", "second")
    refused = await admin("POST", "/api/v1/experiments", body)
    assert (refused.status, "not available to workspace" in refused.text) == (400, True)
    await run_to_end(pools, f"{trial['taskId']}.1", 0)
    ended = await reaches(pools, made["id"], "STATE_COMPLETED")
    assert ended["resourcePool"] == "lab"
    again = {"id": made["id"], "overrideConfig": ""}
    refused = await admin("POST", "/api/v1/experiments/continue", again)
    assert (refused.status, "not available to workspace" in refused.text) == (400, True)


@covers(f"{E} a.5.pool_bound")
async def test_a_job_cannot_be_moved_into_a_pool_of_others(pools: World) -> None:
    admin = pools.clients["admin"]
    await workspace(admin, "first")
    await ask(admin, "POST", "lab", "first")
    body = {"config": CONFIG % "slots_per_trial: 1", "activate": True}
    made = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]
    await scene.until(admin, "/api/v1/job-queues-v2", lambda got: got["jobs"])
    move = {"updates": [{"jobId": made["jobId"], "resourcePool": "lab"}]}
    refused = await admin("POST", "/api/v1/job-queues", move)
    assert (refused.status, "not available to workspace id 1" in refused.text) == (400, True)
    move["updates"][0]["resourcePool"] = "spare"
    assert (await admin("POST", "/api/v1/job-queues", move)).status == 200


async def test_a_program_without_an_experiment_is_kept_out_too(pools: World) -> None:
    admin = pools.clients["admin"]
    await workspace(admin, "first")
    await ask(admin, "POST", "lab", "first")
    body = {"config": "{entrypoint: [x], resources: {slots: 1, resource_pool: lab}}"}
    refused = await admin("POST", "/api/v1/generic-tasks", body)
    assert (refused.status, "not available to workspace id 1" in refused.text) == (400, True)


async def test_a_binding_goes_with_its_workspace(pools: World) -> None:
    admin = pools.clients["admin"]
    one = await workspace(admin, "one")
    await ask(admin, "POST", "lab", "one", "Uncategorized")
    await admin("DELETE", f"/api/v1/workspaces/{one}")
    await scene.until(admin, path("lab"), lambda got: got["workspaceIds"] == [1])


async def test_a_pool_whose_only_workspace_is_deleted_stays_closed_until_it_is_opened(
    pools: World, caplog: pytest.LogCaptureFixture
) -> None:
    admin, user = pools.clients["admin"], pools.clients["user"]
    one = await workspace(admin, "one")
    await ask(admin, "POST", "lab", "one")
    await admin("DELETE", f"/api/v1/workspaces/{one}")
    assert await bound(user, "lab") == []
    assert "lab" not in await available(user, 1)
    assert [r.message for r in caplog.records if "serves nobody" in r.message] != []
    caplog.clear()
    await pools.services[PoolBindings].check_defaults()
    [said] = [r.message for r in caplog.records if "serves nobody" in r.message]
    assert "det resource-pool bindings add lab" in said
    assert (await ask(admin, "PUT", "lab")).status == 200
    assert "lab" in await available(user, 1)
    for method in ("POST", "DELETE"):
        assert (await ask(admin, method, "lab", "Uncategorized")).status == 200
    assert "lab" in await available(user, 1)


async def test_open_work_moves_only_to_workspaces_that_its_pool_serves(
    pools: World,
) -> None:
    admin = pools.clients["admin"]
    first, second = await workspace(admin, "first"), await workspace(admin, "second")
    there, elsewhere = await project(admin, first), await project(admin, second)
    await ask(admin, "POST", "lab", "first")
    body = {"config": CONFIG % "resource_pool: lab", "projectId": there, "activate": True}
    made = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]
    route = f"/api/v1/experiments/{made['id']}/move"
    move = {"destinationProjectId": elsewhere}
    said = f"experiment {made['id']} cannot be moved to workspace id {second} while it is not over"
    refused = await admin("POST", route, move)
    assert (refused.status, refused.text.split(": ")[0]) == (400, said)
    assert "resource pool lab does not exist or is not available" in refused.text
    away = {"destinationWorkspaceId": second}
    refused = await admin("POST", f"/api/v1/projects/{there}/move", away)
    assert (refused.status, refused.text.split(": ")[0]) == (400, said)
    [trial] = await trials_of(pools, made["id"])
    await run_to_end(pools, f"{trial['taskId']}.1", 0)
    await reaches(pools, made["id"], "STATE_COMPLETED")
    assert (await admin("POST", route, move)).status == 200


async def test_a_project_takes_its_programs_only_where_their_pool_serves(pools: World) -> None:
    admin = pools.clients["admin"]
    first, second = await workspace(admin, "first"), await workspace(admin, "second")
    there = await project(admin, first)
    await ask(admin, "POST", "lab", "first")
    config = "{entrypoint: [x], resources: {slots: 0, resource_pool: lab}}"
    made = await admin("POST", "/api/v1/generic-tasks", {"config": config, "projectId": there})
    task_id = made.json()["taskId"]
    route, away = f"/api/v1/projects/{there}/move", {"destinationWorkspaceId": second}
    refused = await admin("POST", route, away)
    said = f"task {task_id} cannot be moved to workspace id {second} while it is not over"
    assert (refused.status, refused.text.split(": ")[0]) == (400, said)
    await ask(admin, "POST", "lab", "second")
    assert (await admin("POST", route, away)).status == 200
    async with pools.services[Users]._db.acquire() as conn:
        query = "SELECT workspace_id FROM generic_tasks WHERE task_id = $1"
        assert await conn.fetchval(query, task_id) == second


@covers(f"{E} e.3.start")
async def test_a_bound_pool_cannot_become_the_clusters_default(
    database: Address, pool: Database, passwords: Passwords
) -> None:
    changed = Settings(
        checkpoint_storage=POOLS.checkpoint_storage, resource_pools=POOLS.resource_pools,
        resource_manager=ResourceManager(
            default_compute_resource_pool="lab", default_aux_resource_pool="side"
        ),
    )  # fmt: skip
    async with running_services(database, pool, passwords, changed, SomeAgents()) as (made, _):
        await made[PoolBindings].check_defaults()
        assert "lab" in made[Pools].defaults
        await pool.execute("INSERT INTO pool_bindings (pool, workspace_id) VALUES ('lab', 1)")
        key = r"default resource pool lab can not be bound to any workspaces.*\[1\]"
        with pytest.raises(FailedPrecondition, match=key):
            await made[PoolBindings].check_defaults()

"""Deleting checkpoints and experiments over the API, up to what the deleting task is told."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import ADMIN, PASSWORD
from tests.api.samples import World
from tests.api.scenes import run, run_to_end, trials_of
from tests.covers import covers

from determined_master import clock, entropy
from determined_master.domain.allocation import messages as alloc
from determined_master.pools.live import LiveAllocations
from determined_master.services.access.auth import Auth
from determined_master.services.access.users import Users
from determined_master.services.checkpoints import gc
from determined_master.services.checkpoints.gc_waits import GcWaitNotices
from determined_master.services.cluster.agents import Agents
from determined_master.services.experiments.service import Experiments
from determined_wire.agent_link import ContainerSpec

PATH = "/api/v1/experiments"
KEEP_NONE = {"saveExperimentBest": 0, "saveTrialBest": 0, "saveTrialLatest": 0}


async def collections_of(world: World, count: int = 1) -> list[str]:
    """Allocations of tasks that delete checkpoints of the scene's experiment, once so many."""
    query = """
        SELECT a.id FROM allocations a JOIN tasks k ON k.id = a.task_id
         WHERE k.type = 'CHECKPOINT_GC' AND k.experiment_id = $1 AND a.ended_at IS NULL
         ORDER BY k.started_at
    """
    number = int(world.names["experiment_id"])
    found: list[str] = []

    async def look() -> list[str]:
        async with world.services[Users]._db.acquire() as conn:
            return [row["id"] for row in await conn.fetch(query, number)]

    await scene.until_true(look, lambda ids: len(ids) >= count, found)
    return found


async def spec_of(world: World, names: dict[str, str]) -> ContainerSpec:
    """What the agent was told to start."""
    found: list[Any] = []

    async def look() -> list[Any]:
        return [o for o in world.orders() if o.container_id == names["container_id"]]

    await scene.until_true(look, bool, found)
    spec: ContainerSpec = found[0].spec
    return spec


def content(spec: ContainerSpec, name: str) -> Any:
    [file] = [f for f in spec.files if f.path.endswith(f"/{name}.json")]
    return json.loads(file.content)


async def state_of(world: World, uuid: str) -> str:
    answer = await world.clients["admin"]("GET", f"/api/v1/checkpoints/{uuid}")
    return str(answer.json()["checkpoint"]["state"]).removeprefix("STATE_")


async def task_client(world: World, names: dict[str, str]) -> Client:
    admin = world.clients["admin"]
    return Client(admin.app, await scene.session_token(world, names))


def left(uuid: str, **resources: str) -> dict[str, Any]:
    return {"checkpoints": [{"uuid": uuid, "resources": {"resources": resources}}]}


@covers("experiment-config 14.gc_triggers 14.gc_result 14.gc_task")
@covers("scheduling-and-provisioning a.4.preemptible b.5.gc_single")
async def test_a_task_deletes_checkpoints_outside_the_policy_and_reports_the_rest(
    world: World,
) -> None:
    await scene.ended(world)
    admin, number, uuid = (
        world.clients["admin"],
        world.names["experiment_id"],
        world.names["uuid"],
    )
    answer = await admin("PATCH", f"{PATH}/{number}", {"checkpointStorage": KEEP_NONE})
    assert answer.status == 200, answer.body
    [allocation_id] = await collections_of(world)
    asked = world.services[LiveAllocations].find(allocation_id)
    assert asked is not None
    assert (asked.request.is_preemptible, asked.request.is_single_node) == (False, True)
    names = await run(world, allocation_id)
    spec = await spec_of(world, names)
    assert spec.entrypoint[:5] == (
        "python3",
        "-m",
        "determined.exec.gc_checkpoints",
        "--experiment-id",
        number,
    )
    assert "--delete-tensorboards" not in spec.entrypoint
    assert content(spec, "checkpoints_to_delete") == [uuid]
    assert content(spec, "globs") == ["**/*"]
    assert content(spec, "storage_config") == scene.STORAGE
    assert [m.host_path for m in spec.mounts] == ["/tmp/storage"]
    assert spec.environment["DET_TASK_TYPE"] == "CHECKPOINT_GC"
    assert spec.description == f"gc-{number}"

    task = await task_client(world, names)
    foreign = await task("PATCH", "/api/v1/checkpoints", left(str(entropy.new_uuid())))
    assert foreign.status == 404
    assert (await task("PATCH", "/api/v1/checkpoints", left(uuid))).status == 200
    await scene.container(world, names, "TERMINATED", exit_code=0)
    assert await state_of(world, uuid) == "DELETED"
    experiment = (await admin("GET", f"{PATH}/{number}")).json()["experiment"]
    assert (experiment["checkpointCount"], experiment["checkpointSize"]) == (0, "0")
    deleted = (await admin("GET", f"/api/v1/checkpoints/{uuid}")).json()["checkpoint"]
    assert deleted["resources"] != {}
    assert experiment["state"] == "STATE_COMPLETED"


async def test_a_preview_lists_the_checkpoints_that_would_be_deleted(world: World) -> None:
    await scene.ended(world)
    admin, number = world.clients["admin"], world.names["experiment_id"]
    keep = "save_experiment_best={}&save_trial_best=0&save_trial_latest=0"
    path = f"/experiments/{number}/preview_gc?{keep}"
    doomed = (await admin("GET", path.format(0))).json()
    assert [c["UUID"] for c in doomed["checkpoints"]] == [world.names["uuid"]]
    assert doomed["metric_name"] == "loss"
    assert (await admin("GET", path.format(1))).json()["checkpoints"] == []
    assert (await admin("GET", path.format(-1))).status == 400
    assert (await admin("GET", f"/experiments/999/preview_gc?{keep.format(0)}")).status == 404


@covers("experiment-config 14.gc_result 14.gc_triggers")
async def test_files_are_removed_by_pattern_and_a_part_may_be_left(world: World) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    for globs in (["../x"], [""]):
        body = {"checkpointUuids": [uuid], "checkpointGlobs": globs}
        assert (await admin("POST", "/api/v1/checkpoints/rm", body)).status == 400
    body = {"checkpointUuids": [uuid], "checkpointGlobs": ["d/*"]}
    assert (await admin("POST", "/api/v1/checkpoints/rm", body)).json() == {}
    [allocation_id] = await collections_of(world)
    names = await run(world, allocation_id)
    assert content(await spec_of(world, names), "globs") == ["d/*"]
    task = await task_client(world, names)
    await task("PATCH", "/api/v1/checkpoints", left(uuid, **{"a.txt": "1"}))
    await scene.container(world, names, "TERMINATED", exit_code=0)
    assert await state_of(world, uuid) == "PARTIALLY_DELETED"


@covers("experiment-config 14.gc_never")
async def test_a_checkpoint_that_another_experiment_starts_from_is_not_deleted(
    world: World,
) -> None:
    await scene.ended(world)
    admin, number, uuid = (
        world.clients["admin"],
        world.names["experiment_id"],
        world.names["uuid"],
    )
    source = f"searcher: {{name: single, metric: loss, source_checkpoint_uuid: {uuid}}}\n"
    config = f"name: child\nentrypoint: x\n{source}"
    child = await admin("POST", PATH, {"config": config})
    child_id = child.json()["experiment"]["id"]
    answer = await admin("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
    assert (answer.status, f"experiment {child_id}" in answer.text) == (400, True)
    await admin("PATCH", f"{PATH}/{number}", {"checkpointStorage": KEEP_NONE})
    keep = "save_experiment_best=0&save_trial_best=0&save_trial_latest=0"
    preview = await admin("GET", f"/experiments/{number}/preview_gc?{keep}")
    assert preview.json()["checkpoints"] == []

    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    [allocation_id] = await collections_of(world)
    names = await run(world, allocation_id)
    spec = await spec_of(world, names)
    assert content(spec, "checkpoints_to_delete") == []
    assert "--delete-tensorboards" in spec.entrypoint
    await scene.container(world, names, "TERMINATED", exit_code=0)
    await gone(world, number)
    assert await state_of(world, uuid) == "COMPLETED"


async def gone(world: World, number: str) -> None:
    admin = world.clients["admin"]

    async def look() -> int:
        return (await admin("GET", f"{PATH}/{number}")).status

    await scene.until_true(look, lambda status: status == 404, [])


@covers("experiment-config 14.gc_triggers")
async def test_an_experiment_is_deleted_with_all_it_has_once_its_files_are(world: World) -> None:
    await scene.ended(world)
    admin, number, uuid = (
        world.clients["admin"],
        world.names["experiment_id"],
        world.names["uuid"],
    )
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    [allocation_id] = await collections_of(world)
    shown = (await admin("GET", f"{PATH}/{number}")).json()["experiment"]
    assert (shown["state"], shown["endTime"] is None) == ("STATE_DELETING", False)
    for refused in (f"{PATH}/{number}/activate", f"{PATH}/{number}/archive"):
        assert (await admin("POST", refused)).status == 400
    await run_to_end(world, allocation_id, 0)
    await gone(world, number)
    assert (await admin("GET", f"/api/v1/checkpoints/{uuid}")).status == 404
    assert (await admin("GET", f"/api/v1/trials/{world.names['trial_id']}")).status == 404
    assert (await admin("GET", f"/api/v1/tasks/{world.names['task_id']}")).status == 404
    async with world.services[Users]._db.acquire() as conn:
        for table in ("metrics", "task_logs", "allocations", "collections", "checkpoints"):
            assert await conn.fetchval(f"SELECT count(*) FROM {table}") == 0, table


async def test_a_deletion_that_fails_says_why_and_can_be_repeated(world: World) -> None:
    await scene.ended(world)
    admin, number = world.clients["admin"], world.names["experiment_id"]
    await admin("DELETE", f"{PATH}/{number}")
    [allocation_id] = await collections_of(world)
    await run_to_end(world, allocation_id, 1)
    await scene.until(
        admin, f"{PATH}/{number}", lambda got: got["experiment"]["state"] == "STATE_DELETE_FAILED"
    )
    row = await world.services[Experiments].get(ADMIN, int(number))
    assert "could not be deleted" in row.reason
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    [again] = await collections_of(world)
    await run_to_end(world, again, 0)
    await gone(world, number)


async def test_an_experiment_that_never_ran_is_gone_at_once(world: World) -> None:
    world.names |= await scene.submitted(world, activate=False)
    admin, number = world.clients["admin"], world.names["experiment_id"]
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 400
    await admin("POST", f"{PATH}/{number}/kill")
    await scene.until(
        admin, f"{PATH}/{number}", lambda got: got["experiment"]["state"] == "STATE_CANCELED"
    )
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    await gone(world, number)


async def test_only_the_owner_or_an_admin_deletes(world: World) -> None:
    await scene.ended(world)
    services = world.services
    opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
    other = Client(world.clients["admin"].app, opened.token)
    answer = await other("DELETE", f"{PATH}/{world.names['experiment_id']}")
    assert answer.status == 403


async def test_tensorboard_files_of_an_ended_experiment_are_deleted_before_the_answer(
    world: World,
) -> None:
    await scene.ended(world)
    admin, number = world.clients["admin"], world.names["experiment_id"]
    path = f"{PATH}/{number}/tensorboard-files"
    deletion = asyncio.create_task(admin("DELETE", path))
    [allocation_id] = await collections_of(world)
    names = await run(world, allocation_id)
    spec = await spec_of(world, names)
    assert "--delete-tensorboards" in spec.entrypoint
    assert content(spec, "checkpoints_to_delete") == []
    assert not deletion.done()
    await scene.container(world, names, "TERMINATED", exit_code=0)
    assert (await deletion).status == 200
    assert (await admin("DELETE", f"{PATH}/999/tensorboard-files")).status == 404


async def test_a_deletion_that_takes_long_is_answered_once_and_continues(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "MAX_WAIT_S", 0.05)
    await scene.ended(world)
    number = world.names["experiment_id"]
    answer = await world.clients["admin"]("DELETE", f"{PATH}/{number}/tensorboard-files")
    assert answer.status == 409  # clients repeat 502, 503 and 504: each would start a task
    [allocation_id] = await collections_of(world)
    task_id = allocation_id.rpartition(".")[0]
    assert f"The task {task_id} continues: 'det experiment story {number}'" in answer.text


@covers("experiment-config 5.source_trial_id")
async def test_new_trials_start_from_the_latest_checkpoint_of_a_source_trial(
    world: World,
) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    source = f"searcher: {{name: single, metric: x, source_trial_id: {world.names['trial_id']}}}"
    body = {"config": f"entrypoint: x\n{source}\n", "activate": True}
    child = (await admin("POST", PATH, body)).json()["experiment"]["id"]
    [trial] = await trials_of(world, child)
    assert trial["warmStartCheckpointUuid"] == uuid


async def test_a_trial_never_resumes_from_what_is_about_to_be_deleted(world: World) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    await admin("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
    await collections_of(world)
    number = int(world.names["experiment_id"])
    going_on = {"id": number, "overrideConfig": ""}
    assert (await admin("POST", "/api/v1/experiments/continue", going_on)).status == 200
    names = await run(world, f"{world.names['task_id']}-1.2")
    spec = await spec_of(world, names)
    assert spec.environment["DET_STEPS_COMPLETED"] == "0"
    assert "DET_LATEST_CHECKPOINT" not in spec.environment


async def test_a_collection_that_is_killed_leaves_the_checkpoints_as_they_were(
    world: World,
) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    await admin("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
    [allocation_id] = await collections_of(world)
    names = await run(world, allocation_id)
    await scene.post(world, names, alloc.KillRequested(reason="a test"))
    await scene.container(world, names, "TERMINATED", exit_code=137)
    assert await state_of(world, uuid) == "COMPLETED"
    task_id = allocation_id.rpartition(".")[0]
    await scene.until(
        admin, f"/api/v1/tasks/{task_id}", lambda got: got["task"].get("endTime") is not None
    )


class NoAgents:
    """A cluster without agents."""

    def agents(self) -> list[Any]:
        return []


async def test_a_deletion_that_finds_no_agent_says_so_in_its_story(world: World) -> None:
    await scene.ended(world)
    admin, number = world.clients["admin"], world.names["experiment_id"]
    await admin("DELETE", f"{PATH}/{number}")
    [allocation_id] = await collections_of(world)
    pool = world.services[Users]._db
    empty = GcWaitNotices(world.engine, pool, NoAgents())
    staffed = GcWaitNotices(world.engine, pool, world.services[Agents]._backend)
    assert await empty.notify(clock.now()) == 0, "it has only just been asked for"
    later = clock.now() + timedelta(minutes=1)
    for waits in (empty, empty, staffed):
        assert await waits.notify(later) == 1
    row = await world.services[Experiments].get(ADMIN, int(number))
    assert "for a place in pool 'default'" in row.reason
    lines = (await admin("GET", f"{PATH}/{number}/story")).json()["lines"]
    told = [line["detail"]["reason"] for line in lines if line["event"] == "collection_waits"]
    assert len(told) == 2
    assert "no agent of pool 'default' is connected: start one" in told[0]
    await run_to_end(world, allocation_id, 0)
    await gone(world, number)
    assert await empty.notify(later) == 0


async def test_nothing_begins_to_start_from_what_is_about_to_be_deleted(world: World) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    await admin("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
    [allocation_id] = await collections_of(world)
    source = f"searcher: {{name: single, metric: x, source_checkpoint_uuid: {uuid}}}"
    body = {"config": f"entrypoint: x\n{source}\n", "activate": True}
    refused = await admin("POST", PATH, body)
    assert (refused.status, f"'{uuid}' is being deleted" in refused.text) == (400, True)
    names = await run(world, allocation_id)
    await (await task_client(world, names))("PATCH", "/api/v1/checkpoints", left(uuid))
    await scene.container(world, names, "TERMINATED", exit_code=0)
    refused = await admin("POST", PATH, body)
    assert (refused.status, f"'{uuid}' is DELETED" in refused.text) == (400, True)


async def test_of_a_deletion_and_a_start_at_once_one_gives_way(world: World) -> None:
    await scene.ended(world)
    admin, number, uuid = (
        world.clients["admin"],
        world.names["experiment_id"],
        world.names["uuid"],
    )
    source = f"searcher: {{name: single, metric: x, source_checkpoint_uuid: {uuid}}}"
    body = {"config": f"entrypoint: x\n{source}\n", "activate": False}
    policy = {"checkpointStorage": KEEP_NONE}
    answers = await asyncio.gather(
        admin("POST", PATH, body), admin("PATCH", f"{PATH}/{number}", policy)
    )
    async with world.services[Users]._db.acquire() as conn:
        doomed = await conn.fetchval(
            "SELECT count(*) FROM collections WHERE $1::uuid = ANY (uuids)", uuid
        )
    assert (answers[0].status, doomed) in [(200, 0), (400, 1)]

"""Findings 1 and 2: a task names storages that nobody has given it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.samples import World
from tests.attacks.tasks import as_task

from determined_master import entropy
from determined_master.domain.allocation.messages import Allocation
from determined_master.pools.live import LiveAllocations
from determined_master.services.access.users import Users

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
START = "/api/v1/runs/start"


async def trial(world: World) -> tuple[dict[str, str], Client]:
    """A new trial, and code in its task."""
    names = await scene.submitted(world)
    return names, await as_task(world, names["allocation_id"])


async def start(client: Client, names: dict[str, str], storage: Any) -> Answer:
    body = {"runId": int(names["trial_id"]), "checkpointStorage": storage}
    return await client("POST", START, body)


async def report(client: Client, names: dict[str, str], storage_id: int) -> Answer:
    body = {
        "taskId": names["task_id"],
        "uuid": str(entropy.new_uuid()),
        "resources": {"a": "1"},
        "metadata": {"steps_completed": 1},
        "state": "STATE_COMPLETED",
        "storageId": storage_id,
    }
    return await client("POST", "/api/v1/checkpoints", body)


@pytest.mark.parametrize(
    ("storage", "path"),
    [
        ({"type": "shared_fs", "host_path": 5}, "checkpoint_storage.host_path"),
        ({"type": "shared_fs"}, "host_path is a required property"),
        ({"type": "shared_fs", "host_path": "/a", "storage_path": "../b"}, "storage_path"),
        ({"type": "directory", "container_path": ["/"]}, "checkpoint_storage.container_path"),
        ({"type": "s3", "bucket": {"a": 1}}, "checkpoint_storage.bucket"),
        ({"type": "s3", "bucket": "b", "prefix": "a/../../b"}, "checkpoint_storage.prefix"),
        ({"type": "nosuch"}, "checkpoint_storage.type"),
        ({"host_path": "/"}, "type is a required property"),
        ({}, "it is empty"),
    ],
)
async def test_only_a_valid_storage_is_stored(world: World, storage: Any, path: str) -> None:
    names, task = await trial(world)
    for client in (task, world.clients["user"]):
        answer = await start(client, names, storage)
        assert answer.status == 400, answer.body
        assert path in answer.text


async def test_a_report_names_only_a_storage_of_its_own_run(world: World) -> None:
    secret = {"type": "s3", "bucket": "theirs", "secret_key": "hush", "access_key": "a"}
    theirs, their_task = await trial(world)
    foreign = (await start(their_task, theirs, secret)).json()["storageId"]
    names, task = await trial(world)
    for client in (task, world.clients["user"]):
        answer = await report(client, names, foreign)
        assert answer.status == 403, answer.body
        assert "was not given to its run" in answer.text
    own = await start(task, names, {"type": "shared_fs", "host_path": "/tmp/own"})
    assert (await report(task, names, own.json()["storageId"])).status == 200
    assert (await report(their_task, theirs, foreign)).status == 200


async def test_a_trial_of_an_earlier_release_still_reports_to_its_experiments_storage(
    world: World,
) -> None:
    names, task = await trial(world)
    storage = {"type": "shared_fs", "host_path": "/tmp/storage"}  # that of the cluster
    storage_id = (await start(task, names, storage)).json()["storageId"]
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute("DELETE FROM trial_storages")
    assert (await report(task, names, storage_id)).status == 200


async def test_an_admin_kills_a_task_that_deletes_checkpoints_and_others_do_not(
    world: World,
) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    await admin("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
    live = world.services[LiveAllocations]
    found: list[Allocation] = []
    await scene.until_true(lambda: deletions(live), bool, found)
    [deletion] = found
    body = {"taskId": deletion.request.task_id}
    path = f"/api/v1/tasks/{deletion.request.task_id}/kill"
    refused = await world.clients["user"]("POST", path, body)
    assert refused.status == 400
    assert "ask an admin" in refused.text
    assert (await admin("POST", path, body)).status == 200
    await scene.until_true(
        lambda: alive(live, deletion.id), lambda is_alive: is_alive is False, []
    )


async def deletions(live: LiveAllocations) -> list[Allocation]:
    return [a for a in live.values() if a.request.task_type == "CHECKPOINT_GC"]


async def alive(live: LiveAllocations, allocation_id: str) -> bool:
    return live.find(allocation_id) is not None

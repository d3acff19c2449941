"""Experiments that are deleted together, of which some start from checkpoints of others."""

from __future__ import annotations

from typing import Any

from tests.api import cases_experiments as scene
from tests.api.checkpoints.test_gc import (
    PATH,
    collections_of,
    content,
    gone,
    left,
    spec_of,
    state_of,
    task_client,
)
from tests.api.samples import World
from tests.api.scenes import reaches, run

from determined_master.services.access.users import Users

CHECKPOINTS = "/api/v1/checkpoints"


async def child_of(world: World, uuid: str) -> str:
    """An ended experiment that starts from a checkpoint."""
    searcher = f"{{name: single, metric: loss, source_checkpoint_uuid: {uuid}}}"
    config = f"name: child\nentrypoint: x\nsearcher: {searcher}\n"
    admin = world.clients["admin"]
    made = await admin("POST", PATH, {"config": config})
    assert made.status == 200, made.body
    number = str(made.json()["experiment"]["id"])
    await admin("POST", f"{PATH}/{number}/kill")
    await reaches(world, number, "STATE_CANCELED")
    return number


async def collect(world: World, number: str) -> list[Any]:
    """Let the next task of an experiment delete what it was started for; what that was."""
    before, world.names = world.names, {**world.names, "experiment_id": number}
    [allocation_id] = await collections_of(world)
    names = await run(world, allocation_id)
    uuids: list[Any] = content(await spec_of(world, names), "checkpoints_to_delete")
    task = await task_client(world, names)
    for uuid in uuids:
        answer = await task("PATCH", CHECKPOINTS, left(uuid))
        assert answer.status == 200, answer.body
    await scene.container(world, names, "TERMINATED", exit_code=0)
    world.names = before
    return uuids


async def rows(world: World) -> int:
    async with world.services[Users]._db.acquire() as conn:
        return int(await conn.fetchval("SELECT count(*) FROM checkpoints"))


async def test_checkpoints_that_only_it_started_from_are_deleted_with_an_experiment(
    world: World,
) -> None:
    """Its files go then too: with its row nobody would know of them any more."""
    await scene.ended(world)
    admin, parent, uuid = world.clients["admin"], world.names["experiment_id"], world.names["uuid"]
    child = await child_of(world, uuid)
    for number in (parent, child):
        assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    await gone(world, child)
    assert await collect(world, parent) == []
    assert await collect(world, parent) == [uuid]
    await gone(world, parent)
    assert await rows(world) == 0


async def test_the_last_that_started_from_it_takes_it_along(world: World) -> None:
    await scene.ended(world)
    admin, parent, uuid = world.clients["admin"], world.names["experiment_id"], world.names["uuid"]
    children = [await child_of(world, uuid), await child_of(world, uuid)]
    assert (await admin("DELETE", f"{PATH}/{parent}")).status == 200
    assert await collect(world, parent) == []
    await gone(world, parent)
    assert await state_of(world, uuid) == "COMPLETED"
    assert (await admin("DELETE", f"{PATH}/{children[0]}")).status == 200
    await gone(world, children[0])
    assert await state_of(world, uuid) == "COMPLETED"
    assert (await admin("DELETE", f"{PATH}/{children[1]}")).status == 200
    assert await collect(world, children[1]) == [uuid]
    await gone(world, children[1])
    assert await rows(world) == 0


async def test_a_registered_checkpoint_outlives_all_that_started_from_it(world: World) -> None:
    await scene.ended(world)
    admin, parent, uuid = world.clients["admin"], world.names["experiment_id"], world.names["uuid"]
    child = await child_of(world, uuid)
    assert (await admin("POST", "/api/v1/models", {"name": "net"})).status == 200
    version = {"modelName": "net", "checkpointUuid": uuid}
    assert (await admin("POST", "/api/v1/models/net/versions", version)).status == 200
    await admin("DELETE", f"{PATH}/{parent}")
    assert await collect(world, parent) == []
    await gone(world, parent)
    await admin("DELETE", f"{PATH}/{child}")
    await gone(world, child)
    assert await state_of(world, uuid) == "COMPLETED"


async def test_a_registered_version_keeps_its_training_when_its_experiment_is_deleted(
    world: World,
) -> None:
    await scene.ended(world)
    admin, parent, uuid = world.clients["admin"], world.names["experiment_id"], world.names["uuid"]
    assert (await admin("POST", "/api/v1/models", {"name": "net"})).status == 200
    version = {"modelName": "net", "checkpointUuid": uuid}
    assert (await admin("POST", "/api/v1/models/net/versions", version)).status == 200
    path = "/api/v1/models/net/versions/1"
    before = (await admin("GET", path)).json()["modelVersion"]["checkpoint"]
    await admin("DELETE", f"{PATH}/{parent}")
    assert await collect(world, parent) == []
    await gone(world, parent)
    after = (await admin("GET", path)).json()["modelVersion"]["checkpoint"]
    assert (
        after["training"]["experimentConfig"]["name"]
        == (before["training"]["experimentConfig"]["name"])
    )
    kept = ("trialId", "experimentId", "hparams", "trainingMetrics", "validationMetrics")
    assert {key: after["training"][key] for key in kept} == {
        key: before["training"][key] for key in kept
    }
    assert before["training"]["validationMetrics"]["avgMetrics"]
    assert "environment" not in after["training"]["experimentConfig"]
    assert (await admin("GET", f"{CHECKPOINTS}/{uuid}")).json()["checkpoint"] == after
    async with world.services[Users]._db.acquire() as conn:
        stored = await conn.fetchval("SELECT origin FROM checkpoint_origins")
    assert "code_sha256" in stored

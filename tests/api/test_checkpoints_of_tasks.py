"""Checkpoints as a task's own token sees them."""

from __future__ import annotations

from typing import Any

from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.samples import World
from tests.api.scenes import run, trials_of

from determined_master import entropy

PATH = "/api/v1/checkpoints"


def left(uuid: str, **resources: str) -> dict[str, Any]:
    return {"checkpoints": [{"uuid": uuid, "resources": {"resources": resources}}]}


async def started_from(world: World, uuid: str) -> Client:
    """The task of a trial that starts from a checkpoint."""
    admin = world.clients["admin"]
    source = f"searcher: {{name: single, metric: loss, source_checkpoint_uuid: {uuid}}}\n"
    body = {"config": f"name: child\nentrypoint: x\n{source}", "activate": True}
    child = await admin("POST", "/api/v1/experiments", body)
    [trial] = await trials_of(world, child.json()["experiment"]["id"])
    names = await run(world, f"{trial['taskId']}.1")
    return Client(admin.app, await scene.session_token(world, names))


async def test_a_task_reads_what_its_experiment_stored_and_what_its_trial_started_from(
    world: World,
) -> None:
    await scene.ended(world)
    source = world.names["uuid"]
    await scene.with_metrics(world)
    own, task = world.names["uuid"], world.clients["task"]
    answer = await task("GET", f"{PATH}/{own}")
    assert answer.json()["checkpoint"]["metadata"] == {"steps_completed": 3, "extra": {"k": "v"}}
    for foreign in (source, str(entropy.new_uuid())):
        answer = await task("GET", f"{PATH}/{foreign}")
        assert (answer.status, f"checkpoint '{foreign}' not found" in answer.text) == (404, True)
    child = await started_from(world, source)
    assert (await child("GET", f"{PATH}/{source}")).status == 200
    assert (await child("GET", f"{PATH}/{own}")).status == 404


async def test_a_trial_tells_what_it_deleted_of_its_own_checkpoints(world: World) -> None:
    await scene.ended(world)
    foreign = world.names["uuid"]
    await scene.with_metrics(world)
    own, task, admin = world.names["uuid"], world.clients["task"], world.clients["admin"]
    both = {"checkpoints": left(own)["checkpoints"] + left(foreign)["checkpoints"]}
    for body in (left(foreign), both):
        assert (await task("PATCH", PATH, body)).status == 404
    assert (await task("PATCH", PATH, left(own, **{"a.txt": "1"}))).status == 200
    found = (await admin("GET", f"{PATH}/{own}")).json()["checkpoint"]
    assert (found["state"], found["resources"]) == ("STATE_PARTIALLY_DELETED", {"a.txt": "1"})
    for _ in range(2):
        assert (await task("PATCH", PATH, left(own))).status == 200
    found = (await admin("GET", f"{PATH}/{own}")).json()["checkpoint"]
    assert (found["state"], found["resources"]) == ("STATE_DELETED", {})
    found = (await admin("GET", f"{PATH}/{foreign}")).json()["checkpoint"]
    assert found["state"] == "STATE_COMPLETED"

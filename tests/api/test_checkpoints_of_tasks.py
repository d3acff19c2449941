"""What a task may ask and tell of checkpoints by its own token."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.api import cases_experiments as scene
from tests.api.checkpoints.test_gc import left, state_of
from tests.api.client import Client
from tests.api.samples import World

from determined_master import entropy

PATH = "/api/v1/checkpoints"


async def with_task(world: World) -> tuple[Client, str]:
    """A running trial that has stored a checkpoint: its task's client, and the UUID."""
    await scene.with_metrics(world)
    return world.clients["task"], world.names["uuid"]


async def counted(world: World) -> tuple[int, str, int, str]:
    """Count and size of the checkpoints of the scene's trial and of its experiment."""
    admin, names = world.clients["admin"], world.names
    trial = (await admin("GET", f"/api/v1/trials/{names['trial_id']}")).json()["trial"]
    path = f"/api/v1/experiments/{names['experiment_id']}"
    experiment = (await admin("GET", path)).json()["experiment"]
    return (
        trial["checkpointCount"],
        trial["totalCheckpointSize"],
        experiment["checkpointCount"],
        experiment["checkpointSize"],
    )


async def test_a_trial_reads_the_metadata_of_its_own_checkpoint_and_of_no_other(
    world: World,
) -> None:
    _, foreign = await with_task(world)
    await scene.running(world)
    task = world.clients["task"]
    await scene.report(world)
    answer = await task("GET", f"{PATH}/{world.names['uuid']}")
    assert answer.status == 200, answer.body
    assert answer.json()["checkpoint"]["metadata"] == {"steps_completed": 3, "extra": {"k": "v"}}
    assert (await task("GET", f"{PATH}/{foreign}")).status == 404


async def test_a_trial_reads_the_metadata_of_what_it_starts_from(world: World) -> None:
    _, source = await with_task(world)
    searcher = f"{{name: single, metric: loss, source_checkpoint_uuid: {source}}}"
    text = f"name: child\nentrypoint: x\nsearcher: {searcher}\n"
    admin = world.clients["admin"]
    made = await admin("POST", "/api/v1/experiments", {"config": text, "activate": True})
    assert made.status == 200, made.body
    path = f"/api/v1/experiments/{made.json()['experiment']['id']}/trials"
    [trial] = await scene.until(admin, path, lambda got: got["trials"])
    names = {"allocation_id": f"{trial['taskId']}.1"}
    path = f"/api/v1/tasks/{trial['taskId']}"
    await scene.until(admin, path, lambda got: got["task"]["allocations"])
    child = Client(admin.app, await scene.session_token(world, names))
    assert (await child("GET", f"{PATH}/{source}")).status == 200
    refused = await child("PATCH", PATH, left(source))
    assert refused.status == 404
    own = await world.clients["task"]("PATCH", PATH, left(source))
    assert own.status == 400
    assert "starts from it" in own.text
    assert await state_of(world, source) == "COMPLETED"


async def test_a_trial_reports_remaining_files_of_its_own_checkpoints_only(
    world: World,
) -> None:
    _, foreign = await with_task(world)
    await scene.running(world)
    task = world.clients["task"]
    await scene.report(world)
    uuid = world.names["uuid"]
    assert (await task("PATCH", PATH, left(foreign))).status == 404
    assert (await task("PATCH", PATH, left(str(entropy.new_uuid())))).status == 404
    answer = await task("PATCH", PATH, left(uuid, **{"metadata.json": "57"}))
    assert answer.status == 200, answer.body
    assert await state_of(world, uuid) == "PARTIALLY_DELETED"
    assert (await task("PATCH", PATH, left(uuid))).status == 200
    assert await state_of(world, uuid) == "DELETED"
    assert await state_of(world, foreign) == "COMPLETED"


async def test_an_end_reported_many_times_at_once_counts_once(world: World) -> None:
    """A master that stood still has what was sent again beside what it began with."""
    _, uuid = await with_task(world)
    admin, before = world.clients["admin"], await counted(world)
    await scene.report(world)  # another one, that stays
    answers: list[Any] = await asyncio.gather(
        *(admin("PATCH", PATH, left(uuid)) for _ in range(6))
    )
    assert [a.status for a in answers] == [200] * 6
    assert await counted(world) == before

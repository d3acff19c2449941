"""Tasks that delete checkpoints and lose their machines in the middle."""

from __future__ import annotations

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
from tests.api.scenes import run, run_to_end

from determined_master.domain.allocation import messages as alloc
from determined_master.domain.checkpoints import gc


async def lose(world: World, names: dict[str, str]) -> None:
    """Let the agent be gone for longer than it is waited for."""
    failure = alloc.ContainerFailure(type="agent_failed", message="no answer")
    await scene.post(world, names, alloc.AgentLost("a1", (names["container_id"],), failure))


async def test_another_run_finishes_what_one_that_lost_its_machine_has_begun(
    world: World,
) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    answer = await admin("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
    assert answer.status == 200, answer.body
    [first] = await collections_of(world)
    await lose(world, await run(world, first))
    [second] = await collections_of(world)
    assert second == f"{first.removesuffix('.1')}.2"
    names = await run(world, second)
    task = await task_client(world, names)
    assert (await task("PATCH", "/api/v1/checkpoints", left(uuid))).status == 200
    await scene.container(world, names, "TERMINATED", exit_code=0)
    assert await state_of(world, uuid) == "DELETED"


async def test_while_it_waits_for_another_run_nothing_starts_from_what_it_deletes(
    world: World,
) -> None:
    await scene.ended(world)
    admin, uuid = world.clients["admin"], world.names["uuid"]
    await admin("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
    [first] = await collections_of(world)
    await lose(world, await run(world, first))
    [second] = await collections_of(world)
    source = f"searcher: {{name: single, metric: loss, source_checkpoint_uuid: {uuid}}}\n"
    refused = await admin("POST", PATH, {"config": f"name: child\nentrypoint: x\n{source}"})
    assert refused.status == 400
    assert "is being deleted" in refused.text
    await run_to_end(world, second, 0)


async def test_a_deletion_waits_for_its_last_run_and_fails_with_what_that_met(
    world: World,
) -> None:
    await scene.ended(world)
    admin, number = world.clients["admin"], world.names["experiment_id"]
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    for _ in range(gc.MAX_RUNS):
        shown = (await admin("GET", f"{PATH}/{number}")).json()["experiment"]
        assert shown["state"] == "STATE_DELETING"
        [allocation_id] = await collections_of(world)
        await lose(world, await run(world, allocation_id))
    await scene.until(
        admin, f"{PATH}/{number}", lambda got: got["experiment"]["state"] == "STATE_DELETE_FAILED"
    )
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    [again] = await collections_of(world)
    await run_to_end(world, again, 0)
    await gone(world, number)


async def test_a_deletion_after_one_that_failed_looks_at_what_went_again(world: World) -> None:
    """Who was killed after it had told of a checkpoint may have left its manifest."""
    await scene.ended(world)
    admin, number, uuid = (
        world.clients["admin"],
        world.names["experiment_id"],
        world.names["uuid"],
    )
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    [first] = await collections_of(world)
    names = await run(world, first)
    task = await task_client(world, names)
    assert (await task("PATCH", "/api/v1/checkpoints", left(uuid))).status == 200
    await scene.container(world, names, "TERMINATED", exit_code=137)
    await scene.until(
        admin, f"{PATH}/{number}", lambda got: got["experiment"]["state"] == "STATE_DELETE_FAILED"
    )
    assert (await admin("DELETE", f"{PATH}/{number}")).status == 200
    [second] = await collections_of(world)
    names = await run(world, second)
    assert content(await spec_of(world, names), "checkpoints_to_delete") == [uuid]
    await scene.container(world, names, "TERMINATED", exit_code=0)
    await gone(world, number)

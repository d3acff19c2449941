"""Steps that tests of experiments' lives share, on the scenery of `cases_experiments`."""

from __future__ import annotations

from typing import Any

from tests.api import cases_experiments as scene
from tests.api.samples import World

from determined_master import entropy
from determined_master.domain.allocation import messages as alloc


async def trials_of(world: World, experiment_id: Any, count: int = 1) -> list[dict[str, Any]]:
    """The trials of an experiment, once there are so many."""
    path = f"/api/v1/experiments/{experiment_id}/trials"
    found: list[dict[str, Any]] = await scene.until(
        world.clients["admin"],
        path,
        lambda got: got["trials"] if len(got["trials"]) >= count else None,
    )
    return found


async def run_to_end(world: World, allocation_id: str, exit_code: int) -> None:
    """Let an allocation start and leave."""
    names = await run(world, allocation_id)
    await scene.container(world, names, "TERMINATED", exit_code=exit_code)


async def run(world: World, allocation_id: str) -> dict[str, str]:
    """Let an allocation start; its names."""
    names = {"allocation_id": allocation_id, "container_id": str(entropy.new_uuid())}
    task_id = allocation_id.rpartition(".")[0]
    await scene.until(
        world.clients["admin"],
        f"/api/v1/tasks/{task_id}",
        lambda got: any(a["allocationId"] == allocation_id for a in got["task"]["allocations"]),
    )
    placed = (alloc.Placed(names["container_id"], "a1", (0,)),)
    await scene.post(world, names, alloc.Assigned(placed))
    await scene.container(world, names, "RUNNING")
    return names


async def reaches(world: World, experiment_id: Any, state: str) -> dict[str, Any]:
    """The experiment, once it is in that state."""
    path = f"/api/v1/experiments/{experiment_id}"
    found: dict[str, Any] = await scene.until(
        world.clients["admin"],
        path,
        lambda got: got if got["experiment"]["state"] == state else None,
    )
    experiment: dict[str, Any] = found["experiment"]
    return experiment

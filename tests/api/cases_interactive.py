"""Cases of commands, notebooks, shells and TensorBoards."""

from __future__ import annotations

from typing import Any

from tests.api import cases_experiments as scene
from tests.api.samples import Case, World

from determined_master import entropy

CONFIG = {"entrypoint": ["sh", "-c", "sleep 100"], "resources": {"slots": 0}}


async def launched(world: World, kind: str, **body: Any) -> dict[str, Any]:
    """A task of that kind, as its launch answers."""
    answer = await world.clients["admin"]("POST", f"/api/v1/{kind}s", {"config": CONFIG, **body})
    assert answer.status == 200, answer.body
    task: dict[str, Any] = answer.json()[kind]
    return task


async def waiting(world: World) -> None:
    """A command that waits for a place."""
    world.names["uuid"] = (await launched(world, "command"))["id"]


async def notebook(world: World) -> None:
    """A notebook that waits for a place."""
    world.names["uuid"] = (await launched(world, "notebook"))["id"]


async def unknown(world: World) -> None:
    """An id that nothing has."""
    world.names["uuid"] = str(entropy.new_uuid())


async def experiment(world: World) -> None:
    """An experiment to look at."""
    world.names["int"] = (await scene.submitted(world))["experiment_id"]


CASES: dict[str, Case] = {
    "commands.get": Case(waiting),
    "commands.404": Case(unknown),
    "commands.list": Case(waiting),
    "commands.bad_key": Case(
        phrase="failed to prepare launch params: ",
        why="ours names every error with its path",
    ),
    "commands.kill": Case(waiting),
    "commands.priority": Case(waiting),
    "notebooks.idle": Case(notebook),
    "tensorboards.launch": Case(
        experiment,
        free=frozenset({"config.bind_mounts"}),
        why="mounts of storages are made when it starts, one for each storage",
    ),
}

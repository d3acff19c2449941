"""Cases of models and their versions."""

from __future__ import annotations

from typing import Any

from tests.api import cases_experiments as scene
from tests.api.samples import Case, World

from determined_master.services.access.users import Users


async def nothing(world: World) -> None:
    """No models."""
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute("DELETE FROM models")
    world.names["int"] = "1"


async def model(world: World, name: str = "wm1", **fields: Any) -> None:
    """The model of the samples."""
    await nothing(world)
    body = {"name": name, "description": "d", "metadata": {"k": 1}, "labels": ["l1"], **fields}
    answer = await world.clients["admin"]("POST", "/api/v1/models", body)
    assert answer.status == 200, answer.body


async def with_checkpoint(world: World) -> None:
    """The model `clim` without versions, and a checkpoint."""
    await scene.finished(world)
    await model(world, "clim")


async def registered(world: World) -> None:
    """The same checkpoint as its version 1."""
    await with_checkpoint(world)
    body = {"checkpointUuid": world.names["uuid"]}
    answer = await world.clients["admin"]("POST", "/api/v1/models/clim/versions", body)
    assert answer.status == 200, answer.body


FREE = frozenset(
    {
        "modelVersion.model.metadata",
        "modelVersion.checkpoint.metadata",
        "modelVersion.checkpoint.resources",
        "modelVersion.checkpoint.training",
        "modelVersion.lastUpdatedTime",
    }
)
CASES: dict[str, Case] = {
    "models.create": Case(nothing),
    "models.duplicate": Case(model),
    "models.bad_name": Case(),
    "models.get": Case(model),
    "models.404": Case(),
    "models.patch": Case(model, free=frozenset({"model.metadata"})),
    "models.list": Case(model, free=frozenset({"models[].metadata"})),
    "models.archive": Case(model),
    "models.version.create": Case(with_checkpoint, free=FREE),
    "models.version.get": Case(registered, free=FREE),
    "checkpoints.delete.registered": Case(registered),
}

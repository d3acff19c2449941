"""Cases of generic tasks."""

from __future__ import annotations

from tests.api.samples import Case, World

CONFIG = "entrypoint: ['sh','-c','sleep 100']\nresources: {slots: 0}\n"


async def waiting(world: World) -> None:
    """A generic task that waits for a place."""
    body = {"config": CONFIG}
    answer = await world.clients["admin"]("POST", "/api/v1/generic-tasks", body)
    assert answer.status == 200, answer.body
    world.names["uuid"] = answer.json()["taskId"]


CASES: dict[str, Case] = {
    "generic.config": Case(waiting),
    "generic.unpause.defect": Case(waiting, phrase="as it is not in paused state"),
}

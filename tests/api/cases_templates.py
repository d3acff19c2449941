"""Cases of templates."""

from __future__ import annotations

from tests.api.samples import Case, World


async def stored(world: World) -> None:
    """The template `wt1`, and neither `wt9` nor `none`."""
    admin = world.clients["admin"]
    await forgotten(world)
    body = {"config": {"labels": ["w"]}, "workspaceId": 1}
    assert (await admin("POST", "/api/v1/templates/wt1", body)).status == 200


async def renamed(world: World) -> None:
    """The template `wt9`."""
    await stored(world)
    body = {"oldName": "wt1", "newName": "wt9"}
    assert (await world.clients["admin"]("PATCH", "/api/v1/template/rename", body)).status == 200


async def forgotten(world: World) -> None:
    """No template of these samples."""
    for name in ("wt1", "wt9"):
        await world.clients["admin"]("DELETE", f"/api/v1/templates/{name}")
    world.names["int"] = "1"


CASES: dict[str, Case] = {
    "templates.create": Case(forgotten),
    "templates.get": Case(stored),
    "templates.patch": Case(stored),
    "templates.rename": Case(stored),
    "templates.delete": Case(renamed),
}

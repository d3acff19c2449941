"""Cases of webhooks."""

from __future__ import annotations

from tests.api.receiver import receiver
from tests.api.samples import Case, World

STATE = {
    "triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
    "condition": {"state": "COMPLETED"},
}
LOG = {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": "err.*"}}
W1 = {
    "url": "http://example.org/x",
    "name": "w1",
    "mode": "WEBHOOK_MODE_WORKSPACE",
    "webhookType": "WEBHOOK_TYPE_DEFAULT",
    "triggers": [STATE],
    "workspaceId": 1,
}
W2 = {
    "url": "http://example.org/y",
    "name": "w2",
    "mode": "WEBHOOK_MODE_SPECIFIC",
    "webhookType": "WEBHOOK_TYPE_SLACK",
    "triggers": [LOG],
}


async def none(world: World) -> None:
    """No webhook."""
    admin = world.clients["admin"]
    for known in (await admin("GET", "/api/v1/webhooks")).json()["webhooks"]:
        await admin("DELETE", f"/api/v1/webhooks/{known['id']}")
    world.names |= {"int": "1", "host": "example.org"}


async def two(world: World) -> None:
    """The webhooks `w1` and `w2`."""
    await none(world)
    for body in (W1, W2):
        made = await world.clients["admin"]("POST", "/api/v1/webhooks", body)
        assert made.status == 200, made.body


async def answered(world: World) -> None:
    """A webhook whose server answers, for as long as the master lasts."""
    await none(world)
    opened = receiver()
    server = await opened.__aenter__()
    world.shared["receiver"] = opened
    await _named(world, server.url)


async def refused(world: World) -> None:
    """A webhook whose server does not listen."""
    await none(world)
    await _named(world, "http://127.0.0.1:9/x")


async def _named(world: World, url: str) -> None:
    made = await world.clients["admin"]("POST", "/api/v1/webhooks", {**W1, "url": url})
    assert made.status == 200, made.body
    world.names["webhook_id"] = str(made.json()["webhook"]["id"])


CASES: dict[str, Case] = {
    "webhooks.create": Case(none),
    "webhooks.list": Case(two),
    "webhooks.no_trigger": Case(none),
    "webhooks.test": Case(answered),
    "webhooks.test.failed": Case(refused),
}

"""Access tokens over the API: whose they are, how long they live, and how they end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok

from determined_master import clock
from determined_master.services.access.access_tokens import MAX_DAYS, Lives

TOKENS = "/api/v1/tokens"


async def create(client: Client, user_id: int = 2, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = await ok(client, "POST", TOKENS, {"userId": user_id, **more})
    return made


async def listed(client: Client, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await ok(client, "GET", TOKENS + query))["tokenInfo"]
    return found


async def test_a_token_acts_as_its_user_until_it_is_revoked(admin: Client, user: Client) -> None:
    made = await create(admin, description="for a script")
    script = Client(admin.app, made["token"])
    assert (await ok(script, "GET", "/api/v1/me"))["user"]["username"] == "determined"
    path = f"{TOKENS}/{made['tokenId']}"
    changed = await ok(admin, "PATCH", path, {"setRevoked": True})
    assert changed["tokenInfo"]["revoked"] is True
    refused = await script("GET", "/api/v1/me")
    assert (refused.status, refused.text) == (401, "user access token revoked")
    assert await listed(admin) == []
    assert [t["id"] for t in await listed(admin, "?showInactive=true")] == [made["tokenId"]]


async def test_users_see_and_change_their_own_tokens_alone(admin: Client, user: Client) -> None:
    own, other = await create(admin, 2, description="b"), await create(admin, 1, description="a")
    assert [t["id"] for t in await listed(user)] == [own["tokenId"]]
    assert await listed(user, "?username=admin") == []
    assert (
        await user("PATCH", f"{TOKENS}/{other['tokenId']}", {"setRevoked": True})
    ).status == 404
    described = await ok(user, "PATCH", f"{TOKENS}/{own['tokenId']}", {"description": "mine"})
    assert described["tokenInfo"]["description"] == "mine"
    by_text = await listed(admin, "?sortBy=SORT_BY_DESCRIPTION&orderBy=ORDER_BY_DESC")
    assert [t["description"] for t in by_text] == ["mine", "a"]
    assert len(await listed(admin, "?username=admin")) == 1
    assert len(await listed(admin, f"?tokenIds={own['tokenId']}")) == 1


async def test_impossible_values_are_refused(admin: Client, user: Client) -> None:
    for body, status in (
        ({"userId": 99}, 404),
        ({"userId": 2, "lifespan": "2d"}, 400),
        ({"userId": 2, "lifespan": "-5h"}, 400),
        ({"userId": 2, "lifespan": "0s"}, 400),
        ({"userId": 2, "lifespan": "721h"}, 400),
    ):
        assert (await admin("POST", TOKENS, body)).status == status, body
    assert (await user("POST", TOKENS, {"userId": 2})).status == 403
    assert (await admin("GET", f"{TOKENS}?username=nobody")).status == 404
    session = (await ok(admin, "GET", f"{TOKENS}?showInactive=true"))["tokenInfo"]
    assert session == []  # logins are none
    assert (await admin("PATCH", f"{TOKENS}/1", {"setRevoked": True})).status == 404


async def test_a_new_token_lives_as_long_as_the_settings_say(admin: Client) -> None:
    await create(admin)
    [found] = await listed(admin)
    left = datetime.fromisoformat(found["expiry"]) - clock.now()
    assert timedelta(days=29, hours=23) < left <= timedelta(days=30)


@pytest.mark.parametrize(
    ("lives", "text", "days"),
    [
        (Lives(), "", 30),
        (Lives(), "-1", 30),
        (Lives(), "24h", 1),
        (Lives(7, -1), "", 7),
        (Lives(7, -1), "-1", MAX_DAYS),
        (Lives(-1, -1), "", MAX_DAYS),
        (Lives(-1, -1), "8760h", 365),
    ],
)
def test_lives_are_those_of_the_settings_and_the_request(
    lives: Lives, text: str, days: int
) -> None:
    assert lives.of(text) == timedelta(days=days)

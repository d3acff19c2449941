"""Finding 15: a page of another port or host of the site uses the login cookie."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.api.client import Client
from tests.api.samples import World

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PATH = "/api/v1/workspaces"
BODY = b'{"name": "from a page %d"}'
OWN = {"origin": "http://test", "content-type": "application/json"}


def sent(world: World, headers: Mapping[str, str]) -> dict[str, str]:
    return {"cookie": f"auth={world.clients['user'].token}", **headers}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://test:8081", "content-type": "text/plain"},
        {"origin": "http://test:8081", "content-type": "application/json"},
        {"origin": "https://evil.example", "content-type": "application/json"},
        {"origin": "null", "content-type": "application/json"},
        {"content-type": "application/json"},
        {"sec-fetch-site": "same-site", "content-type": "application/json"},
        {"origin": "http://test", "content-type": "text/plain"},
        {"origin": "http://test", "content-type": "application/x-www-form-urlencoded; a=json"},
        {"origin": "http://test"},
    ],
)
async def test_a_foreign_page_changes_nothing_with_the_cookie(
    world: World, headers: Mapping[str, str]
) -> None:
    browser = Client(world.clients["user"].app)
    answer = await browser("POST", PATH, BODY % 1, headers=sent(world, headers))
    assert answer.status == 403, answer.body
    assert "login cookie" in answer.text


@pytest.mark.parametrize(
    ("number", "headers"),
    [(2, OWN), (3, {"sec-fetch-site": "same-origin", "content-type": "application/json"})],
)
async def test_a_page_of_the_master_changes_things(
    world: World, number: int, headers: Mapping[str, str]
) -> None:
    browser = Client(world.clients["user"].app)
    answer = await browser("POST", PATH, BODY % number, headers=sent(world, headers))
    assert answer.status == 200, answer.body


async def test_reading_and_logging_out_of_an_own_page_work(world: World) -> None:
    browser = Client(world.clients["user"].app)
    assert (await browser("GET", "/api/v1/me", headers=sent(world, {}))).status == 200
    headers = sent(world, {"origin": "http://test"})
    foreign = sent(world, {"origin": "http://other"})
    assert (await browser("POST", "/api/v1/auth/logout", headers=foreign)).status == 403
    assert (await browser("POST", "/api/v1/auth/logout", headers=headers)).status == 200
    opened = {"username": "determined", "password": "Secret-1234"}
    answer = await browser("POST", "/api/v1/auth/login", opened)
    world.clients["user"].token = answer.json()["token"]


async def test_scripts_with_a_token_need_no_origin(world: World) -> None:
    answer = await world.clients["user"]("POST", PATH, BODY % 4)
    assert answer.status == 200

"""Finding N9: a page of another site signs its visitor in as somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import pytest
from tests.api.client import Answer, Client
from tests.api.samples import World

from determined_master.services.access.passwords import client_hash

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
NAME, PASSWORD = "determined", "Secret-1234"
FORM = {"content-type": "application/x-www-form-urlencoded"}
ROUTES = {
    "/api/v1/auth/login": {"username": NAME, "password": PASSWORD},
    "/login?cookie=true": {"username": NAME, "password": client_hash(PASSWORD)},
    "/det/login": urlencode({"username": NAME, "password": PASSWORD}).encode(),
}
FOREIGN: list[Mapping[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "http://test:8081"},
    {"origin": "null"},
    {"origin": "null", "content-type": "text/plain"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    {"referer": "https://evil.example/page"},
    {"origin": "http://test.evil.example", "referer": "http://test/"},
]
OWN: list[Mapping[str, str]] = [
    {},
    {"origin": "http://test"},
    {"origin": "https://test"},
    {"referer": "http://test/det/login"},
    {"sec-fetch-site": "same-origin", "origin": "http://test"},
    {"sec-fetch-site": "none"},
]


async def signed_in(world: World, path: str, headers: Mapping[str, str]) -> Answer:
    browser = Client(world.clients["user"].app)
    more = FORM if path.startswith("/det") else {}
    return await browser("POST", path, ROUTES[path], headers={**more, **headers})


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("headers", FOREIGN)
async def test_a_foreign_page_signs_nobody_in(
    world: World, path: str, headers: Mapping[str, str]
) -> None:
    answer = await signed_in(world, path, headers)
    assert "set-cookie" not in answer.headers, answer.headers


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("headers", OWN)
async def test_own_pages_and_programs_sign_in(
    world: World, path: str, headers: Mapping[str, str]
) -> None:
    answer = await signed_in(world, path, headers)
    assert answer.status == 200, answer.body
    assert "set-cookie" in answer.headers


async def test_a_foreign_form_is_answered_with_the_form(world: World) -> None:
    answer = await signed_in(world, "/det/login", {"origin": "https://evil.example"})
    assert answer.status == 403
    assert "Another page sent this form" in answer.body.decode()
    assert PASSWORD not in answer.body.decode()


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
async def test_the_login_cookie_reads_nothing_for_a_foreign_page(world: World, site: str) -> None:
    """`enable_cors` would let a page at another port of the host read the answer."""
    browser = Client(world.clients["user"].app)
    own = {"cookie": f"auth={world.clients['user'].token}"}
    origin = {"origin": "http://test:8081"}
    fetched = {"sec-fetch-site": site, "sec-fetch-mode": "cors"}
    for headers in (origin, fetched, origin | fetched):
        answer = await browser("GET", "/api/v1/me", headers=own | headers)
        assert answer.status == 403, answer.body
    followed = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert (await browser("GET", "/api/v1/me", headers=own | followed)).status == 200

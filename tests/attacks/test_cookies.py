"""Findings N1 and N8: a task's cookies sign its visitor in as somebody else, or lock out."""

from __future__ import annotations

import pytest
from tests.api.client import Answer, Client
from tests.api.samples import World

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
TLS = {"x-forwarded-proto": "https", "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
JUNK = [
    "[=1",
    '"',
    'x="',
    'x="; y="a;b"',
    "=1",
    "a@b=1",
    "x=1,2; y=\\",
    "path=/; $Version=1; expires=x",
    "\xff=\xff",
    "; ;;=;",
    "x=" + "y" * 60_000,
]


async def me(world: World, cookie: str, **headers: str) -> Answer:
    browser = Client(world.clients["user"].app)
    return await browser("GET", "/api/v1/me", headers={"cookie": cookie, **headers})


def token(world: World, name: str) -> str:
    return world.clients[name].token


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
async def test_no_cookie_of_a_task_locks_its_visitor_out(
    world: World, junk: str, order: int
) -> None:
    own = f"auth={token(world, 'user')}"
    answer = await me(world, "; ".join([own, junk][::order]))
    assert answer.status == 200, answer.body
    assert answer.json()["user"]["username"] == "determined"


@pytest.mark.parametrize(
    "planted",
    ["x=1 auth={}", "x=1, auth={}", 'x="; auth={}"', "x=1\tauth={}", "x auth={}", "xauth={}"],
)
async def test_a_value_is_no_second_cookie(world: World, planted: str) -> None:
    """Python's parser takes the first two for the login of the task's owner."""
    cookie = planted.format(token(world, "admin"))
    if "; auth" in cookie:  # that one is two cookies, and its quotation marks mean nothing
        assert (await me(world, f"auth={token(world, 'user')}; {cookie}")).status == 400
        return
    assert (await me(world, cookie)).status == 401
    for both in (
        f"auth={token(world, 'user')}; {cookie}",
        f"{cookie}; auth={token(world, 'user')}",
    ):
        assert (await me(world, both)).json()["user"]["username"] == "determined"


async def test_two_login_cookies_are_refused_and_the_answer_removes_the_wrong_one(
    world: World,
) -> None:
    names = [f"auth={token(world, name)}" for name in ("user", "admin")]
    for cookie in ("; ".join(names), "; ".join(names[::-1])):
        answer = await me(world, cookie, host="det.example.com:8080")
        assert answer.status == 400
        assert "the cookie auth more than once" in answer.text
        assert "reload the page" in answer.text
        removal = answer.headers["set-cookie"]  # the last of many
        assert removal.startswith("auth=; Expires=Thu, 01 Jan 1970")
        assert "; Path=/api/v1/me/; Domain=example.com" in removal


async def test_over_tls_a_browser_has_a_login_cookie_that_no_task_can_set(world: World) -> None:
    own, planted = f"__Host-auth={token(world, 'user')}", f"auth={token(world, 'admin')}"
    for cookie in (f"{own}; {planted}", f"{planted}; {own}; {planted}"):
        answer = await me(world, cookie, **TLS)
        assert answer.json()["user"]["username"] == "determined"
    assert (await me(world, planted, **TLS)).status == 401
    script = {"x-forwarded-proto": "https"}
    assert (await me(world, planted, **script)).json()["user"]["username"] == "admin"


async def test_the_cookie_of_a_login_over_tls_is_bound_to_the_master(world: World) -> None:
    anonymous = Client(world.clients["user"].app)
    page = {"origin": "https://test", "content-type": "application/json", "cookie": "auth=old"}
    body = {"username": "determined", "password": "Secret-1234"}
    answer = await anonymous("POST", "/api/v1/auth/login", body, headers=page)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"__Host-auth={answer.json()['token']}; Path=/; ")
    assert cookie.endswith("; HttpOnly; SameSite=Lax; Secure")
    assert "Domain" not in cookie
    sent = {"cookie": cookie.partition(";")[0], "origin": "https://test"}
    out = await anonymous("POST", "/api/v1/auth/logout", headers=sent)
    assert out.status == 200
    assert out.headers["set-cookie"].startswith("__Host-auth=; ")

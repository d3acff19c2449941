"""The page on which a person signs in without scripts."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from tests.api.client import Answer, Client
from tests.api.master import PASSWORD

FORM = {"content-type": "application/x-www-form-urlencoded"}


async def submitted(client: Client, target: str, username: str, password: str) -> Answer:
    body = urlencode({"username": username, "password": password}).encode()
    return await client("POST", target, body, headers=FORM)


async def test_a_person_signs_in_and_returns_to_where_they_came_from(
    anonymous: Client, user: Client
) -> None:
    page = await anonymous("GET", "/det/login?redirect=/proxy/x/%3Fa%3Db")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    action = "/det/login?redirect=/proxy/x/%3Fa%3Db"
    assert f'action="{action}"' in page.body.decode()
    assert "<script" not in page.body.decode()
    assert "default-src 'none'" in page.headers["content-security-policy"]
    done = await submitted(anonymous, action, "determined", PASSWORD)
    assert (done.status, done.headers["location"]) == (303, "/proxy/x/?a=b")
    cookie = done.headers["set-cookie"].partition(";")[0]
    assert cookie.startswith("auth=")
    me = await anonymous("GET", "/api/v1/me", headers={"cookie": cookie})
    assert me.json()["user"]["username"] == "determined"


async def test_a_wrong_password_shows_the_form_again_with_the_reason(anonymous: Client) -> None:
    answer = await submitted(anonymous, "/det/login", '"><b>x', "wrong")
    assert (answer.status, 'role="alert"' in answer.body.decode()) == (401, True)
    assert "&quot;&gt;&lt;b&gt;x" in answer.body.decode()
    assert "<b>" not in answer.body.decode()
    assert "set-cookie" not in answer.headers


async def test_without_a_page_to_return_to_the_login_is_said(anonymous: Client) -> None:
    answer = await submitted(anonymous, "/det/login", "determined", PASSWORD)
    assert (answer.status, "You are signed in as determined" in answer.body.decode()) == (
        200,
        True,
    )


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nx: y", "/\tb"]
)
async def test_nobody_is_led_to_another_site(anonymous: Client, target: str) -> None:
    at = f"/det/login?{urlencode({'redirect': target})}"
    assert "redirect=" not in (await anonymous("GET", at)).body.decode()
    assert "location" not in (await submitted(anonymous, at, "determined", PASSWORD)).headers


async def test_guesses_on_the_page_count_like_others(anonymous: Client) -> None:
    for _ in range(10):
        assert (await submitted(anonymous, "/det/login", "admin", "wrong")).status == 401
    answer = await submitted(anonymous, "/det/login", "admin", "wrong")
    assert "retry-after" in answer.headers

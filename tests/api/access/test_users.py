"""Users, logging in and out, and who may change whom."""

from __future__ import annotations

import pytest
from tests.api.client import Client
from tests.api.master import PASSWORD

from determined_master.services.access.passwords import client_hash


async def test_a_login_in_the_clear_or_hashed_opens_a_session(anonymous: Client) -> None:
    for body in (
        {"username": "admin", "password": PASSWORD},
        {"username": "ADMIN", "password": client_hash(PASSWORD), "isHashed": True},
    ):
        answer = await anonymous("POST", "/api/v1/auth/login", body)
        assert answer.status == 200
        assert answer.json()["user"]["username"] == "admin"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        me = await Client(anonymous.app, answer.json()["token"])("GET", "/api/v1/me")
        assert me.json()["user"]["admin"] is True


async def test_an_unknown_user_and_a_wrong_password_get_the_same_answer(anonymous: Client) -> None:
    wrong = await anonymous("POST", "/api/v1/auth/login", {"username": "admin", "password": "x"})
    unknown = await anonymous("POST", "/api/v1/auth/login", {"username": "no", "password": "x"})
    assert (wrong.status, wrong.body) == (unknown.status, unknown.body)
    assert wrong.text == "invalid credentials"


async def test_a_session_is_dead_after_its_logout(admin: Client) -> None:
    assert (await admin("GET", "/api/v1/me")).status == 200
    answer = await admin("POST", "/api/v1/auth/logout")
    assert answer.json() == {}
    assert "1970" in answer.headers["set-cookie"]
    assert (await admin("GET", "/api/v1/me")).status == 401


async def test_a_new_password_ends_every_session_of_that_user(admin: Client, user: Client) -> None:
    me = (await user("GET", "/api/v1/me")).json()["user"]
    changed = await admin("POST", f"/api/v1/users/{me['id']}/password", "Other-1234")
    assert changed.status == 200
    assert (await user("GET", "/api/v1/me")).status == 401
    assert (await admin("GET", "/api/v1/me")).status == 200
    body = {"username": "determined", "password": "Other-1234"}
    assert (await user("POST", "/api/v1/auth/login", body)).status == 200


async def test_a_deactivated_user_is_refused_at_once_in_both_families(
    admin: Client, user: Client
) -> None:
    me = (await user("GET", "/api/v1/me")).json()["user"]
    await admin("PATCH", f"/api/v1/users/{me['id']}", {"active": False})
    gateway = await user("GET", "/api/v1/me")
    assert (gateway.status, gateway.text) == (
        403,
        "user does not have permission: user 'determined' is not active; an admin can activate it",
    )
    plain = await user("GET", "/users/me")
    assert (plain.status, plain.text) == (403, "user not active")
    body = {"username": "determined", "password": PASSWORD}
    login = await user("POST", "/api/v1/auth/login", body)
    assert (login.status, login.text) == (403, "user is not active")


async def test_several_users_are_deactivated_at_once_and_each_has_a_result(
    admin: Client, user: Client
) -> None:
    me = (await user("GET", "/api/v1/me")).json()["user"]["id"]
    many = {"userIds": [me, 99, me], "activate": False}
    refused = await user("PATCH", "/api/v1/users", many)
    text = "only admin privileged users can update users"
    assert [result["error"] for result in refused.json()["results"]] == [text] * 3
    assert (await user("GET", "/api/v1/me")).status == 200
    answer = await admin("PATCH", "/api/v1/users", many)
    assert answer.json()["results"] == [
        {"id": me, "error": ""},
        {"id": 99, "error": "user not found"},
        {"id": me, "error": ""},
    ]
    assert "is not active" in (await user("GET", "/api/v1/me")).text
    assert (await admin("GET", "/api/v1/me")).status == 200
    by_filter = {"activate": True, "filters": {"name": "determined"}}
    answer = await admin("PATCH", "/api/v1/users", by_filter)
    assert answer.json()["results"] == [{"id": me, "error": ""}]
    assert (await user("GET", "/api/v1/me")).status == 200


@pytest.mark.parametrize("password", ["", "   "])
async def test_blank_passwords_are_refused(admin: Client, password: str) -> None:
    body = {"user": {"username": "blank", "active": True}, "password": password}
    answer = await admin("POST", "/api/v1/users", body)
    assert answer.status == 400
    assert "password" in answer.text


async def test_a_name_is_taken_in_any_case(admin: Client) -> None:
    body = {"user": {"username": "Admin", "active": True}, "password": PASSWORD}
    answer = await admin("POST", "/api/v1/users", body)
    assert (answer.status, answer.json()["error"]["reason"]) == (409, "AlreadyExists")
    determined = (await admin("GET", "/api/v1/users/determined/by-username")).json()["user"]
    renamed = await admin("PATCH", f"/api/v1/users/{determined['id']}", {"username": "admin"})
    assert renamed.status == 409


async def test_nobody_passes_for_the_admin_by_display_name(user: Client) -> None:
    me = (await user("GET", "/api/v1/me")).json()["user"]
    answer = await user("PATCH", f"/api/v1/users/{me['id']}", {"displayName": "ADMIN"})
    assert answer.status == 400


async def test_part_of_an_agent_group_is_refused(admin: Client) -> None:
    me = (await admin("GET", "/api/v1/me")).json()["user"]
    body = {"agentUserGroup": {"agentUid": 5}}
    answer = await admin("PATCH", f"/api/v1/users/{me['id']}", body)
    assert answer.status == 400
    assert "agentGid" in answer.text


async def test_settings_are_kept_replaced_and_forgotten(user: Client) -> None:
    items = [
        {"key": "a", "storagePath": "p", "value": '{"x": 1}'},
        {"key": "b", "storagePath": "p", "value": "2"},
        {"key": "b", "storagePath": "p", "value": "3"},
    ]
    assert (await user("POST", "/api/v1/users/setting", {"settings": items})).status == 200
    stored = (await user("GET", "/api/v1/users/setting")).json()["settings"]
    assert [(s["key"], s["value"]) for s in stored] == [("a", '{"x":1}'), ("b", "3")]
    gone = {"settings": [{"key": "a", "storagePath": "p", "value": ""}]}
    await user("POST", "/api/v1/users/setting", gone)
    assert len((await user("GET", "/api/v1/users/setting")).json()["settings"]) == 1
    bad = {"settings": [{"key": "c", "storagePath": "p", "value": "{"}]}
    assert (await user("POST", "/api/v1/users/setting", bad)).status == 400
    await user("POST", "/api/v1/users/setting/reset", {})
    assert (await user("GET", "/api/v1/users/setting")).json() == {"settings": []}


async def test_lists_are_cut_sorted_and_filtered(admin: Client) -> None:
    names = "/api/v1/users?sortBy=SORT_BY_USER_NAME&orderBy=ORDER_BY_DESC"
    listed = (await admin("GET", names)).json()
    assert [u["username"] for u in listed["users"]] == ["determined", "admin"]
    cut = (await admin("GET", "/api/v1/users?offset=9&limit=1")).json()
    assert cut["users"] == []
    assert cut["pagination"]["total"] == 2
    assert (await admin("GET", "/api/v1/users?limit=-1")).status == 400
    found = (await admin("GET", "/api/v1/users?name=ADM&admin=true")).json()
    assert [u["username"] for u in found["users"]] == ["admin"]
    assert (await admin("GET", "/api/v1/users?name=%25")).json()["users"] == []

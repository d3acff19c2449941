"""Webhooks over the API: who may make them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.cases_webhooks import W1, W2
from tests.api.client import Client


async def made(client: Client, **changes: Any) -> dict[str, Any]:
    answer = await client("POST", "/api/v1/webhooks", {**W1, **changes})
    assert answer.status == 200, answer.body
    webhook: dict[str, Any] = answer.json()["webhook"]
    return webhook


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"triggers": []}, "at least one trigger required"),
        ({"url": "ftp://example.org"}, "url must be a valid URL"),
        ({"url": "http://"}, "url must be a valid URL"),
        ({"url": "http://x:y/"}, "url must be a valid URL"),
        ({"url": "http://example.org/a b"}, "printable characters without spaces"),
        ({"url": "http://example.org/\r\nX: y"}, "printable characters without spaces"),
        ({"url": "http://169.254.169.254/latest"}, "webhooks.allowed_networks"),
        ({"url": "http://[::1]/"}, "webhooks.allowed_networks"),
        ({"url": "http://10.0.0.1/"}, "webhooks.allowed_networks"),
        ({"webhookType": "WEBHOOK_TYPE_UNSPECIFIED"}, "webhookType must be"),
        ({"triggers": [{"triggerType": "TRIGGER_TYPE_CUSTOM"}]}, "with mode SPECIFIC"),
        (
            {"triggers": [{"triggerType": "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED"}]},
            "triggerType must be one of",
        ),
        (
            {
                "triggers": [
                    {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": "a(b"}}
                ]
            },
            "is not a regular expression of RE2",
        ),
        (
            {
                "triggers": [
                    {
                        "triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
                        "condition": {"state": "DONE"},
                    }
                ]
            },
            "condition.state must be one of",
        ),
    ],
)
async def test_a_wrong_definition_is_refused_with_the_remedy(admin, changes, text) -> None:
    answer = await admin("POST", "/api/v1/webhooks", {**W1, **changes})
    assert (answer.status, text in answer.text) == (400, True), answer.text


async def test_names_are_unique_in_a_workspace(admin: Client) -> None:
    await made(admin)
    again = await admin("POST", "/api/v1/webhooks", W1)
    assert again.status == 409
    assert "row already exists" in again.text
    await made(admin, workspaceId=0)


async def test_webhooks_of_all_workspaces_may_share_a_name(admin: Client) -> None:
    hooks = [await made(admin, workspaceId=0) for _ in range(2)]
    assert len({hook["id"] for hook in hooks}) == 2


@pytest.mark.parametrize("workspace_id", [0, 1])
@pytest.mark.parametrize("name", ["", " "])
async def test_a_webhook_without_a_name_gets_one_of_its_own(admin, workspace_id, name) -> None:
    url = "https://hooks.example.org/secret/path"
    place = {"name": name, "url": url, "workspaceId": workspace_id}
    hooks = [await made(admin, **place) for _ in range(2)]
    assert [hook["name"] for hook in hooks] == [
        f"hooks.example.org COMPLETED #{hook['id']}" for hook in hooks
    ]


async def test_unknown_webhooks_and_workspaces_are_not_found(admin: Client) -> None:
    for method, path, body in (
        ("PATCH", "/api/v1/webhooks/77", {"url": "http://example.org"}),
        ("DELETE", "/api/v1/webhooks/77", None),
        ("POST", "/api/v1/webhooks/77/test", {}),
        ("POST", "/api/v1/webhooks", {**W1, "workspaceId": 77}),
    ):
        answer = await admin(method, path, body)
        assert (answer.status, "not found" in answer.text) == (404, True), (path, answer.text)


async def test_only_the_owner_of_a_workspace_and_admins_change_its_webhooks(
    admin: Client, user: Client
) -> None:
    refused = await user("POST", "/api/v1/webhooks", {**W1, "workspaceId": 0})
    assert refused.status == 403
    assert (await user("POST", "/api/v1/webhooks", W1)).status == 403
    own = (await user("POST", "/api/v1/workspaces", {"name": "own"})).json()["workspace"]["id"]
    hook = await made(user, workspaceId=own)
    foreign = await made(admin, url="https://example.org/secret/path")
    at = f"/api/v1/webhooks/{foreign['id']}"
    assert (await user("PATCH", at, {"url": "http://example.org"})).status == 403
    assert (await user("DELETE", at)).status == 403
    assert (await user("POST", f"{at}/test", {})).status == 403
    shown = (await user("GET", "/api/v1/webhooks")).json()["webhooks"]
    assert {w["id"]: w["url"] for w in shown} == {
        hook["id"]: hook["url"],
        foreign["id"]: "https://example.org/********",
    }
    own_at = f"/api/v1/webhooks/{hook['id']}"
    assert (await user("PATCH", own_at, {"url": "http://example.org/z"})).json() == {}
    assert (await user("PATCH", own_at, {"url": "http://127.1.1.1/z"})).status == 200
    assert (await user("PATCH", own_at, {"url": "http://172.16.0.1/z"})).status == 400
    assert (await user("DELETE", own_at)).status == 200


async def test_the_webhooks_of_a_deleted_workspace_go_with_it(admin: Client) -> None:
    place = (await admin("POST", "/api/v1/workspaces", {"name": "w"})).json()["workspace"]["id"]
    await made(admin, workspaceId=place)
    await made(admin, **{**W2, "workspaceId": 1})
    assert (await admin("DELETE", f"/api/v1/workspaces/{place}")).status == 200
    shown = (await admin("GET", "/api/v1/webhooks")).json()["webhooks"]
    assert [w["name"] for w in shown] == ["w2"]

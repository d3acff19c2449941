"""`det webhook`: its requests and its output."""

from __future__ import annotations

import json

import pytest
from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

ROUTE = ("POST", "/api/v1/webhooks")
WEBHOOK = {
    "id": 3,
    "name": "failures",
    "url": "https://hooks.example.com/x",
    "webhookType": "WEBHOOK_TYPE_SLACK",
    "mode": "WEBHOOK_MODE_WORKSPACE",
    "workspaceId": 7,
    "triggers": [
        {"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "ERROR"}},
        {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": "OOM.*"}},
        {"triggerType": "TRIGGER_TYPE_CUSTOM", "condition": None},
        {"triggerType": "TRIGGER_TYPE_OF_A_NEWER_MASTER", "condition": {}},
    ],
}


@pytest.fixture
def webhooks(master: FakeMaster) -> FakeMaster:
    """A master with one webhook in the workspace `vision`."""
    page = canned.page("workspaces", {"id": 7, "name": "vision"})
    master.routes["GET", "/api/v1/workspaces"] = (200, page)
    master.routes["GET", "/api/v1/webhooks"] = (200, {"webhooks": [WEBHOOK]})
    master.routes[ROUTE] = (200, {"webhook": WEBHOOK})
    return master


def test_a_webhook_is_created_with_all_of_its_triggers(det: Det, webhooks: FakeMaster) -> None:
    options = ("--on", "ERROR", "--on", "COMPLETED", "--log", "OOM.*", "--slack", "-w", "vision")
    out = det("webhook", "create", "failures", "https://hooks.example.com/x", *options).out
    assert out == "Created webhook 'failures' (ID 3); try it: det webhook test 3\n"
    [call] = webhooks.made(*ROUTE)
    change, log = "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "TRIGGER_TYPE_TASK_LOG"
    assert call.json == {
        "name": "failures",
        "url": "https://hooks.example.com/x",
        "webhookType": "WEBHOOK_TYPE_SLACK",
        "mode": "WEBHOOK_MODE_WORKSPACE",
        "workspaceId": 7,
        "triggers": [
            {"triggerType": change, "condition": {"state": "ERROR"}},
            {"triggerType": change, "condition": {"state": "COMPLETED"}},
            {"triggerType": log, "condition": {"regex": "OOM.*"}},
        ],
    }


def test_alerts_are_for_experiments_that_name_the_webhook(det: Det, webhooks: FakeMaster) -> None:
    det("webhook", "create", "alerts", "https://hooks.example.com/x", "--alert")
    [call] = webhooks.made(*ROUTE)
    assert call.json["mode"] == "WEBHOOK_MODE_SPECIFIC"
    assert call.json["workspaceId"] == 0
    assert call.json["triggers"] == [{"triggerType": "TRIGGER_TYPE_CUSTOM", "condition": {}}]


def test_without_a_trigger_nothing_is_created(det: Det, webhooks: FakeMaster) -> None:
    outcome = det("webhook", "create", "none", "https://hooks.example.com/x")
    assert outcome.status == 1
    assert "give at least one of --on STATE, --log REGEX and --alert" in outcome.err
    assert webhooks.made(*ROUTE) == []


def test_a_wrong_state_is_refused_with_the_right_ones(det: Det, webhooks: FakeMaster) -> None:
    outcome = det("webhook", "create", "x", "https://hooks.example.com/x", "--on", "FAILED")
    assert outcome.status == 2
    assert "COMPLETED" in outcome.err


def test_the_list_names_triggers_as_the_options_do(det: Det, webhooks: FakeMaster) -> None:
    [row] = det("webhook", "list").out.splitlines()[2:]
    assert [cell.strip() for cell in row.split("|")] == [
        *("3", "failures", "vision", "workspace", "slack"),
        "on ERROR, log OOM.*, alert, TRIGGER_TYPE_OF_A_NEWER_MASTER",
        "https://hooks.example.com/x",
    ]
    assert json.loads(det("wh", "ls", "--json").out) == [WEBHOOK]


def test_a_webhook_is_changed_tried_and_deleted(det: Det, webhooks: FakeMaster) -> None:
    one = "/api/v1/webhooks/3"
    for route in (("PATCH", one), ("POST", f"{one}/test"), ("DELETE", one)):
        webhooks.routes[route] = (200, {})
    assert "sends to https://b now" in det("webhook", "set-url", "3", "https://b").out
    assert webhooks.made("PATCH", one)[0].json == {"url": "https://b"}
    assert "took the message" in det("webhook", "test", "3").out
    assert det("webhook", "delete", "3", stdin="n\n").status == 1
    assert webhooks.made("DELETE", one) == []
    assert det("webhook", "delete", "3", "--yes").out == "Deleted webhook 3\n"
    assert len(webhooks.made("DELETE", one)) == 1

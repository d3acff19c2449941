"""Templates over the API, and experiments made from them."""

from __future__ import annotations

from tests.api.client import Client
from tests.covers import covers

CONFIG = """
name: from a template
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
labels: [own]
"""


@covers("experiment-config 20.decoding")
async def test_a_template_lies_below_the_configuration_that_names_it(admin: Client) -> None:
    template = {"max_restarts": 2, "labels": ["t"], "hyperparameters": {"lr": 0.5}}
    await admin("POST", "/api/v1/templates/base", {"config": template})
    body = {"config": CONFIG, "template": "base"}
    config = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]["config"]
    assert config["max_restarts"] == 2
    assert config["hyperparameters"]["lr"] == {"type": "const", "val": 0.5}
    assert "own" in config["labels"]
    assert config["name"] == "from a template"


@covers("experiment-config 25.template")
async def test_an_unknown_template_is_named(admin: Client) -> None:
    answer = await admin("POST", "/api/v1/experiments", {"config": CONFIG, "template": "none"})
    assert (answer.status, answer.text) == (404, "template 'none' not found")


@covers("experiment-config 20.lifecycle")
async def test_names_are_unique_and_missing_ones_are_not_found(admin: Client) -> None:
    for name in ("a", "b"):
        assert (await admin("POST", f"/api/v1/templates/{name}", {"config": {}})).status == 200
    assert (await admin("POST", "/api/v1/templates/a", {"config": {}})).status == 409
    rename = "/api/v1/template/rename"
    assert (await admin("PATCH", rename, {"oldName": "no", "newName": "c"})).status == 404
    assert (await admin("PATCH", rename, {"oldName": "a", "newName": "b"})).status == 409
    assert (await admin("PATCH", rename, {"oldName": "a", "newName": " "})).status == 400
    assert (await admin("DELETE", "/api/v1/templates/no")).status == 404


@covers("experiment-config 20.decoding 25.template")
async def test_mistakes_are_reported_when_a_template_is_stored(admin: Client) -> None:
    bad = {"resources": {"slots_per_trial": "two", "slots": 1}, "nosuch": 1}
    answer = await admin("PUT", "/api/v1/templates/bad", {"config": bad})
    assert answer.status == 400
    assert "<template>.resources.slots_per_trial" in answer.text
    assert "nosuch" in answer.text
    assert "slots:" not in answer.text
    missing = await admin("POST", "/api/v1/templates/x", {"config": {}, "workspaceId": 99})
    assert missing.status == 404


@covers("experiment-config 20.lifecycle")
async def test_put_makes_a_template_and_replaces_it_and_lists_are_sorted(admin: Client) -> None:
    for config in ({"max_restarts": 1}, {"name": "n"}):
        answer = await admin("PUT", "/api/v1/templates/z", {"config": config})
    assert answer.json()["template"] == {"name": "z", "config": {"name": "n"}, "workspaceId": 1}
    await admin("PUT", "/api/v1/templates/a", {"config": {"idle_timeout": "5m"}})
    listed = (await admin("GET", "/api/v1/templates?orderBy=ORDER_BY_DESC")).json()
    assert [t["name"] for t in listed["templates"]] == ["z", "a"]
    assert listed["pagination"]["total"] == 2
    assert (await admin("GET", "/api/v1/templates?limit=-2")).status == 400


async def test_a_name_with_slashes_is_created_listed_shown_and_deleted(admin: Client) -> None:
    path = "/api/v1/templates/team%2Fbase%2F..%2Fx"
    name = "team/base/../x"
    assert (await admin("POST", path, {"config": {"max_restarts": 2}})).status == 200
    assert name in [
        t["name"] for t in (await admin("GET", "/api/v1/templates")).json()["templates"]
    ]
    assert (await admin("PATCH", path, {"max_restarts": 3})).status == 200
    shown = (await admin("GET", path)).json()["template"]
    assert (shown["name"], shown["config"]) == (name, {"max_restarts": 3})
    body = {"config": CONFIG, "template": name}
    config = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]["config"]
    assert config["max_restarts"] == 3
    assert (await admin("DELETE", path)).status == 200
    assert (await admin("GET", path)).text == f"template '{name}' not found"

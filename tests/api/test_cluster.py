"""What the cluster tells of itself: its log, pools, workspaces, and labels in use."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.api.cases_experiments import CONFIG, FILE
from tests.api.client import Client
from tests.api.test_downloads import submitted
from tests.covers import covers

from determined_master.server import logs
from determined_master.services.catalog import Services
from determined_master.services.cluster import master as master_service
from determined_master.services.cluster.pools import Pools

log = logging.getLogger("test")


@pytest.fixture
def recent() -> Iterator[logs.RecentLines]:
    """The kept lines, empty and listening, at a level that is put back."""
    root = logging.getLogger()
    level = root.level
    kept = logs.RECENT
    kept.entries.clear()
    kept._next = 0
    root.addHandler(kept)
    root.setLevel(logging.INFO)
    yield kept
    root.removeHandler(kept)
    root.setLevel(level)


def lines(body: bytes) -> list[tuple[int, str, str]]:
    entries = [json.loads(line)["result"]["logEntry"] for line in body.splitlines()]
    return [(e["id"], e["level"], e["message"]) for e in entries]


async def test_the_masters_log_is_read_from_either_end(
    user: Client, recent: logs.RecentLines
) -> None:
    first = recent.next_id
    for number in range(5):
        log.warning("line %d", number)
    path = "/api/v1/master/logs"
    all_of_it = lines((await user("GET", f"{path}?offset={first}")).body)
    assert [text for _, _, text in all_of_it] == [f"line {n}" for n in range(5)]
    assert {level for _, level, _ in all_of_it} == {"LOG_LEVEL_WARNING"}
    assert lines((await user("GET", f"{path}?offset=-2")).body) == all_of_it[-2:]
    assert lines((await user("GET", f"{path}?offset={first + 1}&limit=2")).body) == all_of_it[1:3]
    assert (await user("GET", f"{path}?offset=100000")).body == b""
    negative = await user("GET", f"{path}?limit=-1")
    assert (negative.status, negative.json()["error"]["httpCode"]) == (400, 400)
    assert "Limit must be >= 0" in negative.json()["error"]["message"]


async def test_a_follower_of_the_masters_log_gets_new_lines(
    user: Client, recent: logs.RecentLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(master_service, "FOLLOW_POLL_S", 0.01)
    log.warning("before")
    first = recent.next_id - 1
    path = f"/api/v1/master/logs?follow=true&limit=2&offset={first}"
    following = asyncio.create_task(user("GET", path))
    await asyncio.sleep(0)
    log.warning("after")
    answer = await following
    assert [text for _, _, text in lines(answer.body)] == ["before", "after"]


async def test_an_admin_changes_the_level_of_the_log(
    admin: Client, user: Client, recent: logs.RecentLines
) -> None:
    path = "/api/v1/master/config"
    body = {"config": {"log": {"level": "LOG_LEVEL_ERROR"}}, "fieldMask": "log.level"}
    assert (await user("PATCH", path, body)).status == 403
    assert (await admin("PATCH", path, body)).json() == {}
    assert logging.getLogger().level == logging.ERROR
    shown = (await admin("GET", path)).json()["config"]["log"]
    assert shown == {"color": True, "level": "error"}
    body["fieldMask"] = {"paths": ["port"]}
    refused = await admin("PATCH", path, body)
    assert (refused.status, "invalid field: port" in refused.text) == (400, True)
    body = {"config": {"log": {"color": False}}, "fieldMask": "log.level"}
    assert "unspecified" in (await admin("PATCH", path, body)).text


@covers("experiment-config 11.capacity 25.capacity")
@covers("scheduling-and-provisioning e.4.refused e.4.warned e.4.prefix")
async def test_a_trial_larger_than_its_pool_is_refused_or_warned_of(
    admin: Client, services: Services
) -> None:
    config = CONFIG + "resources: {slots_per_trial: 2}\n"
    body = {"config": config, "modelDefinition": [FILE]}
    refused = await admin("POST", "/api/v1/experiments", body)
    assert refused.status == 400
    key = "invalid resource configuration: slots requested exceeds cluster capacity"
    assert refused.text.startswith(key)
    assert "is 2, pool default has 1 slots" in refused.text
    settings = services[Pools]._settings
    services[Pools]._settings = type(settings)(launch_error=False)
    taken = await admin("POST", "/api/v1/experiments", body)
    assert taken.json()["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]


async def test_a_pool_without_agents_takes_every_trial(
    admin: Client, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services[Pools]._backend, "agents", list)
    config = CONFIG + "resources: {slots_per_trial: 99}\n"
    body = {"config": config, "modelDefinition": [FILE]}
    assert (await admin("POST", "/api/v1/experiments", body)).json()["warnings"] == []


async def test_labels_are_given_taken_and_counted(admin: Client) -> None:
    first, second = await submitted(admin), await submitted(admin)
    path = f"/api/v1/experiments/{first['experimentId']}/labels"
    given = await admin("PUT", f"{path}/x%20y")
    assert sorted(given.json()["labels"]) == ["a", "b", "x y"]
    assert sorted((await admin("PUT", f"{path}/x%20y")).json()["labels"]) == ["a", "b", "x y"]
    assert sorted((await admin("DELETE", f"{path}/a")).json()["labels"]) == ["b", "x y"]
    shown = (await admin("GET", f"/api/v1/experiments/{first['experimentId']}")).json()
    assert sorted(shown["experiment"]["labels"]) == sorted(shown["config"]["labels"])
    assert (await admin("GET", "/api/v1/experiment/labels")).json()["labels"] == ["b", "a", "x y"]
    assert (await admin("PUT", "/api/v1/experiments/9999/labels/z")).status == 404
    assert second["id"] > first["id"]


async def test_the_first_workspace_and_its_project_are_found_by_name(user: Client) -> None:
    by_name = "/api/v1/workspaces?name=uncategorized"
    [workspace] = (await user("GET", by_name)).json()["workspaces"]
    assert (workspace["id"], workspace["immutable"], workspace["numProjects"]) == (1, True, 1)
    for nobody in ("name=uncat", "nameCaseSensitive=uncategorized", "pinned=true", "users=x"):
        assert (await user("GET", f"/api/v1/workspaces?{nobody}")).json()["workspaces"] == []
    assert (await user("GET", "/api/v1/workspaces/7")).text == "workspace '7' not found"
    [project] = (await user("GET", "/api/v1/workspaces/1/projects")).json()["projects"]
    assert (await user("GET", "/api/v1/projects/1")).json()["project"] == project
    assert (project["name"], project["workspaceName"]) == ("Uncategorized", "Uncategorized")


async def test_plain_log_lines_are_stored_like_the_others(admin: Client) -> None:
    trial = await submitted(admin)
    line = {"task_id": trial["taskId"], "log": "hi\n", "level": "WARNING", "rank_id": 1}
    assert (await Client(admin.app)("POST", "/task-logs", [line])).status == 401
    answer = await admin("POST", "/task-logs", [line, {**line, "level": None, "extra": 1}])
    assert (answer.status, answer.body) == (200, b'""\n')
    read = await admin("GET", f"/api/v1/tasks/{trial['taskId']}/logs")
    found = [json.loads(text)["result"] for text in read.body.splitlines()]
    assert [(f["level"], f["log"], f["rankId"]) for f in found] == [
        ("LOG_LEVEL_WARNING", "hi\n", 1),
        ("LOG_LEVEL_UNSPECIFIED", "hi\n", 1),
    ]
    bad = await admin("POST", "/task-logs", [{**line, "level": "LOUD"}])
    assert (bad.status, "'LOUD'" in bad.text) == (400, True)


async def test_curves_are_thinned_to_the_ends_of_even_parts(admin: Client) -> None:
    trial = await submitted(admin)
    reports = [
        {
            "group": group,
            "metrics": {
                "trialId": trial["id"],
                "trialRunId": 0,
                "stepsCompleted": n,
                "metrics": {"avgMetrics": {"loss": n, "other": 1, "epoch": n / 10}},
            },
        }
        for group in ("training", "own")
        for n in range(1, 101)
    ]
    path = f"/api/v1/trials/{trial['id']}/metrics/batch"
    assert (await admin("POST", path, {"reports": reports})).status == 200
    series = f"/api/v1/trials/time-series?trialIds={trial['id']}"
    asked = await admin("GET", f"{series}&metricIds=training.loss&maxDatapoints=12")
    [curve] = asked.json()["trials"][0]["metrics"]
    steps = [point["batches"] for point in curve["data"]]
    assert (steps[0], steps[-1], len(steps) <= 12) == (1, 100, True)
    assert max(b - a for a, b in pairwise(steps)) <= 20
    assert curve["data"][0]["values"] == {"loss": 1}
    assert curve["data"][0]["epoch"] == 0.1
    part = await admin("GET", f"{series}&metricNames=other&group=own&startBatches=5&endBatches=7")
    [curve] = part.json()["trials"][0]["metrics"]
    assert [point["batches"] for point in curve["data"]] == [5, 6, 7]
    for wrong in (series, f"{series}&metricIds=loss", "/api/v1/trials/time-series?metricIds=a.b"):
        assert (await admin("GET", wrong)).status == 400

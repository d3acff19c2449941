"""Topics of the live channel on a real database, each from its first frame to its changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import ok
from tests.api.samples import World
from tests.api.updates.live_client import LiveSocket, live

from determined_master.api.app import Api


@pytest.fixture
async def socket(world: World) -> AsyncIterator[LiveSocket]:
    """Of the admin."""
    admin = world.clients["admin"]
    async with live(_api(admin), admin.token) as made:
        yield made


def _api(client: Client) -> Api:
    app: Any = client.app
    return app


async def report(world: World, names: dict[str, str], steps: int, **metrics: Any) -> None:
    body = {"trialRunId": 1, "stepsCompleted": steps, "metrics": {"avgMetrics": metrics}}
    path = f"/api/v1/trials/{names['trial_id']}/metrics"
    await ok(world.clients["admin"], "POST", path, {"group": "training", "metrics": body})


async def post_lines(world: World, task_id: str, *texts: str) -> None:
    logs = [{"taskId": task_id, "log": text} for text in texts]
    await ok(world.clients["admin"], "POST", "/api/v1/task/logs", {"logs": logs})


async def test_an_experiment_is_sent_at_first_and_with_its_changed_trials(
    world: World, socket: LiveSocket
) -> None:
    names = await scene.submitted(world)
    admin, path = world.clients["admin"], f"/api/v1/experiments/{names['experiment_id']}"
    topic = f"exp:{names['experiment_id']}"
    first = await socket.subscribed(topic)
    assert (first["op"], first["data"]["trials"]) == ("upsert", [])
    shown = (await ok(admin, "GET", path))["experiment"]
    left_out = {"config", "originalConfig", "hyperparameters", "trialIds"}
    assert first["data"]["experiment"] == {n: v for n, v in shown.items() if n not in left_out}

    await ok(admin, "POST", f"{path}/pause")
    while True:
        frame = await socket.frame_of(topic, "upsert")
        if frame["data"]["trials"] and frame["data"]["experiment"]["state"] == "STATE_PAUSED":
            break
    [trial] = (await ok(admin, "GET", f"{path}/trials"))["trials"]
    ours = frame["data"]["trials"][0]
    assert ours.keys() == trial.keys()
    assert (ours["id"], ours["hparams"]) == (trial["id"], trial["hparams"])


@pytest.mark.parametrize(
    "change", [{"name": "new"}, {"notes": "n"}, {"labels": ["z"]}, {"description": "d"}]
)
async def test_an_edited_experiment_arrives(
    world: World, socket: LiveSocket, change: dict[str, Any]
) -> None:
    names = await scene.submitted(world)
    path, topic = f"/api/v1/experiments/{names['experiment_id']}", f"exp:{names['experiment_id']}"
    await socket.subscribed(topic)
    await ok(world.clients["admin"], "PATCH", path, change)
    [(name, value)] = change.items()
    while (await socket.frame_of(topic))["data"]["experiment"][name] != value:
        pass


async def test_a_run_follows_its_metrics_checkpoints_progress_end_and_deletions(
    world: World, socket: LiveSocket
) -> None:
    await scene.running(world)
    names, topic = world.names, f"run:{world.names['trial_id']}"
    admin, path = world.clients["admin"], f"/api/v1/trials/{names['trial_id']}"
    first = await socket.subscribed(topic)
    shown = (await ok(admin, "GET", path))["trial"]
    ours = first["data"]["trial"]
    assert ours.pop("wallClockTime") <= shown.pop("wallClockTime")
    assert ours == shown
    await report(world, names, 7, loss=0.5)
    while (await socket.frame_of(topic))["data"]["trial"]["totalBatchesProcessed"] != 7:
        pass
    await scene.report(world)
    while (await socket.frame_of(topic))["data"]["trial"]["checkpointCount"] != 1:
        pass
    state = {"metadata": {"state": "halfway"}}
    await ok(admin, "POST", f"{path}/runner/metadata", state["metadata"])
    while (await socket.frame_of(topic))["data"]["trial"]["runnerState"] != "halfway":
        pass
    await scene.container(world, names, "TERMINATED", exit_code=0)
    while (await socket.frame_of(topic))["data"]["trial"]["state"] != "STATE_COMPLETED":
        pass

    deleted = {"checkpoints": [{"uuid": names["uuid"], "resources": {}}]}
    await ok(admin, "PATCH", "/api/v1/checkpoints", deleted)
    while (await socket.frame_of(topic))["data"]["trial"]["checkpointCount"] != 0:
        pass


async def test_the_runs_of_a_project_are_sent_in_short(world: World, socket: LiveSocket) -> None:
    topics = ("project:1/runs", "project:0/runs", "project:all/runs")
    for topic in topics:
        first = await socket.subscribed(topic)
        assert first["data"] == {"runs": [], "removed": []}
    await scene.running(world)
    await scene.report(world)
    names, seen = world.names, set()
    while seen != set(topics):
        frame = await socket.frame()
        for run in frame["data"]["runs"]:
            if run.get("validationMetrics") and run["state"] == "STATE_RUNNING":
                assert (run["id"], run["projectId"]) == (int(names["trial_id"]), 1)
                assert run["experimentId"] == int(names["experiment_id"])
                assert run["validationMetrics"] == {"loss": 0.3, "acc": "-Infinity"}
                assert run["searcherMetricValue"] == 0.3
                seen.add(frame["topic"])


async def test_a_run_that_moves_leaves_one_project_and_comes_to_the_other(
    world: World, socket: LiveSocket
) -> None:
    admin = world.clients["admin"]
    place = (await ok(admin, "POST", "/api/v1/workspaces", {"name": "w"}))["workspace"]["id"]
    path, body = f"/api/v1/workspaces/{place}/projects", {"name": "other", "workspaceId": place}
    other = (await ok(admin, "POST", path, body))["project"]["id"]
    names = await scene.submitted(world)
    for project in (1, other):
        await socket.subscribed(f"project:{project}/runs")
    path = f"/api/v1/experiments/{names['experiment_id']}/move"
    await ok(admin, "POST", path, {"destinationProjectId": other})
    left, came = False, False
    while not (left and came):
        frame = await socket.frame()
        left |= frame["topic"] == "project:1/runs" and bool(frame["data"]["removed"])
        runs = [run["id"] for run in frame["data"]["runs"]]
        came |= frame["topic"] == f"project:{other}/runs" and runs == [int(names["trial_id"])]


async def test_metrics_come_in_columns(world: World, socket: LiveSocket) -> None:
    await scene.running(world)
    topic = f"metrics:{world.names['trial_id']}"
    await report(world, world.names, 1, loss=9.0)
    first = await socket.subscribed(topic)
    assert (first["op"], first["data"]["batches"]) == ("append", [])
    await report(world, world.names, 2, loss=0.5)
    await report(world, world.names, 3, loss="NaN", accuracy=1)
    batches: list[int] = []
    losses: list[Any] = []
    accuracies: list[Any] = []
    while len(batches) < 2:
        data = (await socket.frame_of(topic, "append"))["data"]
        assert (data["group"], len(data["times"])) == ("training", len(data["batches"]))
        batches += data["batches"]
        losses += data["metrics"]["loss"]
        accuracies += data["metrics"].get("accuracy", [])
    assert (batches, losses) == ([2, 3], [0.5, "NaN"])
    assert accuracies in ([1.0], [None, 1.0])


async def test_a_validation_of_a_search_is_a_report_too(world: World, socket: LiveSocket) -> None:
    await scene.running(world)
    topic = f"metrics:{world.names['trial_id']}"
    await socket.subscribed(topic)
    await scene.report(world)
    groups: set[str] = set()
    while groups != {"training", "validation", "custom/grp"}:
        groups.add((await socket.frame_of(topic, "append"))["data"]["group"])


async def test_a_queue_and_the_agents_are_reported_when_they_change(
    world: World, socket: LiveSocket
) -> None:
    await socket.subscribed("queue:default")
    first = await socket.subscribed("agents")
    assert first["data"] == {"agents": [], "removed": []}
    await scene.running(world)
    changed: dict[str, Any] = {}
    while set(changed) != {"queue:default", "agents"}:
        frame = await socket.frame()
        changed[frame["topic"]] = frame["data"]
    assert changed["queue:default"] == {"changed": True}
    [agent] = changed["agents"]["agents"]
    listed = (await ok(world.clients["admin"], "GET", "/api/v1/agents"))["agents"]
    assert agent.keys() == listed[0].keys()
    await ok(world.clients["admin"], "POST", "/api/v1/agents/a1/disable", {"drain": True})
    while not (await socket.frame_of("agents"))["data"]["agents"][0]["draining"]:
        pass


async def test_the_first_viewer_of_agents_misses_no_change(
    world: World, socket: LiveSocket
) -> None:
    await scene.running(world)
    await socket.subscribed("agents")
    await ok(world.clients["admin"], "POST", "/api/v1/agents/a1/disable", {"drain": True})
    [agent] = (await socket.frame_of("agents", "upsert"))["data"]["agents"]
    assert (agent["id"], agent["draining"]) == ("a1", True)


async def test_tasks_are_sent_in_short_and_to_their_owner(
    world: World, socket: LiveSocket
) -> None:
    for topic in ("tasks", "me"):
        await socket.subscribed(topic)
    body = {"config": {"entrypoint": ["true"]}, "workspaceId": 1}
    made = await ok(world.clients["admin"], "POST", "/api/v1/commands", body)
    task_id, seen = made["command"]["id"], {}
    while set(seen) != {"tasks", "me"}:
        frame = await socket.frame()
        seen[frame["topic"]] = frame["data"]
    [task] = seen["tasks"]["tasks"]
    assert (task["id"], task["type"], task["userId"]) == (task_id, "TASK_TYPE_COMMAND", 1)
    assert task["state"] == "STATE_QUEUED"
    assert (seen["me"]["event"], seen["me"]["taskId"]) == ("task_state", task_id)


async def test_own_experiments_are_events_of_me(world: World, socket: LiveSocket) -> None:
    await socket.subscribed("me")
    names = await scene.submitted(world)
    path = f"/api/v1/experiments/{names['experiment_id']}/cancel"
    await ok(world.clients["admin"], "POST", path)
    states = []
    while "STATE_CANCELED" not in states:
        event = (await socket.frame_of("me"))["data"]
        assert event["event"] == "experiment_state"
        assert (event["experimentId"], event["name"]) == (int(names["experiment_id"]), "wirex")
        states.append(event["state"])
    assert len(states) == len(set(states))


async def test_changed_models_are_named(world: World, socket: LiveSocket) -> None:
    await socket.subscribed("models")
    made = await ok(world.clients["admin"], "POST", "/api/v1/models", {"name": "m"})
    assert (await socket.frame_of("models"))["data"] == {"changed": [made["model"]["id"]]}


async def test_a_deleted_experiment_ends_with_a_delete(world: World, socket: LiveSocket) -> None:
    await scene.finished(world)
    admin, names = world.clients["admin"], world.names
    topic = f"exp:{names['experiment_id']}"
    await socket.subscribed(topic)
    await ok(admin, "DELETE", f"/api/v1/experiments/{names['experiment_id']}")
    frame = await socket.frame_of(topic)
    assert frame["data"]["experiment"]["state"] == "STATE_DELETING"


async def test_a_cursor_continues_where_the_last_frame_ended(world: World) -> None:
    admin = world.clients["admin"]
    names = await scene.submitted(world)
    path, topic = f"/api/v1/experiments/{names['experiment_id']}", f"exp:{names['experiment_id']}"
    async with live(_api(admin), admin.token) as socket:
        before = await socket.subscribed(topic)
    async with live(_api(admin), admin.token) as watching:
        await watching.subscribed(topic)
        await ok(admin, "PATCH", path, {"name": "meanwhile"})
        while (await watching.frame_of(topic))["data"]["experiment"]["name"] != "meanwhile":
            pass
    async with live(_api(admin), admin.token) as socket:
        missed = await socket.subscribed(topic, before["cursor"])
        assert (missed["op"], missed["seq"]) == ("upsert", before["seq"] + 1)
    for cursor in (
        "0badcafe-3",
        "nonsense",
        f"{before['cursor']}.",
        f"{before['cursor'][:8]}-999999",
    ):
        async with live(_api(admin), admin.token) as socket:
            assert (await socket.subscribed(topic, cursor))["op"] == "reset"


async def test_frames_of_a_topic_come_at_most_four_times_a_second(
    world: World, socket: LiveSocket
) -> None:
    await scene.running(world)
    topic = f"metrics:{world.names['trial_id']}"
    first = await socket.subscribed(topic)
    began = asyncio.get_running_loop().time()
    count = 0
    while asyncio.get_running_loop().time() < began + 1.5:
        count += 1
        await report(world, world.names, count, loss=1.0)
    batches: list[int] = []
    while len(batches) < count:
        frame = await socket.frame_of(topic)
        batches += frame["data"]["batches"]
    assert batches == list(range(1, count + 1))
    took = asyncio.get_running_loop().time() - began
    assert frame["seq"] - first["seq"] <= 4 * took + 2


async def test_lines_of_a_task_come_once_and_in_order(world: World, socket: LiveSocket) -> None:
    names = await scene.submitted(world)
    task_id = names["task_id"]
    await post_lines(world, task_id, "before")
    first = await socket.subscribed(f"logs:{task_id}")
    assert (first["op"], first["data"]) == ("append", {"lines": []})
    await post_lines(world, task_id, *(f"line {n}" for n in range(50)))
    lines: list[Any] = []
    while len(lines) < 50:
        found = (await socket.frame_of(f"logs:{task_id}"))["data"]["lines"]
        lines += [line for line in found if line["log"].startswith("line ")]
    assert [line["log"] for line in lines] == [f"line {n}" for n in range(50)]
    answer = await world.clients["admin"]("GET", f"/api/v1/tasks/{task_id}/logs")
    listed = [json.loads(piece)["result"] for piece in answer.body.splitlines()]
    assert lines[0] == next(line for line in listed if line["log"] == "line 0")


async def test_the_log_of_a_task_ends_with_it(world: World, socket: LiveSocket) -> None:
    await scene.finished(world)
    topic = f"logs:{world.names['task_id']}"
    socket.subscribe(topic, "0")
    frames = [await socket.frame_of(topic)]
    while not frames[-1]["data"].get("ended"):
        frames.append(await socket.frame_of(topic))
    logs = [line["log"] for frame in frames for line in frame["data"]["lines"]]
    assert any("from api" in text for text in logs)
    again = await socket.subscribed(topic, frames[-1]["cursor"])
    assert again["data"]["lines"] == []


async def test_a_log_continues_at_the_cursor_without_loss_or_repetition(world: World) -> None:
    admin = world.clients["admin"]
    names = await scene.submitted(world)
    task_id, topic = names["task_id"], f"logs:{names['task_id']}"
    cursor, seen, sent = "0", [], 0
    for _ in range(5):
        async with live(_api(admin), admin.token) as socket:
            socket.subscribe(topic, cursor)
            wanted = sent + 40
            while len(seen) < wanted:
                if sent < wanted:
                    await post_lines(world, task_id, *(f"{sent + n}" for n in range(20)))
                    sent += 20
                frame = await socket.frame_of(topic, "append")
                cursor = frame["cursor"]
                mine = [line["log"] for line in frame["data"]["lines"]]
                seen += [text for text in mine if text.isdigit()]
    assert seen == [str(n) for n in range(sent)]

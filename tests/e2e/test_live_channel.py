"""The live channel of a real master: every topic, event streams, and a master that is killed."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.cluster import PASSWORD, Cluster, until
from tests.e2e.conftest import running
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from determined.common.api import authentication

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LINES = 4000
KILLS = 3
DEADLINE_S = 120.0
WORKS = """
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    for step in range(1, 6):
        context.train.report_training_metrics(step, {"loss": 1 / step})
    context.train.report_validation_metrics(5, {"loss": 0.2})
    with context.checkpoint.store_path({"steps_completed": 5}) as (path, uuid):
        (path / "w").write_text("w")
"""
PRINTS = """
import os, pathlib, time

for n in range(int(os.environ["LINES"])):
    print("line", n, flush=n % 20 == 0)
    if n % 200 == 0:
        time.sleep(0.1)  # so that the kills fall into the output
"""
ONE_TRIAL = {"searcher": {"name": "single", "metric": "loss"}, "max_restarts": 5}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running() as made:
        yield made


def opened(cluster: Cluster) -> ClientConnection:
    headers = {"Authorization": f"Bearer {cluster.session().token}"}
    address = f"ws://127.0.0.1:{cluster.port}/api/ui/v1/live"
    return connect(address, additional_headers=headers, max_size=None)


def subscribe(socket: ClientConnection, topic: str, cursor: str = "") -> None:
    socket.send(json.dumps({"op": "subscribe", "topic": topic, "cursor": cursor or None}))


def frame_of(socket: ClientConnection) -> dict[str, Any]:
    """The next frame but heartbeats."""
    while True:
        frame: dict[str, Any] = json.loads(socket.recv(DEADLINE_S))
        if frame["op"] != "heartbeat":
            return frame


def submit(cluster: Cluster, script: str, **more: Any) -> tuple[int, dict[str, Any]]:
    """An experiment of one trial, and the trial."""
    config = {"name": "live", "entrypoint": "python3 t.py", **ONE_TRIAL, **more}
    experiment = cluster.submit(config, {"t.py": script})
    [trial] = until(lambda: cluster.trials(experiment), what="a trial")
    return experiment, trial


def test_every_topic_shows_a_search_from_its_submission_to_its_end(cluster: Cluster) -> None:
    with opened(cluster) as socket:
        first = ["project:all/runs", "project:1/runs", "queue:default", "agents", "me"]
        for topic in (*first, "tasks", "models"):
            subscribe(socket, topic)
            assert frame_of(socket)["topic"] == topic
        experiment, trial = submit(cluster, WORKS)
        own = [f"exp:{experiment}", f"run:{trial['id']}", f"metrics:{trial['id']}"]
        for topic in own:
            subscribe(socket, topic)
        subscribe(socket, f"logs:{trial['taskId']}", "0")
        cluster.post("/api/v1/models", {"name": f"m{experiment}"})
        command = {"config": {"entrypoint": ["true"]}, "workspaceId": 1}
        cluster.post("/api/v1/commands", command)
        frames = _until_all_is_seen(socket, experiment, trial["taskId"])
    assert {f["topic"] for f in frames} >= {*first, *own, "tasks", "models"}
    assert all(f["op"] != "error" for f in frames), [f for f in frames if f["op"] == "error"]
    losses: list[float] = []
    for frame in frames:
        if frame["topic"] == own[2] and frame["data"]["group"] == "training":
            losses += frame["data"]["metrics"].get("loss", [])
    assert losses == [1 / step for step in range(1, 6)][-len(losses) :]
    ends = [f for f in frames if f["topic"] == own[1]]
    assert ends[-1]["data"]["trial"]["state"] == "STATE_COMPLETED"
    assert ends[-1]["data"]["trial"]["checkpointCount"] == 1


def _until_all_is_seen(
    socket: ClientConnection, experiment: int, task_id: str
) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = []
    left = {"log", "experiment", "run", "task", "model", "me"}
    while left:
        frame = frame_of(socket)
        frames.append(frame)
        data = frame["data"]
        match frame["topic"].partition(":")[0]:
            case "logs" if data.get("ended"):
                left.discard("log")
            case "exp" if data["experiment"]["state"] == "STATE_COMPLETED":
                left.discard("experiment")
            case "run" if data["trial"]["state"] == "STATE_COMPLETED":
                left.discard("run")
            case "tasks" if data["tasks"]:
                left.discard("task")
            case "models" if data["changed"]:
                left.discard("model")
            case "me" if data.get("state") == "STATE_COMPLETED":
                left.discard("me")
    return frames


def test_an_event_stream_has_the_same_frames(cluster: Cluster) -> None:
    experiment, trial = submit(cluster, WORKS)
    link = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=DEADLINE_S)
    path = f"/api/ui/v1/live/events?topics=exp:{experiment},logs:{trial['taskId']}&cursors=,0"
    link.request("GET", path, headers={"Authorization": f"Bearer {cluster.session().token}"})
    answer = link.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream"
    seen: set[str] = set()
    while seen != {"completed", "ended"}:
        line = answer.readline()
        if not line.startswith(b"data: "):
            assert line == b"\n"
            continue
        frame = json.loads(line[6:])
        data = frame.get("data", {})
        if frame["op"] == "upsert" and data["experiment"]["state"] == "STATE_COMPLETED":
            seen.add("completed")
        if data.get("ended"):
            seen.add("ended")
    link.close()


def test_a_revoked_token_closes_the_channel(cluster: Cluster) -> None:
    session = authentication.login(cluster.address, "admin", PASSWORD)
    headers = {"Authorization": f"Bearer {session.token}"}
    address = f"ws://127.0.0.1:{cluster.port}/api/ui/v1/live"
    with connect(address, additional_headers=headers) as socket:
        subscribe(socket, "me")
        assert frame_of(socket)["op"] == "upsert"
        session.post("/api/v1/auth/logout")
        with pytest.raises(ConnectionClosed) as closed:
            _read_on(socket)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
    session.close()


def _read_on(socket: ClientConnection) -> None:
    while True:
        frame_of(socket)


@pytest.mark.kill
def test_a_log_loses_and_repeats_nothing_while_its_master_is_killed(cluster: Cluster) -> None:
    variables = {"environment_variables": [f"LINES={LINES}"]}
    _, trial = submit(cluster, PRINTS, environment=variables)
    topic, cursor, seen = f"logs:{trial['taskId']}", "0", []
    kills_at = [LINES * n // (KILLS + 1) for n in range(1, KILLS + 1)]
    is_over = False
    while not is_over:
        with opened(cluster) as socket:
            subscribe(socket, topic, cursor)
            while not is_over:
                if kills_at and len(seen) >= kills_at[0]:
                    kills_at.pop(0)
                    cluster.kill("master")
                    cluster.start_master()
                    break
                frame = frame_of(socket)
                cursor = frame["cursor"]
                assert frame["op"] == "append", frame
                logs = [line["log"] for line in frame["data"]["lines"]]
                seen += [text for text in logs if text.startswith("line ")]
                is_over = bool(frame["data"].get("ended"))
    assert seen == [f"line {n}\n" for n in range(LINES)]
    assert not kills_at

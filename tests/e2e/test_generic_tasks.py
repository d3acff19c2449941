"""Generic tasks outlive the master that started them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.kill]

CONFIG = "entrypoint: [python3, go.py]\nresources: {slots: 1}\n"
WAITS = """
import os, time
print("run", os.environ["DET_ALLOCATION_ID"].rsplit(".", 1)[1], flush=True)
while not os.path.exists(os.environ["STOP"]):
    time.sleep(0.02)
print("done", flush=True)
"""


@pytest.fixture
def fresh() -> Iterator[Cluster]:
    with running() as made:
        yield made


def log(cluster: Cluster, task_id: str) -> str:
    lines = cluster.session().get(f"/api/v1/tasks/{task_id}/logs").text.splitlines()
    return "".join(json.loads(line)["result"]["message"] for line in lines)


def state(cluster: Cluster, task_id: str) -> str:
    found = cluster.get(f"/api/v1/tasks/{task_id}")["task"]["taskState"]
    return str(found).removeprefix("GENERIC_TASK_STATE_")


def kill_master(cluster: Cluster) -> None:
    cluster.kill("master")
    cluster.start_master()


def test_a_task_survives_the_master_while_it_runs_and_while_it_is_paused(fresh: Cluster) -> None:
    stop = fresh.root / "stop"
    config = CONFIG + f"environment: {{environment_variables: ['STOP={stop}']}}\n"
    content = base64.b64encode(WAITS.encode()).decode()
    file = {"path": "go.py", "type": 48, "content": content, "mtime": "1", "mode": 33188}
    body = {"config": config, "contextDirectory": [file]}
    task_id = fresh.post("/api/v1/generic-tasks", body)["taskId"]
    until(lambda: "run 1" in log(fresh, task_id), what="the first run")
    kill_master(fresh)
    fresh.post(f"/api/v1/tasks/{task_id}/pause")
    until(lambda: state(fresh, task_id) == "PAUSED", what="the pause")
    kill_master(fresh)
    fresh.post(f"/api/v1/tasks/{task_id}/unpause")
    until(lambda: "run 2" in log(fresh, task_id), what="the second run")
    kill_master(fresh)
    stop.touch()
    until(lambda: state(fresh, task_id) == "COMPLETED", what="the end")
    said = log(fresh, task_id)
    assert [said.count(text) for text in ("run 1", "run 2", "done")] == [1, 1, 1]
    allocations = fresh.get(f"/api/v1/tasks/{task_id}")["task"]["allocations"]
    assert len(allocations) == 2

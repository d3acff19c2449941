"""Interactive tasks on a real agent: they run once, outlive the master, and end as they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.kill]

WAITS = 'echo begun in "$PWD" as "$DET_TASK_TYPE"; while ! test -e "$STOP"; do sleep 0.02; done; '


@pytest.fixture(scope="module")
def fresh() -> Iterator[Cluster]:
    with running(slots=1) as made:
        yield made


def start(cluster: Cluster, script: str, **variables: str) -> str:
    names = [f"{name}={value}" for name, value in variables.items()]
    config = {
        "entrypoint": ["sh", "-c", script],
        "environment": {"environment_variables": names},
    }
    answer = cluster.post("/api/v1/commands", {"config": config})
    return str(answer["command"]["id"])


def get(cluster: Cluster, task_id: str, kind: str = "command") -> Any:
    return cluster.get(f"/api/v1/{kind}s/{task_id}")[kind]


def ended(cluster: Cluster, task_id: str, kind: str = "command") -> Any:
    until(lambda: get(cluster, task_id, kind)["state"] == "STATE_TERMINATED", what="the end")
    return get(cluster, task_id, kind)["exitStatus"]


def log(cluster: Cluster, task_id: str) -> str:
    lines = cluster.session().get(f"/api/v1/tasks/{task_id}/logs").text.splitlines()
    return "".join(json.loads(line)["result"]["message"] for line in lines)


@covers("experiment-config 22.command")
def test_a_command_outlives_the_master_and_ends_as_its_program_does(fresh: Cluster) -> None:
    stop = fresh.root / "stop"
    task_id = start(fresh, f"{WAITS} echo done; exit 3", STOP=str(stop))
    until(lambda: "begun" in log(fresh, task_id), what="the first line")
    waits = start(fresh, "true")
    until(lambda: get(fresh, task_id)["state"] == "STATE_RUNNING", what="the news of its start")
    assert get(fresh, task_id)["container"]["devices"]
    assert get(fresh, waits)["state"] == "STATE_QUEUED"
    fresh.kill("master")
    fresh.start_master()
    assert get(fresh, task_id)["state"] == "STATE_RUNNING"
    assert fresh.post(f"/api/v1/commands/{waits}/kill")["command"]["id"] == waits
    assert "user requested kill" in ended(fresh, waits)
    stop.touch()
    assert ended(fresh, task_id).endswith(
        "container failed with non-zero exit code: 3 (exit code 3)"
    )
    said = log(fresh, task_id)
    assert [said.count(text) for text in ("begun in", "as COMMAND", "done")] == [1, 1, 1]
    assert ended(fresh, start(fresh, "true")) == "allocation exited successfully"
    known = [task["id"] for task in fresh.get("/api/v1/commands")["commands"]]
    assert {task_id, waits} <= set(known)


@covers("experiment-config 22.notebook 22.limits")
def test_a_notebook_that_nobody_uses_is_ended(fresh: Cluster) -> None:
    bin_dir = fresh.root / "bin"
    bin_dir.mkdir(mode=0o755)
    server = bin_dir / "jupyter-lab"  # does nothing: nobody asks it for anything
    server.write_text("#!/bin/sh\necho server begins\nexec sleep 600\n")
    server.chmod(0o755)
    variables = [f"PATH={bin_dir}:/usr/local/bin:/usr/bin:/bin"]
    config = {
        "resources": {"slots": 0},
        "idle_timeout": "1s",
        "environment": {"environment_variables": variables},
    }
    task_id = str(fresh.post("/api/v1/notebooks", {"config": config})["notebook"]["id"])
    until(lambda: "server begins" in log(fresh, task_id), what="the server")
    assert "(reason: idle for " in ended(fresh, task_id, "notebook")

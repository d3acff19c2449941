"""Generic tasks outlive the master that started them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg
import pytest
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running

from determined.common.api.errors import MasterNotFoundException, NotFoundException
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

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


RANKS = """
import os
import determined as det
from determined import core

info = det.get_cluster_info()
distributed = core.DistributedContext.from_torch_distributed()
everybody = distributed.allgather([distributed.rank, info.container_rank])
print("gathered", everybody, os.environ["DET_CONTAINER_RANK"], info.container_addrs, flush=True)
distributed.close()
"""
DIES = """
import os, sys, time
if os.environ["DET_CONTAINER_RANK"] == "1":
    sys.exit(9)
while True:
    time.sleep(0.1)
"""
GANG = """
entrypoint: [python3, -m, determined.launch.simple, python3, go.py]
resources: {slots: 2, is_single_node: false}
"""


def start(cluster: Cluster, config: str, script: str, **more: Any) -> str:
    content = base64.b64encode(script.encode()).decode()
    file = {"path": "go.py", "type": 48, "content": content, "mtime": "1", "mode": 33188}
    body = {"config": config, "contextDirectory": [file], **more}
    return str(cluster.post("/api/v1/generic-tasks", body)["taskId"])


def lines(cluster: Cluster, task_id: str) -> list[dict[str, Any]]:
    """A task's log, followed to its end."""
    path = f"/api/v1/tasks/{task_id}/logs?follow=true"
    answer = cluster.session().get(path).text
    return [json.loads(line)["result"] for line in answer.splitlines()]


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
    task_id = start(fresh, config, WAITS)
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


@pytest.mark.parametrize("what", ["project", "workspace"])
def test_a_master_that_dies_amid_a_deletion_ends_the_tasks_when_it_is_back(
    fresh: Cluster, what: str
) -> None:
    workspace = fresh.post("/api/v1/workspaces", {"name": "short"})["workspace"]["id"]
    projects = f"/api/v1/workspaces/{workspace}/projects"
    project = fresh.post(projects, {"name": "short"})["project"]["id"]
    stop = fresh.root / "stop"
    config = CONFIG + f"environment: {{environment_variables: ['STOP={stop}']}}\n"
    task_id = start(fresh, config, WAITS, projectId=project)
    until(lambda: "run 1" in log(fresh, task_id), what="the run")
    path = f"/api/v1/{what}s/{project if what == 'project' else workspace}"
    die_between(fresh, path, project, task_id)
    fresh.start_master()
    until(lambda: state(fresh, task_id) == "CANCELED", what="the end of the task")
    until(lambda: is_gone(fresh, path), what=f"the end of the {what}")


def die_between(cluster: Cluster, path: str, project: int, task_id: str) -> None:
    """Kill the master when a deletion is stored and the kill of a task is not."""
    options: dict[str, Any] = connection_options(Layout(cluster.root / "db" / "pg"))
    with ThreadPoolExecutor(1) as threads, asyncio.Runner() as runner:
        conn = runner.run(asyncpg.connect(**options))
        held = conn.transaction()
        runner.run(held.start())
        query = "SELECT FROM aggregates WHERE kind = 'task' AND id = $1 FOR UPDATE"
        runner.run(conn.execute(query, task_id))
        deleting = threads.submit(delete, cluster, path)
        query = "SELECT state FROM projects WHERE id = $1"
        until(lambda: runner.run(conn.fetchval(query, project)) != "", what="the deletion")
        cluster.kill("master")
        with pytest.raises(MasterNotFoundException):
            deleting.result(30)
        runner.run(held.rollback())
        runner.run(conn.close())


def delete(cluster: Cluster, path: str) -> None:
    with cluster.session().with_retry(0) as session:
        session.delete(path)


def is_gone(cluster: Cluster, path: str) -> bool:
    try:
        cluster.get(path)
    except NotFoundException:
        return True
    return False


def test_containers_on_two_agents_meet_and_are_ranked_by_agent_id(pair: Cluster) -> None:
    task_id = start(pair, GANG, RANKS)
    until(lambda: state(pair, task_id) in ("COMPLETED", "ERROR"), what="the end")
    told = lines(pair, task_id)
    met = [line for line in told if "gathered" in line["log"]]
    assert {(line["agentId"], line["rankId"]) for line in met} == {("agent-0", 0), ("agent-1", 1)}
    said = [line["log"].partition("gathered ")[2].rpartition(" [")[0] for line in met]
    assert sorted(said) == ["[[0, 0], [1, 1]] 0", "[[0, 0], [1, 1]] 1"]
    assert any("all 2 containers reach each other" in line["log"] for line in told)
    assert state(pair, task_id) == "COMPLETED"


def test_a_container_that_fails_ends_the_others(pair: Cluster) -> None:
    task_id = start(pair, GANG, DIES)
    until(lambda: state(pair, task_id) == "ERROR", what="the end")
    task = pair.get(f"/api/v1/tasks/{task_id}")["task"]
    [allocation] = task["allocations"]
    assert "non-zero exit code: 9" in allocation["exitReason"]

"""`det` 0.38.1 against our master: generic tasks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import Client, Said
from tests.e2e.cluster import Cluster, until

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

CONFIG = "entrypoint: [python3, go.py]\nresources: {slots: 0}\n"
WAITS = """
import os, time
print("run", os.environ["DET_ALLOCATION_ID"].rsplit(".", 1)[1], flush=True)
while not os.path.exists("stop"):
    time.sleep(0.05)
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A configuration, and a directory with a program that waits."""
    config, folder = tmp_path / "task.yaml", tmp_path / "files"
    config.write_text(CONFIG)
    folder.mkdir()
    (folder / "go.py").write_text(WAITS)
    return config, folder


def id_of(said: Said) -> str:
    found = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", said.out + said.err)
    assert found, said
    return found[0]


def reaches(cluster: Cluster, task_id: str, state: str) -> None:
    def is_there() -> Any:
        found = cluster.get(f"/api/v1/tasks/{task_id}")["task"]
        return found["taskState"] == f"GENERIC_TASK_STATE_{state}"

    until(is_there, what=f"{state} of {task_id}")


def prints(client: Client, task_id: str, text: str) -> None:
    until(lambda: text in client.det("task", "logs", task_id).out, what=f"{text!r} in the log")


def test_a_generic_task_is_created_paused_forked_and_killed(
    client: Client, cluster: Cluster, files: tuple[Path, Path]
) -> None:
    config, folder = files
    task_id = id_of(client.det("task", "create", config, "--context", folder))
    prints(client, task_id, "run 1")
    assert "go.py" in client.det("task", "config", task_id).out
    client.det("task", "pause", task_id)
    reaches(cluster, task_id, "PAUSED")
    client.det("task", "unpause", task_id)
    prints(client, task_id, "run 2")
    fork = id_of(client.det("task", "fork", task_id))
    prints(client, fork, "run 1")
    for one in (task_id, fork):
        client.det("task", "kill", one)
        reaches(cluster, one, "CANCELED")


def test_a_task_that_cannot_start_is_reported(client: Client, tmp_path: Path) -> None:
    config = tmp_path / "task.yaml"
    config.write_text("resources: {slots: 0}\n")
    said = client.det("task", "create", config, code=1)
    assert "entrypoint: is missing" in said.err

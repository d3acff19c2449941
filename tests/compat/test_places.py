"""`det` 0.38.1 against our master: workspaces, projects, moves, retention and deletion."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.client import MODEL, Client
from tests.compat.conftest import Finished, created
from tests.e2e.cluster import PASSWORD, Cluster, until

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]
IDLE = "{name: idle, entrypoint: x, searcher: {name: single, metric: loss}}"


@pytest.fixture(scope="module")
def space(client: Client) -> Iterator[str]:
    """A workspace with the project `cats`."""
    client.det("workspace", "create", "space")
    words = ("project", "create", "space", "cats", "--description", "of cats", "--key", "cat")
    assert client.det(*words, "--json").json()["key"] == "CAT"
    yield "space"
    client.det("workspace", "delete", "space", "--yes")


@pytest.fixture
def idle(client: Client, tmp_path: Path) -> int:
    """A paused experiment of the first project."""
    config = tmp_path / "idle.yaml"
    config.write_text(IDLE)
    return created(client.det("experiment", "create", config, MODEL, "--paused"))


def test_a_workspace_is_edited_archived_and_listed(client: Client, cluster: Cluster) -> None:
    agent = ("--agent-uid", 0, "--agent-user", "root", "--agent-gid", 0, "--agent-group", "root")
    storage = ("--checkpoint-storage-config", '{"type":"shared_fs","host_path":"/tmp/of-lab"}')
    made = client.det("workspace", "create", "lab", *agent, *storage, "--json").json()
    assert made["checkpointStorageConfig"]["host_path"] == "/tmp/of-lab"
    client.det("workspace", "edit", "lab", "--name", "room")
    assert client.det("workspace", "describe", "room", "--json").json()["id"] == made["id"]
    listed = client.det("workspace", "list", "--sort-by", "name", "--json").json()
    assert "room" in [w["name"] for w in listed]
    assert "default" in client.det("workspace", "list-pools", "room").out
    client.det("workspace", "archive", "room")
    assert cluster.get(f"/api/v1/workspaces/{made['id']}")["workspace"]["archived"]
    client.det("workspace", "unarchive", "room")
    client.det("workspace", "delete", "room", "--yes")
    left = cluster.get("/api/v1/workspaces")["workspaces"]
    assert "room" not in [w["name"] for w in left]


def test_a_workspace_is_deleted_with_what_has_not_ended(
    client: Client, cluster: Cluster, idle: int
) -> None:
    client.det("workspace", "create", "busy")
    client.det("project", "create", "busy", "jobs")
    client.det("experiment", "move", idle, "busy", "jobs")
    client.det("workspace", "delete", "busy", "--yes")
    until(
        lambda: "busy" not in [w["name"] for w in cluster.get("/api/v1/workspaces")["workspaces"]],
        what="the end of a workspace",
    )
    assert "not found" in client.det("experiment", "describe", idle, code=1).err


def test_a_project_is_edited_and_an_experiment_moved_into_it(
    client: Client, cluster: Cluster, space: str, idle: int
) -> None:
    edited = client.det("project", "edit", space, "cats", "--new_name", "dogs", "--json").json()
    assert (edited["name"], edited["key"]) == ("dogs", "CAT")
    client.det("experiment", "move", idle, space, "dogs")
    moved = cluster.get(f"/api/v1/experiments/{idle}")["experiment"]
    assert (moved["workspaceName"], moved["projectName"]) == (space, "dogs")
    [listed] = client.det("project", "list-experiments", space, "dogs", "--json").json()
    assert listed["id"] == idle
    assert client.det("project", "describe", space, "dogs", "--json").json()["numExperiments"] == 1
    assert "dogs" in client.det("project", "list", space).out
    assert "dogs" in client.det("workspace", "list-projects", space).out
    client.det("project", "archive", space, "dogs")
    client.det("project", "unarchive", space, "dogs")
    client.det("experiment", "kill", idle)
    assert cluster.wait(idle) == "CANCELED"
    client.det("project", "delete", space, "dogs", "--yes")

    def is_empty() -> bool:
        [found] = cluster.get("/api/v1/workspaces", name=space)["workspaces"]
        return bool(found["numProjects"] == 0)

    until(is_empty, what="the end of the project")


def test_the_best_checkpoints_are_downloaded(
    client: Client, finished: Finished, tmp_path: Path
) -> None:
    words = ("experiment", "download", finished.id, "--top-n", 1, "-o", tmp_path / "best")
    client.det(*words)
    [folder] = (tmp_path / "best").iterdir()
    assert (folder / "step").read_text() == "3"
    # Which one it takes is the published client's own affair: it is not the first of the list.
    client.det("trial", "download", finished.trial_id, "--latest", "-o", tmp_path / "one")
    assert (tmp_path / "one" / "step").read_text() in ("1", "3")
    client.det("trial", "support-bundle", finished.trial_id, "-o", tmp_path)
    [bundle] = tmp_path.glob("*.tar.gz")
    with tarfile.open(bundle) as archive:
        assert len(archive.getnames()) > 2


def test_logs_are_kept_as_long_as_is_said_and_then_removed(
    client: Client, cluster: Cluster, tmp_path: Path
) -> None:
    config = (MODEL / "const.yaml").read_text()
    file = tmp_path / "config.yaml"
    file.write_text(config)
    number = created(client.det("experiment", "create", file, MODEL))
    assert cluster.wait(number) == "COMPLETED"
    trial = cluster.trials(number)[0]["id"]
    client.det("experiment", "set", "log-retention", number, "--forever")
    client.det("trial", "set", "log-retention", trial, "--days", 0)
    client.det("task", "cleanup-logs")
    assert list(cluster.lines(trial)) == []
    client.det("checkpoint", "delete", _checkpoint(cluster, number), "--yes")
    client.det("experiment", "delete", number, "--yes")
    path = "/api/v1/experiments"
    until(
        lambda: number not in [e["id"] for e in cluster.get(path, limit=-1)["experiments"]],
        what="the end of the experiment",
    )


def _checkpoint(cluster: Cluster, number: int) -> str:
    found = cluster.get(f"/api/v1/experiments/{number}/checkpoints")["checkpoints"]
    return str(found[0]["uuid"])


def test_tasks_are_listed_and_shown(client: Client, cluster: Cluster, endless: Path) -> None:
    number = created(client.det("experiment", "create", endless, MODEL))
    task = until(lambda: cluster.trials(number), what="a trial")[0]["taskId"]
    until(lambda: cluster.get("/api/v1/tasks")["allocationIdToSummary"], what="an allocation")
    assert task in client.det("task", "list").out
    assert f"{task}.1" in json.dumps(client.det("task", "list", "--json").json())
    client.det("task", "kill", task)
    assert cluster.wait(number) == "CANCELED"
    assert client.det("task", "logs", task).out


def test_the_clusters_message_is_set_and_cleared(client: Client) -> None:
    words = ("master", "cluster-message")
    client.det(*words, "set", "-m", "back soon", "-d", "1h")
    assert "back soon" in client.det(*words, "get", "--json").out
    client.det(*words, "clear")
    assert "back soon" not in client.det(*words, "get").out


def test_the_sdk_keeps_workspaces_and_projects(client: Client, idle: int) -> None:
    found = client.script("sdk_places.py", "admin", PASSWORD, idle)
    assert found == {
        "workspace": "sdk",
        "projects": ["renamed"],
        "description": "told again",
        "key": "SDK",
        "notes": ["two"],
        "archived": [True, False],
        "moved": True,
        "experiments": [idle],
        "pools": ["default", "rig"],
        "left": False,
    }

"""Attacks of code in a real task: on processes and in Docker, without roles and with them.

As root it is part of the other tests of whole clusters; `tests/unprivileged.sh
tests/e2e/test_attacks_in_tasks.py` runs it as a user, with a Docker daemon that root lends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.attacks import code_in_task_requests as requests
from tests.docker_daemon import Daemon
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.e2e.docker_cluster import docker_cluster

from determined_wire.agent_link import PROTOCOL, Device, Hello

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
CODE = (Path(__file__).parents[1] / "attacks" / "code_in_task.py").read_text()
SECRET = "hush-of-the-victim"
WAITS = "import time\nprint('up', flush=True)\ntime.sleep(3600)\n"
EDITOR = 5
DOCKER_LIMITS = {
    "allow_root": False,
    "allowed_host_paths": [],
    "allowed_capabilities": [],
    "allowed_devices": [],
}
EVIL = Hello(
    agent_id="evil",
    protocol=PROTOCOL,
    boot_id="b",
    version="0",
    resource_pool="default",
    hostname="h",
    devices=tuple(Device(n, "gpu", f"GPU-{n}", "cuda") for n in range(16)),
    runtime="process",
)


class Place(NamedTuple):
    """A cluster, where attackers may submit, and whether it hides what is another's."""

    cluster: Cluster
    project: int
    has_roles: bool
    is_isolated: bool


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            (runtime, mode),
            id=f"{runtime}-{mode}",
            marks=[pytest.mark.docker, pytest.mark.xdist_group("docker")]
            if runtime == "docker"
            else [],
        )
        for runtime in ("process", "docker")
        for mode in ("basic", "rbac")
    ],
)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    runtime, mode = request.param
    settings: dict[str, Any] = {"security": {"authz": {"type": mode}}}
    if runtime == "process":
        with running(settings=json.dumps(settings)) as cluster:
            yield Place(cluster, project_of(cluster, mode), mode == "rbac", is_isolated=False)
        return
    # The agent of a user gives files to no other account: its tasks have the user's own.
    uid, gid = (os.getuid(), os.getgid()) if os.getuid() else (54321, 54321)
    settings["security"]["default_task"] = {"user": "t", "uid": uid, "group": "t", "gid": gid}
    docker: Daemon = request.getfixturevalue("usable_docker")
    with docker_cluster(docker, agents=1, slots=2, more=settings, limits=DOCKER_LIMITS) as cluster:
        yield Place(cluster, project_of(cluster, mode), mode == "rbac", is_isolated=True)


def project_of(cluster: Cluster, mode: str) -> int:
    """A project where the user `determined` may work; no role of theirs reaches another one."""
    workspace = cluster.post("/api/v1/workspaces", {"name": "attackers"})["workspace"]["id"]
    path = f"/api/v1/workspaces/{workspace}/projects"
    project = cluster.post(path, {"name": "p", "workspaceId": workspace})["project"]["id"]
    if mode == "rbac":
        [user] = cluster.get("/api/v1/users", name="determined")["users"]
        role = {"role": {"roleId": EDITOR}, "scopeWorkspaceId": workspace}
        given = {"userId": user["id"], "roleAssignment": role}
        cluster.post("/api/v1/roles/add-assignments", {"userRoleAssignments": [given]})
    return int(project)


def config(entrypoint: str, **variables: str) -> dict[str, Any]:
    return {
        "name": "attack",
        "entrypoint": entrypoint,
        "searcher": {"name": "single", "metric": "loss"},
        "max_restarts": 0,
        "environment": {"environment_variables": [f"{k}={v}" for k, v in variables.items()]},
    }


@pytest.fixture
def victim(place: Place) -> Iterator[requests.Victim]:
    """A running trial of the admin."""
    cluster = place.cluster
    experiment = cluster.submit(config("python3 t.py", SECRET=SECRET), {"t.py": WAITS})
    [trial] = until(lambda: cluster.trials(experiment), what="the trial")
    for line in cluster.lines(trial["id"]):
        if line["log"].strip() == "up":
            break
    task = cluster.get(f"/api/v1/tasks/{trial['taskId']}")["task"]
    yield requests.Victim(
        experiment, trial["id"], trial["taskId"], task["allocations"][0]["allocationId"]
    )
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    cluster.wait(experiment)


def harms_of(
    place: Place, asked: list[requests.Request], user: str, *, files: list[str]
) -> tuple[list[str], int]:
    """What the code did that harms, and how much it tried."""
    attack = {
        "requests": asked,
        "hello": json.loads(msgspec.json.encode(EVIL)),
        "files": files,
        "secret": SECRET[::-1],
    }
    cluster = place.cluster
    submitted = config("python3 code_in_task.py", ATTACK=json.dumps(attack))
    body = cluster.body(submitted, {"code_in_task.py": CODE}, projectId=place.project)
    experiment = int(cluster.post("/api/v1/experiments", body, user)["experiment"]["id"])
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    lines = [line["log"].strip() for line in cluster.lines(trial["id"])]
    [tried] = [int(line.split()[1]) for line in lines if line.startswith("TRIED ")]
    return [line for line in lines if line.startswith("HARM ")], tried


def test_code_of_a_user_harms_no_task_of_another(place: Place, victim: requests.Victim) -> None:
    asked = requests.against(victim, has_roles=place.has_roles)
    root = place.cluster.root
    files = [str(place.cluster.join_token), f"{root}/agents/**/*", f"{root}/db/**/*"]
    files = [*files, "/proc/*/environ"] if place.is_isolated else []
    harms, tried = harms_of(place, asked, "determined", files=files)
    assert harms == []
    assert tried == len(asked) + 3
    assert place.cluster.state(victim.experiment) == "RUNNING"
    assert "forged" not in place.cluster.task_text(victim.task)


def test_code_in_a_task_of_an_admin_changes_no_account_and_no_setting(place: Place) -> None:
    asked = [(*each, "DET_USER_TOKEN") for each in requests.CLOSED_TO_CODE]
    harms, tried = harms_of(place, asked, "admin", files=[])
    assert harms == []
    assert tried == len(asked) + 3

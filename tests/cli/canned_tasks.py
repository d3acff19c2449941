"""Canned answers of a master about interactive tasks."""

from __future__ import annotations

import base64
from typing import Any

from tests.cli import canned
from tests.cli.fake_master import Call, FakeMaster

ID = "5a7c0f3e-1111-4222-8333-944455566677"
OTHER = "5a7c0f3e-9999-4222-8333-944455566677"
JOB = "11111111-aaaa-4bbb-8ccc-dddddddddddd"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n-----END OPENSSH PRIVATE KEY-----\n"
TITLES = {
    "command": "Command",
    "notebook": "JupyterLab",
    "shell": "Shell",
    "tensorboard": "TensorBoard",
}
CONFIG = {"description": "d", "resources": {"slots": 1}}
REASON = "allocation failed: resources failed with non-zero exit code"


def task(kind: str, **changes: Any) -> dict[str, Any]:
    """A task of a kind in the REST API's form."""
    made: dict[str, Any] = {
        "id": ID,
        "description": f"{TITLES[kind]} (oddly-calm-heron)",
        "state": "STATE_RUNNING",
        "startTime": canned.T0,
        "container": None,
        "displayName": "determined",
        "userId": 2,
        "username": "determined",
        "resourcePool": "default",
        "exitStatus": "",
        "jobId": JOB,
        "workspaceId": 1,
    }
    own: dict[str, dict[str, Any]] = {
        "notebook": {"serviceAddress": f"/proxy/{ID}/?token=t0"},
        "tensorboard": {
            "serviceAddress": f"/proxy/{ID}/",
            "experimentIds": [7, 8],
            "trialIds": [11],
        },
        "shell": {
            "privateKey": KEY,
            "publicKey": "ssh-ed25519 AAAA",
            "addresses": [],
            "agentUserGroup": None,
        },
    }
    return {**made, **own.get(kind, {}), **changes}


def allocation(state: str, **changes: Any) -> dict[str, Any]:
    """An allocation of the task."""
    return {
        "taskId": ID,
        "allocationId": f"{ID}.1",
        "state": f"STATE_{state}",
        "slots": 1,
        **changes,
    }


READY = allocation("RUNNING", isReady=True)


def serve(
    master: FakeMaster, kind: str, *allocations: dict[str, Any] | None, **changes: Any
) -> None:
    """Serve one task of a kind from a master.

    Args:
        master: the one.
        kind: `command`, `notebook`, `shell` or `tensorboard`.
        allocations: what it answers about the task, look after look; the last one stays.
            None stands for none yet.
        changes: of the task.
    """
    one, path = task(kind, **changes), f"/api/v1/{kind}s"
    looks = list(allocations or (READY,))

    def look(call: Call) -> tuple[int, Any]:
        now = looks.pop(0) if len(looks) > 1 else looks[0]
        return 200, {"task": {"taskId": ID, "allocations": [now] if now else []}}

    names = [{"id": 1, "name": "Uncategorized"}, {"id": 3, "name": "lab"}]
    lines = [canned.log_line(1, "first"), canned.log_line(2, "second")]
    master.routes.update(
        {
            ("POST", path): (200, {kind: one, "config": CONFIG, "warnings": []}),
            ("GET", path): (200, canned.page(f"{kind}s", one)),
            ("GET", f"{path}/{ID}"): (200, {kind: one, "config": CONFIG}),
            ("POST", f"{path}/{ID}/kill"): (200, {kind: one}),
            ("POST", f"{path}/{ID}/set_priority"): (200, {kind: one}),
            ("GET", f"/api/v1/tasks/{ID}"): look,
            ("GET", f"/api/v1/tasks/{ID}/logs"): (200, canned.Stream(lines)),
            ("GET", "/api/v1/workspaces"): lambda call: _workspaces(call, names),
            ("GET", f"/api/v1/job-queues/{JOB}/why"): (
                200,
                {"text": "2 slots are needed, 1 is free", "waiting": 1, "running": 0},
            ),
        }
    )


def files_of(body: dict[str, Any]) -> dict[str, bytes]:
    """The files of a request by path, without directories."""
    return {
        item["path"]: base64.b64decode(item["content"])
        for item in body["files"]
        if item["type"] == ord("0")
    }


def _workspaces(call: Call, names: list[dict[str, Any]]) -> tuple[int, Any]:
    wanted = call.query.get("nameCaseSensitive")
    return 200, canned.page("workspaces", *(n for n in names if not wanted or n["name"] in wanted))

"""What a journey makes for itself over the API: a workspace, runs with small scripts, tasks."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from tests.e2e.cluster import Cluster, until

SAVES = """
import os
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    for step in (1, 2):
        context.train.report_training_metrics(step, {"loss": 1 / step})
        context.train.report_validation_metrics(step, {"loss": 1 / step})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "weights.bin").write_bytes(b"w" * 1000 * step)
            (path / "notes.txt").write_text("saved")
"""
"""Two validations and two checkpoints; the later is the better one."""

NAPS = "import time\nwhile True: time.sleep(0.1)\n"


@dataclass(frozen=True)
class Place:
    """A workspace and a project of one journey."""

    cluster: Cluster
    name: str
    workspace: int
    project: int

    def submit(self, script: str, *, name: str = "", **changes: Any) -> int:
        """An experiment of one trial that runs a script; its id."""
        config = {
            "name": name or self.name,
            "workspace": self.name,
            "project": self.name,
            "entrypoint": "python3 t.py",
            "searcher": {"name": "single", "metric": "loss"},
            "max_restarts": 0,
            **changes,
        }
        return self.cluster.submit(config, {"t.py": script})

    def trial(self, experiment: int) -> dict[str, Any]:
        """The one trial of an experiment, once it is there."""
        [trial] = until(lambda: self.cluster.trials(experiment), what="a trial")
        return dict(trial)

    def checkpoints(self, experiment: int) -> list[dict[str, Any]]:
        """Those that are stored, the oldest first."""
        path = f"/api/v1/experiments/{experiment}/checkpoints"
        found = [
            c for c in self.cluster.get(path)["checkpoints"] if c["state"] == "STATE_COMPLETED"
        ]
        return sorted(found, key=lambda each: each["metadata"]["steps_completed"])

    def model(self, checkpoints: list[dict[str, Any]]) -> str:
        """A registered model with a version for each checkpoint; its name."""
        name = new_name("model")
        self.cluster.post("/api/v1/models", {"name": name, "workspaceId": self.workspace})
        for each in checkpoints:
            body = {"checkpointUuid": each["uuid"]}
            self.cluster.post(f"/api/v1/models/{name}/versions", body)
        return name

    def command(self, script: str = "sleep 600", **config: Any) -> str:
        """A command of this workspace without slots; its id."""
        body = {
            "config": {
                "entrypoint": ["sh", "-c", script],
                "resources": {"slots": 0},
                **config,
            },
            "workspaceId": self.workspace,
        }
        return str(self.cluster.post("/api/v1/commands", body)["command"]["id"])

    def kill_commands(self) -> None:
        """End all commands of this workspace."""
        found = self.cluster.get("/api/v1/commands", workspaceId=self.workspace)["commands"]
        for task in found:
            self.cluster.post(f"/api/v1/commands/{task['id']}/kill")


def new_name(word: str) -> str:
    """A name that no other journey uses."""
    return f"{word}-{secrets.token_hex(4)}"


def new_place(cluster: Cluster, word: str) -> Place:
    """A workspace with a project of the same name."""
    name = new_name(word)
    workspace = int(cluster.post("/api/v1/workspaces", {"name": name})["workspace"]["id"])
    path = f"/api/v1/workspaces/{workspace}/projects"
    project = int(cluster.post(path, {"name": name})["project"]["id"])
    return Place(cluster, name, workspace, project)


def stream(cluster: Cluster, path: str, **params: Any) -> list[dict[str, Any]]:
    """All messages of an answer that is one JSON object a line."""
    answer = cluster.session().get(path, params=params)
    return [json.loads(line)["result"] for line in answer.text.splitlines() if line.strip()]


def gate(cluster: Cluster) -> tuple[Any, dict[str, Any]]:
    """A file that a script waits for, and the part of a configuration that names it as GATE."""
    path = cluster.root / new_name("gate")
    return path, {"environment": {"environment_variables": [f"GATE={path}"]}}

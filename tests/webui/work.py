"""Places and runs that journeys make for themselves.

`record` makes runs of a program outside of the cluster: they take no slot, and their reports are
the test's own. `paused` and `ended` make runs of the cluster that never start a task.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.e2e.cluster import Cluster

METRIC = "loss"
WAITS = "import time\nwhile True:\n    time.sleep(1)\n"


class Place(NamedTuple):
    """A project in a workspace of its own."""

    workspace: int
    workspace_name: str
    project: int
    project_name: str

    def config(self, name: str, **more: Any) -> dict[str, Any]:
        """Of an experiment of one trial in this project."""
        return {
            "name": name,
            "workspace": self.workspace_name,
            "project": self.project_name,
            "entrypoint": "python3 main.py",
            "hyperparameters": {},
            "searcher": {"name": "single", "metric": METRIC, "max_length": 100},
            "max_restarts": 0,
            **more,
        }


def new_name(word: str) -> str:
    """A name that nothing else has."""
    return f"{word} {uuid.uuid4().hex[:8]}"


def new_place(cluster: Cluster, word: str) -> Place:
    """An empty project."""
    name = new_name(word)
    workspace = cluster.post("/api/v1/workspaces", {"name": name})["workspace"]["id"]
    body = {"name": f"{word} project", "workspaceId": workspace}
    project = cluster.post(f"/api/v1/workspaces/{workspace}/projects", body)["project"]
    return Place(workspace, name, project["id"], project["name"])


def another_project(cluster: Cluster, place: Place, name: str) -> int:
    """A second project of the same workspace."""
    body = {"name": name, "workspaceId": place.workspace}
    path = f"/api/v1/workspaces/{place.workspace}/projects"
    return int(cluster.post(path, body)["project"]["id"])


class Run(NamedTuple):
    """Reports of a recorded run."""

    hparams: Mapping[str, Any]
    losses: Sequence[float]
    """One validation each ten batches."""
    state: str = "COMPLETED"


def record(
    cluster: Cluster, place: Place, name: str, runs: Sequence[Run], **config: Any
) -> tuple[int, list[int]]:
    """An experiment and its trials, in the order of `runs`."""
    experiment = cluster.create(place.config(name, **config), {}, unmanaged=True)["experiment"][
        "id"
    ]
    return experiment, [_trial(cluster, experiment, run) for run in runs]


def _trial(cluster: Cluster, experiment: int, run: Run) -> int:
    body = {"experimentId": experiment, "hparams": dict(run.hparams), "unmanaged": True}
    trial = int(cluster.post("/api/v1/trials", body)["trial"]["id"])
    cluster.post(f"/api/v1/trials/{trial}/start", {"resume": False})
    reports = [
        {
            "group": group,
            "metrics": {
                "trialId": trial,
                "trialRunId": 1,
                "stepsCompleted": 10 * place,
                "metrics": {"avgMetrics": {METRIC: loss, "epochs": place}},
            },
        }
        for place, loss in enumerate(run.losses, start=1)
        for group in ("training", "validation")
    ]
    if reports:
        path = f"/api/v1/trials/{trial}/metrics/batch"
        cluster.post(path, {"trialId": trial, "reports": reports})
    cluster.session().patch(f"/api/v1/trials/{trial}", json={"state": f"STATE_{run.state}"})
    return trial


def paused(
    cluster: Cluster, place: Place, name: str, files: Mapping[str, str] | None = None
) -> int:
    """An experiment that waits to be resumed; then it runs until it is ended."""
    return cluster.submit(place.config(name), dict(files or {"main.py": WAITS}), activate=False)


def ended(cluster: Cluster, place: Place, name: str) -> int:
    """An experiment that was killed before it ran."""
    experiment = paused(cluster, place, name)
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    cluster.wait(experiment)
    return experiment


def run_of(cluster: Cluster, experiment: int) -> int:
    """The id of an experiment's only run."""
    [trial] = cluster.trials(experiment)
    return int(trial["id"])


def listed(cluster: Cluster, place: Place, filter_text: str = "", sort: str = "") -> list[Any]:
    """Runs of a project as the master answers."""
    body = {"projectId": place.project, "filter": filter_text, "sort": sort, "limit": 200}
    runs: list[Any] = cluster.post("/api/v1/runs", body)["runs"]
    return runs

"""Experiments that figures submit, over the public API."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from bench.cluster import Cluster, until

TASKS = Path(__file__).parent / "tasks"
ENDED = {"STATE_COMPLETED", "STATE_ERROR", "STATE_CANCELED"}
PROJECT_FILES = 20


def submit(
    cluster: Cluster,
    script: str,
    *,
    variables: dict[str, str] | None = None,
    activate: bool = True,
    searcher: dict[str, Any] | None = None,
) -> int:
    """Create an experiment of one of the scripts in `bench/tasks`; its id."""
    body = submission(script, variables=variables, searcher=searcher)
    return int(send(cluster, {**body, "activate": activate}))


def send(cluster: Cluster, body: dict[str, Any]) -> int:
    """POST a prepared submission; the experiment's id."""
    return int(cluster.call("POST", "/api/v1/experiments", body)["experiment"]["id"])


def submission(
    script: str,
    *,
    variables: dict[str, str] | None = None,
    searcher: dict[str, Any] | None = None,
    slots: int = 1,
) -> dict[str, Any]:
    """The body of a request that creates an experiment with a model directory of 20 files."""
    config = {
        "name": f"bench {Path(script).stem}",
        "entrypoint": f"python3 {script}",
        "searcher": searcher or {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": slots},
        "hyperparameters": {"learning_rate": {"type": "double", "minval": 0.01, "maxval": 0.1}}
        if searcher
        else {},
        "max_restarts": 0,
        "environment": {
            "environment_variables": [f"{k}={v}" for k, v in (variables or {}).items()]
        },
    }
    files = [(script, (TASKS / script).read_text() if script else "")]
    files += [(f"module_{n:02d}.py", f"VALUE = {n}\n" * 40) for n in range(PROJECT_FILES - 1)]
    return {
        # JSON is YAML, too
        "config": json.dumps(config),
        "modelDefinition": [_file(path, text) for path, text in files],
        "activate": True,
    }


def wait_until_ended(cluster: Cluster, experiment_id: int, limit_s: float = 120.0) -> None:
    """Wait for an experiment's end.

    Raises:
        RuntimeError: it did not complete.
        TimeoutError: it did not end.
    """
    until(lambda: state_of(cluster, experiment_id) in ENDED, limit_s, "the experiment's end")
    state = state_of(cluster, experiment_id)
    if state != "STATE_COMPLETED":
        raise RuntimeError(f"experiment {experiment_id} ended as {state}")


def state_of(cluster: Cluster, experiment_id: int) -> str:
    """An experiment's state as the API shows it."""
    found = cluster.call("GET", f"/api/v1/experiments/{experiment_id}")["experiment"]["state"]
    return str(found)


def trial_ids(cluster: Cluster, experiment_id: int) -> list[int]:
    """Ids of an experiment's trials."""
    answer = cluster.call("GET", f"/api/v1/experiments/{experiment_id}/trials?limit=-1")
    return [int(trial["id"]) for trial in answer["trials"]]


def task_id(cluster: Cluster, trial_id: int) -> str:
    """The id of a trial's task."""
    return str(cluster.call("GET", f"/api/v1/trials/{trial_id}")["trial"]["taskId"])


def reporting_trials(cluster: Cluster, count: int) -> list[int]:
    """Trials that no agent runs and that metrics may be reported for; made once a cluster.

    Each has an experiment of its own: a paused search of several trials has none.
    """
    known: list[int] | None = cluster.prepared.get("trials")
    if known is None:
        paused = [submit(cluster, "return_at_once.py", activate=False) for _ in range(count)]
        known = [trial_ids(cluster, experiment_id)[0] for experiment_id in paused]
        cluster.prepared["trials"] = known
    return known


def fill(cluster: Cluster, count: int) -> None:
    """Have `count` experiments in the database, paused ones of one trial."""
    for _ in range(count - int(cluster.prepared.get("experiments", 0))):
        submit(cluster, "return_at_once.py", activate=False)
        cluster.prepared["experiments"] = int(cluster.prepared.get("experiments", 0)) + 1


def _file(path: str, text: str) -> dict[str, Any]:
    return {
        "path": path,
        "type": ord("0"),
        "content": base64.b64encode(text.encode()).decode(),
        "mtime": "1700000000",
        "mode": 0o100644,
        "uid": 0,
        "gid": 0,
    }

"""A project with a search of twenty runs, their metrics, and a log: what pages show at work."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from bench import experiments
from bench.cluster import Cluster, until
from bench.reports import report_body
from bench.rows import fetch_value

SCRIPT = "sleep.py"
RUNS = 20
METRICS = 4
REPORTS = 200
LINES = 1000
NAME = "browsed"


@dataclass(frozen=True)
class Project:
    """Where things are."""

    id: int
    workspace_id: int
    experiment_id: int
    trial_ids: list[int]
    """In order."""


def browsed(cluster: Cluster) -> Project:
    """The project; made once a cluster."""
    if NAME not in cluster.prepared:
        cluster.prepared[NAME] = _make(cluster)
    found: Project = cluster.prepared[NAME]
    return found


def _make(cluster: Cluster) -> Project:
    space = cluster.call("POST", "/api/v1/workspaces", {"name": NAME})["workspace"]["id"]
    body = {"name": NAME, "description": "pages of the benchmark"}
    made = cluster.call("POST", f"/api/v1/workspaces/{space}/projects", body)["project"]
    searcher = {
        "name": "random",
        "metric": "loss",
        "max_trials": RUNS,
        "max_concurrent_trials": RUNS,
    }
    submitted = experiments.submission(SCRIPT, searcher=searcher)
    experiment_id = experiments.send(cluster, {**submitted, "projectId": made["id"]})
    until(
        lambda: len(experiments.trial_ids(cluster, experiment_id)) == RUNS, 60, "the search's runs"
    )
    cluster.call("POST", f"/api/v1/experiments/{experiment_id}/pause")
    trial_ids = sorted(experiments.trial_ids(cluster, experiment_id))
    draw = random.Random(1)
    for trial_id in trial_ids:
        # Some have begun before the pause, and take reports of their first run alone.
        run_id = fetch_value(cluster, "SELECT run_id FROM trials WHERE id = $1", trial_id)
        reports = [
            report_body(trial_id, step, METRICS, group, draw, run_id)
            for group in ("training", "validation")
            for step in range(1, REPORTS + 1)
        ]
        cluster.call("POST", f"/api/v1/trials/{trial_id}/metrics/batch", {"reports": reports})
    task_id = experiments.task_id(cluster, trial_ids[0])
    cluster.call("POST", "/api/v1/task/logs", {"logs": [_line(task_id, n) for n in range(LINES)]})
    _wait_for_summaries(cluster, trial_ids)
    return Project(int(made["id"]), int(space), experiment_id, trial_ids)


def _line(task_id: str, number: int) -> dict[str, Any]:
    return {
        "taskId": task_id,
        "rankId": 0,
        "timestamp": f"2026-01-01T00:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "level": "LOG_LEVEL_INFO",
        "log": f"line {number} of a run's output: loss {number * 7919 % 1009 / 1009:.4f}\n",
    }


def _wait_for_summaries(cluster: Cluster, trial_ids: list[int]) -> None:
    """Charts are made of the metrics that a run's summary names."""

    def have_all() -> bool:
        found = [cluster.call("GET", f"/api/v1/trials/{i}")["trial"] for i in trial_ids]
        return all(len(trial.get("summaryMetrics") or {}) == 2 for trial in found)

    until(have_all, 30, "summaries of the metrics", pause_s=0.1)

"""Every address of the web UI, with things of the seed in it.

`webui/src/routes/addresses.json` lists the patterns of the sources; a unit test keeps it true.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster, until

SOURCES = Path(__file__).parents[2] / "webui" / "src" / "routes" / "addresses.json"
COMMON = ("checkpoints", "hyperparameters", "metrics", "profiler", "code", "logs", "story")
TASK_TABS = ("logs", "story", "config")
BOARD = """# This week

The [search](/det/dashboard) has ended.

```panel chart
metric: validation.validation_loss
```

```panel number
of: count
title: Runs
```

```panel runs
limit: 5
```

```panel nothing
```
"""
KINDS = ("command", "notebook", "shell", "tensorboard")


@dataclass(frozen=True)
class Things:
    """Ids that stand in addresses."""

    project: int
    empty_project: int
    workspace: int
    search: int
    run: int
    """Has ended; the running one has more checkpoints each second."""
    running: int
    failed: int
    waiting: int
    trial: int
    trials: tuple[int, ...]
    agent: str
    pool: str
    model: str
    board: int
    ended_task: str
    generic_task: str
    waiting_task: str


def listed() -> dict[str, list[str]]:
    """Patterns of the sources: `pages`, and `moves` that lead to another address."""
    found: dict[str, list[str]] = json.loads(SOURCES.read_text())
    return found


def things_of(cluster: Cluster, ids: dict[str, Any]) -> Things:
    """Of a cluster that `seed_small` has filled, and of tasks that are created here."""
    experiments, projects = ids["experiments"], ids["projects"]
    trials = [each["id"] for each in cluster.trials(experiments["search"])]
    project = projects["vision/detector"]
    ended = _command(cluster, "echo it has run", slots=0)
    until(lambda: "TERMINATED" in _task(cluster, ended)["state"], what="the end of a command")
    return Things(
        project=project,
        empty_project=projects["vision/pretraining"],
        workspace=cluster.get(f"/api/v1/projects/{project}")["project"]["workspaceId"],
        search=experiments["search"],
        run=experiments["resnet50 lr=1e-02"],
        running=experiments["running"],
        failed=experiments["failed"],
        waiting=experiments["paused"],
        trial=trials[0],
        trials=tuple(trials[:3]),
        agent=cluster.connected()[0],
        pool="default",
        model="detector",
        board=board_of(cluster, project, BOARD),
        ended_task=ended,
        generic_task=_pair_of_generic_tasks(cluster),
        waiting_task=_command(cluster, "true", slots=8),
    )


def board_of(cluster: Cluster, project: int, text: str, name: str = "weekly") -> int:
    """Make a board; its id."""
    body = {"name": name, "scope": "project", "text": text, "panels": []}
    made = cluster.post(f"/api/ui/v1/projects/{project}/boards", body)
    return int(made["board"]["id"])


def _command(cluster: Cluster, script: str, slots: int) -> str:
    """All other work goes first, so that a waiting one holds up no other test."""
    resources = {"slots": slots, "priority": 99}
    config = {"entrypoint": ["sh", "-c", script], "resources": resources}
    return str(cluster.post("/api/v1/commands", {"config": config})["command"]["id"])


def _pair_of_generic_tasks(cluster: Cluster) -> str:
    """The id of one that has another below it."""
    config = json.dumps({"entrypoint": ["true"], "resources": {"slots": 0}})
    parent = str(cluster.post("/api/v1/generic-tasks", {"config": config})["taskId"])
    cluster.post("/api/v1/generic-tasks", {"config": config, "parentId": parent})
    return parent


def _task(cluster: Cluster, task_id: str) -> Any:
    return cluster.get(f"/api/v1/commands/{task_id}")["command"]


def pages(of: Things) -> dict[str, dict[str, tuple[str, ...]]]:
    """Addresses by pattern, in groups of subjects."""
    return {
        "shell": {
            "dashboard": ("/dashboard",),
            "settings": ("/settings",),
            "*": ("/no/such/page",),
        },
        "lists": {
            "projects/:id/:tab": (
                f"/projects/{of.project}/runs",
                f"/projects/{of.project}/searches",
                f"/projects/{of.project}/notes",
                f"/projects/{of.project}/boards",
                f"/projects/{of.project}/runs?q=state%3Aerror+name%3Anothing",
                f"/projects/{of.project}/runs?group=state&open=.tCOMPLETED",
                f"/projects/{of.empty_project}/runs",
                "/projects/999999/runs",
            ),
            "searches/:id/:tab": (f"/searches/{of.search}/runs",),
            "boards": ("/boards", "/boards?q=nothing"),
            "boards/:id": (f"/boards/{of.board}", "/boards/999999"),
            "events": ("/events",),
            "events/administration": ("/events/administration",),
            "compare": (
                f"/compare?runs={','.join(map(str, of.trials))}",
                f"/compare?runs={','.join(map(str, of.trials))}&tab=details",
                f"/compare?runs={','.join(map(str, of.trials))}&tab=configuration",
                "/compare",
            ),
        },
        "experiment": _tabs(
            "experiments/:experimentId",
            (f"/experiments/{of.search}", f"/experiments/{of.run}"),
            ("overview", "visualization", "notes", "trials", "why", *COMMON),
            {
                "overview": (
                    f"/experiments/{of.running}/overview",
                    f"/experiments/{of.failed}/overview",
                    f"/experiments/{of.waiting}/overview",
                    "/experiments/999999/overview",
                ),
                "why": (f"/experiments/{of.waiting}/why",),
            },
        ),
        "trial": {
            **_tabs("trials/:trialId", (f"/trials/{of.trial}",), ("overview", *COMMON)),
            **_tabs(
                "experiments/:experimentId/trials/:trialId",
                (f"/experiments/{of.search}/trials/{of.trial}",),
                ("overview", *COMMON),
            ),
        },
        "tasks": {
            "tasks": ("/tasks", "/tasks?ended=1", "/tasks?q=nothing+has+this+name"),
            "wait/:kind/:taskId": (
                f"/wait/command/{of.ended_task}",
                f"/wait/command/{of.waiting_task}",
                "/wait/notebook/unknown",
            ),
            **{
                f"{kind}/:taskId/{tab}": (f"/{kind}/{of.ended_task}/{tab}",)
                for kind in KINDS
                for tab in TASK_TABS
            },
            "shell/:taskId/terminal": (f"/shell/{of.ended_task}/terminal",),
            **{
                f"generic/:taskId/{tab}": (f"/generic/{of.generic_task}/{tab}",)
                for tab in (*TASK_TABS, "tree")
            },
        },
        "cluster": {
            "clusters": ("/clusters",),
            "clusters/health": ("/clusters/health",),
            "jobs": ("/jobs", "/jobs?q=nothing+has+this+name"),
            "clusters/historical-usage": ("/clusters/historical-usage",),
            "clusters/logs": ("/clusters/logs",),
            "agents/:agentId": (f"/agents/{of.agent}", "/agents/unknown"),
            **_tabs(
                "resourcepool/:poolName",
                (f"/resourcepool/{of.pool}",),
                ("queue", "agents", "machines", "stats", "what-if", "configuration"),
            ),
        },
        "workspaces": {
            "workspaces": ("/workspaces", "/workspaces?view=list", "/workspaces?q=nothing"),
            **_tabs(
                "workspaces/:workspaceId",
                (f"/workspaces/{of.workspace}",),
                ("projects", "tasks", "members", "models", "pools", "templates", "policies"),
                {"projects": (f"/workspaces/{of.workspace}/projects?view=list",)},
            ),
            "models": ("/models", "/models?q=nothing"),
            "models/:modelName": (f"/models/{of.model}", "/models/unknown"),
            "models/:modelName/compare": (f"/models/{of.model}/compare?versions=1,2",),
            **_tabs(
                "models/:modelName/versions/:version",
                (f"/models/{of.model}/versions/1",),
                ("overview", "files", "metadata", "notes"),
            ),
        },
        "admin": {
            **_tabs(
                "admin",
                ("/admin",),
                (
                    "user-management",
                    "group-management",
                    "tokens",
                    "cluster-message",
                    "master-config",
                ),
            ),
            "webhooks": ("/webhooks",),
            "templates": ("/templates",),
            "policies": ("/policies",),
        },
    }


ALONE = ("login", "logout")
"""Pages outside of the shell; tests of their own visit them."""


def is_twin(pattern: str) -> bool:
    """Whether another pattern shows the same page of the same thing."""
    of_run = pattern.startswith("experiments/:experimentId/trials/")
    return of_run or pattern.startswith(("notebook/", "shell/", "tensorboard/"))


def _tabs(
    pattern: str,
    bases: tuple[str, ...],
    tabs: tuple[str, ...],
    more: dict[str, tuple[str, ...]] | None = None,
) -> dict[str, tuple[str, ...]]:
    added = more or {}
    return {
        f"{pattern}/{tab}": (*(f"{base}/{tab}" for base in bases), *added.get(tab, ()))
        for tab in tabs
    }

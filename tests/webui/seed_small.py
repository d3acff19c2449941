"""Fills a running cluster with the things that pages of the web UI show.

    python -m tests.webui.seed_small http://127.0.0.1:8080 admin PASSWORD

Three users, two workspaces, four projects, some forty runs in all states, a search, models, a
template. Every run is real; the script waits until all but the endless ones have ended.
"""

from __future__ import annotations

import json
import pathlib
import sys
import urllib.request
from typing import Any

from determined.experimental import client

MODEL = pathlib.Path(__file__).parent / "model"
USERS = ("ada", "grace", "linus")
STEPS = 60
"""Of each run that ends; it validates and saves every tenth."""


class Session:
    """A signed-in caller of the REST API."""

    def __init__(self, master: str, user: str, password: str) -> None:
        self.master = master
        self.token = ""
        self.token = self.post("auth/login", {"username": user, "password": password})["token"]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST below `/api/v1/`; a refusal raises `HTTPError`."""
        request = urllib.request.Request(
            f"{self.master}/api/v1/{path}",
            json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": f"Bearer {self.token}"},
        )
        with urllib.request.urlopen(request) as response:
            answer: dict[str, Any] = json.load(response)
            return answer


def config(name: str, project: str, workspace: str, **changes: Any) -> dict[str, Any]:
    """An experiment of one trial."""
    base: dict[str, Any] = {
        "name": name,
        "workspace": workspace,
        "project": project,
        "entrypoint": "python3 train.py",
        "hyperparameters": {"lr": 0.01, "steps": 60},
        "searcher": {"name": "single", "metric": "validation_loss", "max_length": 60},
        "resources": {"slots_per_trial": 1},
        "max_restarts": 0,
        "labels": ["baseline"],
    }
    return {**base, **changes}


def search(name: str, project: str, workspace: str, trials: int) -> dict[str, Any]:
    """A random search."""
    return config(
        name,
        project,
        workspace,
        hyperparameters={
            "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
            "steps": 60,
            "width": {"type": "categorical", "vals": [16, 32, 64]},
            "dropout": {"type": "double", "minval": 0.0, "maxval": 0.5},
        },
        searcher={
            "name": "random",
            "metric": "validation_loss",
            "max_trials": trials,
            "max_concurrent_trials": 2,
        },
        labels=["search"],
    )


def seed(master: str, user: str, password: str) -> dict[str, Any]:
    """Create everything; returns ids by name."""
    session = Session(master, user, password)
    client.login(master, user, password)
    for name in USERS:
        client.create_user(name, admin=False, password=password)
    places = {}
    for workspace in ("vision", "language"):
        made = session.post("workspaces", {"name": workspace})["workspace"]["id"]
        for project in ("detector", "pretraining"):
            body = {"name": project, "description": f"{project} of {workspace}"}
            answer = session.post(f"workspaces/{made}/projects", body)
            places[workspace, project] = answer["project"]["id"]
    ids: dict[str, Any] = {"projects": {f"{w}/{p}": i for (w, p), i in places.items()}}
    created: dict[str, Any] = {}
    for number in range(8):
        lr = 10 ** (-1 - number / 2)
        name = f"resnet50 lr={lr:.0e}"
        created[name] = client.create_experiment(
            config(name, "detector", "vision", hyperparameters={"lr": lr, "steps": 60}), MODEL
        )
    created["search"] = client.create_experiment(
        search("random search over lr", "detector", "vision", 12), MODEL
    )
    created["diverged"] = client.create_experiment(
        config(
            "diverged",
            "detector",
            "vision",
            hyperparameters={"lr": 1.0, "steps": 60, "nan_at": 33},
        ),
        MODEL,
    )
    created["failed"] = client.create_experiment(
        config(
            "corrupt data",
            "pretraining",
            "language",
            hyperparameters={"lr": 0.01, "steps": 60, "fail_at": 25},
            max_restarts=1,
            labels=["flaky"],
        ),
        MODEL,
    )
    for experiment in created.values():
        experiment.wait(interval=0.5)
    ids["experiments"] = {name: experiment.id for name, experiment in created.items()}
    model = client.create_model("detector", "Finds things in pictures", {"team": "vision"})
    # The last checkpoint of a run is kept; earlier ones may be on their way to deletion.
    found = created["search"].list_checkpoints()
    last = [each for each in found if each.metadata["steps_completed"] == STEPS]
    for checkpoint in last[:3]:
        model.register_version(checkpoint.uuid)
    session.post(
        "templates/two-slots",
        {"name": "two-slots", "config": {"resources": {"slots_per_trial": 2}}, "workspaceId": 1},
    )
    slow = {"lr": 0.01, "steps": 100_000, "pause_s": 0.2}
    running = client.create_experiment(
        config("long run", "detector", "vision", hyperparameters=slow), MODEL
    )
    waiting = client.create_experiment(
        config(
            "waits for both slots",
            "pretraining",
            "language",
            hyperparameters=slow,
            resources={"slots_per_trial": 2},
        ),
        MODEL,
    )
    paused = client.create_experiment(
        config("paused by hand", "detector", "vision", hyperparameters=slow), MODEL
    )
    paused.pause()
    ids["experiments"] |= {
        "running": running.id,
        "waiting": waiting.id,
        "paused": paused.id,
    }
    return ids


def main() -> None:
    """Seed and print the ids."""
    print(seed(*sys.argv[1:4]))


if __name__ == "__main__":
    main()

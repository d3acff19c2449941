"""A master that is killed while 50 pods run, and again while they end.

On the real cluster; and with fewer pods, which are processes, on the one in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import until
from tests.e2e.pods import Pods, with_pools
from tests.e2e.pods_cluster import running_on

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.kill]

PODS, PODS_IN_MEMORY = 50, 16
PODS_OF_A_GANG = 2
ENDED_FIRST = 10
"""Commands that are asked to end while the master is there; it is killed meanwhile."""
KINDS = ("pods", "secrets", "services", "configmaps")
WAITS = """
echo run >>"$PLACE/said/$NAME"
until [ -e "$PLACE/end/$NAME" ]; do sleep 0.5; done
echo end >>"$PLACE/said/$NAME"
echo "last line of $NAME"
"""


@pytest.fixture
def cluster(pods: Pods) -> Iterator[Cluster]:
    with running_on(pods, lambda port: with_pools(pods.settings(port))) as made:
        yield made


class Tasks:
    """Tasks that write down that they run, and end when they are asked to."""

    def __init__(self, cluster: Cluster, pods: Pods, place: Path) -> None:
        self.cluster, self.pods = cluster, pods
        self.commands: dict[str, str] = {}
        """Their names by their ids."""
        self._place = place
        for name in ("said", "end"):
            (place / name).mkdir()

    def start(self, name: str) -> None:
        """Start a command without slots."""
        config = {
            "environment": self._environment(name),
            "entrypoint": ["sh", "-c", WAITS],
            "resources": {"slots": 0},
        }
        answer = self.cluster.post("/api/v1/commands", {"config": config})
        self.commands[answer["command"]["id"]] = name

    def submit(self, name: str, slots: int) -> int:
        """Start an experiment of one trial; its number."""
        config = {
            "name": name,
            "entrypoint": "sh t.sh",
            "searcher": {"name": "single", "metric": "loss"},
            "hyperparameters": {},
            "max_restarts": 0,
            "resources": {"slots_per_trial": slots},
            "environment": self._environment(name),
            "checkpoint_storage": {
                "type": "directory",
                "container_path": str(self._place / "checkpoints"),
            },
        }
        return self.cluster.submit(config, {"t.sh": WAITS})

    def end(self, *names: str) -> None:
        """Ask tasks to end."""
        for name in names:
            (self._place / "end" / name).touch()

    def said(self) -> dict[str, list[str]]:
        """By name: what the pods of each task have written down."""
        files = (self._place / "said").iterdir()
        return {file.name: file.read_text().split() for file in files}

    def wait_for(self, *said: str, of: str) -> None:
        """Wait until the pods of a task have written that down."""
        until(lambda: self.said().get(of) == [*said], self.pods.limit_s, f"{said} of {of}")

    def states(self) -> set[str]:
        """Those of all commands."""
        found = self.cluster.get("/api/v1/commands")["commands"]
        return {one["state"] for one in found if one["id"] in self.commands}

    def _environment(self, name: str) -> dict[str, Any]:
        variables = [f"NAME={name}", f"PLACE={self._place}"]
        return {"image": self.pods.image, "environment_variables": variables}


def running_pods(pods: Pods) -> dict[str, int]:
    """By uid of each pod that runs: how often Kubernetes has started its container again."""
    found = {}
    for pod in pods.all():
        states = status_of(pod).get("containerStatuses") or []
        if any("running" in one["state"] for one in states):
            found[pod["metadata"]["uid"]] = sum(one.get("restartCount", 0) for one in states)
    return found


def not_ended(pods: Pods) -> dict[str, dict[str, Any]]:
    """By name: the status of each pod that the cluster lists and that has not ended well."""
    listed = {pod["metadata"]["name"]: status_of(pod) for pod in pods.all()}
    return {name: status for name, status in listed.items() if status.get("phase") != "Succeeded"}


def status_of(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod.get("status") or {}
    return found


def names_of(pods: Pods) -> set[tuple[str, str]]:
    """Kind and name of all objects that a task may consist of."""
    return {(kind, one["metadata"]["name"]) for kind in KINDS for one in pods.objects(kind)}


def restart(cluster: Cluster, pods: Pods) -> None:
    cluster.start_master()
    until(cluster.connected, pods.limit_s, "nodes")


@covers("helm-and-kubernetes 15.found 15.logs 15.missed")
def test_a_master_killed_twice_among_many_pods_loses_and_doubles_none(
    cluster: Cluster, pods: Pods
) -> None:
    place = pods.shared / "many-pods"
    place.mkdir()
    tasks, before = Tasks(cluster, pods, place), names_of(pods)
    number_of_pods = PODS if pods.is_real else PODS_IN_MEMORY
    names = [f"command-{number}" for number in range(number_of_pods - PODS_OF_A_GANG)]
    try:
        gang = tasks.submit("gang", 8)
        tasks.wait_for(*["run"] * PODS_OF_A_GANG, of="gang")
        waiting = tasks.submit("waiting", 4)
        for name in names:
            tasks.start(name)
        until(lambda: tasks.said().keys() >= {*names}, pods.limit_s, "what all commands write")
        until(lambda: len(running_pods(pods)) == number_of_pods, pods.limit_s, "running pods")
        until(lambda: tasks.states() == {"STATE_RUNNING"}, pods.limit_s, "running commands")
        _kill_among_running_pods(tasks)
        tasks.end("gang")
        tasks.wait_for("run", of="waiting")
        _kill_among_ending_pods(tasks, [*names, "late", "waiting"])
    finally:
        tasks.end("gang", "waiting", "late", *names)
    for experiment in (gang, waiting):
        assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
        assert [trial["restarts"] for trial in cluster.trials(experiment)] == [0]
    until(lambda: tasks.states() == {"STATE_TERMINATED"}, pods.limit_s, "the end of all")
    for task, name in tasks.commands.items():
        found = cluster.get(f"/api/v1/commands/{task}")["command"]
        assert "success" in found["exitStatus"], found
        assert len(cluster.get(f"/api/v1/tasks/{task}")["task"]["allocations"]) == 1
        assert cluster.task_text(task, follow=True).count(f"last line of {name}\n") == 1
    said = tasks.said()
    assert said.pop("gang") == ["run", "run", "end", "end"]
    assert said == {name: ["run", "end"] for name in (*names, "late", "waiting")}
    until(lambda: names_of(pods) <= before, pods.limit_s, "the removal of all objects")


def _kill_among_running_pods(tasks: Tasks) -> None:
    cluster, pods = tasks.cluster, tasks.pods
    before = running_pods(pods)
    cluster.kill("master")
    assert "waiting" not in tasks.said()
    restart(cluster, pods)
    tasks.start("late")
    # Once the new one runs too, the new master follows the cluster.
    until(lambda: tasks.states() == {"STATE_RUNNING"}, pods.limit_s, "running commands")
    tasks.wait_for("run", of="late")  # until then its pod needs the master, for its files
    now = running_pods(pods)
    assert before.items() <= now.items()
    assert len(now) == len(before) + 1
    assert set(now.values()) == {0}


def _kill_among_ending_pods(tasks: Tasks, names: list[str]) -> None:
    """Some end before the kill, and all others while no master is there."""
    cluster, pods = tasks.cluster, tasks.pods
    tasks.end(*names[:ENDED_FIRST])

    def has_one_ended() -> bool:
        said = tasks.said()
        return any("end" in said[name] for name in names[:ENDED_FIRST])

    until(has_one_ended, pods.limit_s, "the first end")
    cluster.kill("master")
    tasks.end(*names)
    until(
        lambda: not not_ended(pods),
        pods.limit_s,
        lambda: f"the ends of all pods ({not_ended(pods)}, which said {tasks.said()})",
    )
    restart(cluster, pods)

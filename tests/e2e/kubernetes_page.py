"""A cluster with the settings of the page on Kubernetes, and experiments with its examples."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests import pages
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import until
from tests.e2e.command_line import det
from tests.e2e.pods import KUBECONFIG, Pods
from tests.registry import Registry, registry
from tests.settings.test_kubernetes_page import merged

from determined_master.settings.yaml_text import parse_yaml

Json = dict[str, Any]
EXPERIMENT = "determined.ai/experiment_id"
RACK = "determined.test/rack"
"""Label of nodes in one rack."""


def example(key: str) -> Json:
    """The example of the page that has this key."""
    texts = [text for page in pages.KUBERNETES for text in pages.examples(page)]
    [text] = [one for one in texts if f"{key}:" in one]
    found = parse_yaml(text).value
    assert isinstance(found, dict)
    return found


def settings(pods: Pods, port: int) -> Json:
    """The first example, with pools and autoscaler of others, as this cluster can have them."""
    page = merged(
        example("default_namespace"), merged(example("autoscaling"), example("queue_name"))
    )
    slots = {"slot_resource_requests": {"cpu": 0.02}, "max_slots_per_pod": 8}
    ours = merged(pods.settings(port), {"resource_manager": {**slots, "rack_label": RACK}})
    return merged(page, ours)


@contextmanager
def changed(cluster: Cluster, pods: Pods, dropped: str = "", **manager: Any) -> Iterator[None]:
    """A master that starts again with other settings of its manager, and at the end with these."""
    before = cluster.settings
    whole = json.loads(before)
    whole["resource_manager"] = merged(whole["resource_manager"], manager)
    whole["resource_manager"].pop(dropped, None)
    whole["resource_pools"] = [{"pool_name": "default"}]
    for text in (json.dumps(whole), before):
        cluster.kill("master")
        cluster.settings = text
        cluster.start_master()
        if text != before:
            try:
                yield
            finally:
                cluster.settings = before
    until(cluster.connected, pods.limit_s, "nodes")


def submit(cluster: Cluster, pods: Pods, script: str, **more: Any) -> int:
    """An experiment of one trial."""
    wanted = {
        "name": "of the page",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {"quality": 0.5},
        "max_restarts": 0,
        "checkpoint_storage": {"type": "directory", "container_path": str(pods.shared / "c")},
        "environment": {"image": pods.image},
    }
    return cluster.submit(merged(wanted, more), {"t.py": script})


def of(pods: Pods, experiment: int, *, waiting: bool = False) -> list[Json]:
    """The pods of an experiment, or those that stand for waiting ones."""
    found = []
    for pod in pods.all():
        labels = pod["metadata"]["labels"]
        if "determined.ai/demand" in labels:
            found += [pod] if waiting else []
        elif not waiting and labels.get(EXPERIMENT) == str(experiment):
            found.append(pod)
    return found


def await_why(cluster: Cluster, pods: Pods, experiment: int, text: str) -> None:
    """Return once `det job why` has the text."""
    said = ""

    def is_said() -> bool:
        nonlocal said
        said = det(cluster, "job", "why", str(experiment))
        return text in " ".join(said.split())

    try:
        until(is_said, pods.limit_s, text)
    except AssertionError:
        raise AssertionError(f"{text!r} is not in {said!r}") from None


def kill(cluster: Cluster, pods: Pods, experiment: int) -> None:
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment, pods.limit_s) == "CANCELED"
    until(lambda: not of(pods, experiment), pods.limit_s, "removed pods")


def kubectl(*words: str, typed: str = "") -> str:
    done = subprocess.run(
        ["kubectl", "--kubeconfig", KUBECONFIG, *words],
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(header: str) -> list[str]:
    """The first cells of the page's table with that header."""
    texts = [(pages.PAGES / page).read_text() for page in pages.KUBERNETES]
    lines = "\n".join(texts).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {header} |")) + 2
    cells: list[str] = []
    for line in lines[start:]:
        if not line.startswith("|"):
            return cells
        cells.append(line.split("|")[1])
    raise AssertionError("the table has no end")


@contextmanager
def claimed(pods: Pods, volume: str, claim: str) -> Iterator[None]:
    """A claim of the tasks' namespace, with a volume in the shared directory."""
    size = {"storage": "1Mi"}
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": volume}
    made = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume},
                "spec": {
                    **common,
                    "capacity": size,
                    "hostPath": {"path": str(pods.shared / claim)},
                },
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": pods.namespace},
                "spec": {**common, "resources": {"requests": size}},
            },
        ],
    }
    kubectl("apply", "-f", "-", typed=json.dumps(made))
    try:
        yield
    finally:
        kubectl("delete", "-f", "-", typed=json.dumps(made))


@contextmanager
def private_registry(docker: str) -> Iterator[Registry]:
    """A registry with a password, whose image that daemon does not keep."""
    with registry() as made:
        made.password = "Secret-77"
        try:
            yield made
        finally:
            words = ["docker", "-H", docker, "rmi", "--force", made.image]
            subprocess.run(words, capture_output=True, check=False)

"""A master whose tasks are pods of a real cluster, and bare pods to compare them with."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.e2e.pods import IMAGE, KUBECONFIG, SHARED, RealPods, real_pods, with_pools

from bench.figure import CannotMeasure
from bench.kubernetes_api import Api

LIMIT_S = 300.0


class PodsOfABed:
    """A cluster of Kubernetes with nothing else on it."""

    def __init__(self, cluster: Cluster, pods: RealPods, api: Api) -> None:
        self.cluster = cluster
        self.pods = pods
        self.api = api

    def submit(self, name: str, script: str, **more: Any) -> int:
        """Create an experiment of one script; its number."""
        environment = {"image": IMAGE, **more.pop("environment", {})}
        config = {
            "name": f"bench {name}",
            "entrypoint": "python3 t.py",
            "searcher": {"name": "single", "metric": "loss"},
            "hyperparameters": {},
            "max_restarts": 0,
            "environment": environment,
            "checkpoint_storage": {
                "type": "directory",
                "container_path": str(self.pods.shared / "checkpoints"),
            },
            **more,
        }
        return self.cluster.submit(config, {"t.py": script})

    def finish(self, experiment: int) -> None:
        """Wait for the end of an experiment and of its pods."""
        state = self.cluster.wait(experiment, LIMIT_S)
        if state != "COMPLETED":
            raise RuntimeError(f"the experiment ended as {state}")
        until(lambda: not self.pods.all(), LIMIT_S, "the removal of its pods")

    def run_bare(self, count: int, script: str, variables: Mapping[str, str] = {}) -> float:
        """Create pods of the same image at once; the seconds until all of them have succeeded."""
        namespace, shared = self.pods.namespace, self.pods.shared
        bodies = [_bare(number, script, variables, shared) for number in range(count)]
        since = time.perf_counter()
        self.api.create_all(f"/api/v1/namespaces/{namespace}/pods", bodies)
        self.api.wait_for_pods(namespace, count, "status.phase=Succeeded", LIMIT_S)
        took_s = time.perf_counter() - since
        for pod in self.pods.all():
            self.pods.delete(pod)
        until(lambda: not self.api.phases(namespace), LIMIT_S, "the removal of the bare pods")
        return took_s


@contextlib.contextmanager
def pods_of_a_bed(**manager: Any) -> Iterator[PodsOfABed]:
    """A fresh master on the cluster that the tests are given.

    Args:
        manager: keys of `resource_manager`, in place of the tests' own.

    Raises:
        CannotMeasure: there is no such cluster.
    """
    if not (KUBECONFIG and SHARED):
        raise CannotMeasure("DET_TEST_KUBECONFIG and DET_TEST_KUBERNETES_SHARED name no cluster")
    with real_pods() as pods, contextlib.closing(Api()) as api:

        def prepare(made: Cluster) -> None:
            made.host = pods.host
            settings = pods.settings(made.port)
            # A slot is also the limit of its pod: with less, a task would start more slowly.
            settings["resource_manager"]["slot_resource_requests"] = {"cpu": 1}
            settings["resource_manager"].update(manager)
            made.settings = with_pools(settings)

        with running(agents=0, prepare=prepare) as cluster:
            until(cluster.connected, LIMIT_S, "nodes")
            yield PodsOfABed(cluster, pods, api)


def _bare(number: int, script: str, variables: Mapping[str, str], shared: Path) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"bare-{number}"},
        "spec": {
            "restartPolicy": "Never",
            "enableServiceLinks": False,
            "volumes": [{"name": "shared", "hostPath": {"path": str(shared)}}],
            "containers": [
                {
                    "name": "bare",
                    "image": IMAGE,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["python3", "-c", script],
                    "env": [{"name": name, "value": value} for name, value in variables.items()],
                    "volumeMounts": [{"name": "shared", "mountPath": str(shared)}],
                }
            ],
        },
    }

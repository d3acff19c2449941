"""Whole tasks on a real control plane with three nodes of four GPUs, which run nothing.

A hollow kubelet (kubemark) takes pods as a real one does. The real scheduler has placed them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import scripts
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import until
from tests.e2e.command_line import det
from tests.e2e.conftest import running
from tests.e2e.hollow_node import hollow_node
from tests.e2e.pods import HOLLOW
from tests.real_kubernetes.control_plane import ControlPlane, control_plane

from determined_master.backends.kubernetes.client import MERGE_PATCH, KubernetesApi

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.xdist_group("nodes of a real cluster"),
]
NODES = ("hollow-1", "hollow-2", "hollow-3")
GPUS = {"nvidia.com/gpu": "4"}
LIMIT_S = 120
Json = dict[str, Any]


class Plane:
    """The objects of the control plane."""

    def __init__(self, made: ControlPlane) -> None:
        self.kubeconfig = str(made.server.kubeconfig)

    def call(self, method: str, path: str, **more: Any) -> Json:
        async def called() -> Json:
            api = KubernetesApi(self.kubeconfig)
            try:
                return await api.call(method, path, **more)
            finally:
                await api.close()

        return asyncio.run(called())

    def pods(self) -> list[Json]:
        """Those of tasks that nobody has asked to end."""
        query = {"labelSelector": "determined"}
        found = self.call("GET", "/api/v1/pods", query=query)["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def give_gpus(self, node: str) -> bool:
        """Whether the node has GPUs from now on: its kubelet may not have joined yet."""
        found = self.call("GET", "/api/v1/nodes")["items"]
        if node not in [item["metadata"]["name"] for item in found]:
            return False
        body = {"status": {"capacity": GPUS, "allocatable": GPUS}}
        path = f"/api/v1/nodes/{node}/status"
        self.call("PATCH", path, body=body, content_type=MERGE_PATCH)
        return True


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    programs = Path(HOLLOW).parent
    if not HOLLOW or not (programs / "kube-apiserver").is_file():
        pytest.skip("DET_TEST_KUBEMARK names no program beside those of a control plane")
    root = tmp_path_factory.mktemp("plane")
    with control_plane(root, programs) as made, contextlib.ExitStack() as nodes:
        made.run_controllers()
        made.run_scheduler()
        plane = Plane(made)
        for name in NODES:
            nodes.enter_context(hollow_node(HOLLOW, name, plane.kubeconfig, root))
        for name in NODES:
            until(lambda name=name: plane.give_gpus(name), LIMIT_S, "a node")
        yield plane


@pytest.fixture(scope="module")
def cluster(plane: Plane) -> Iterator[Cluster]:
    def prepare(made: Cluster) -> None:
        manager = {
            "type": "kubernetes",
            "kubeconfig_path": plane.kubeconfig,
            "max_slots_per_pod": 4,
            "determined_master_host": "127.0.0.1",
            "determined_master_port": made.port,
        }
        pools = [{"pool_name": "default"}]
        made.settings = json.dumps({"resource_manager": manager, "resource_pools": pools})

    with running(agents=0, prepare=prepare) as made:
        until(lambda: slots(made) == 12, LIMIT_S, "three nodes of four slots")
        yield made


def slots(cluster: Cluster) -> int:
    return sum(len(agent["slots"]) for agent in cluster.get("/api/v1/agents")["agents"])


def submit(cluster: Cluster, slots_per_trial: int) -> int:
    wanted = {
        "name": "wide",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {},
        "resources": {"slots_per_trial": slots_per_trial},
        "max_restarts": 0,
        "checkpoint_storage": {"type": "directory", "container_path": "/tmp"},
        "environment": {"image": "any"},
    }
    return cluster.submit(wanted, {"t.py": scripts.LEDGER})


def pods_of(plane: Plane, experiment: int) -> list[Json]:
    label = "determined.ai/experiment_id"
    return [p for p in plane.pods() if p["metadata"]["labels"].get(label) == str(experiment)]


def are_placed(plane: Plane, experiment: int) -> bool:
    """Whether an experiment has a pod on each of the nodes."""
    pods = pods_of(plane, experiment)
    return len(pods) == 3 and {pod["spec"].get("nodeName") for pod in pods} == set(NODES)


def kill(cluster: Cluster, experiment: int) -> None:
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment, LIMIT_S) == "CANCELED"


def test_on_three_nodes_of_four_gpus_a_trial_of_four_nodes_waits_and_holds_nothing(
    cluster: Cluster, plane: Plane
) -> None:
    wide = submit(cluster, 16)

    said = "needs 16 slots, and pool 'default' has 12"
    until(lambda: said in det(cluster, "job", "why", str(wide)), LIMIT_S, "the reason")
    other = submit(cluster, 12)
    until(lambda: are_placed(plane, other), LIMIT_S, "a trial on all nodes")
    assert pods_of(plane, wide) == []
    for experiment in (wide, other):
        kill(cluster, experiment)


def test_of_two_trials_of_twelve_gpus_on_twelve_one_runs_and_then_the_other(
    cluster: Cluster, plane: Plane
) -> None:
    first, second = submit(cluster, 12), submit(cluster, 12)
    until(lambda: are_placed(plane, first), LIMIT_S, "the first")
    assert "12" in det(cluster, "job", "why", str(second))
    assert pods_of(plane, second) == []
    kill(cluster, first)
    until(lambda: are_placed(plane, second), LIMIT_S, "the second")
    assert pods_of(plane, first) == []
    kill(cluster, second)

"""Jobs beside one that waits for nodes, on a real control plane whose autoscaler adds none.

The real scheduler places pods and placeholders on hollow nodes of four GPUs, which run nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import until
from tests.e2e.command_line import det
from tests.e2e.conftest import running
from tests.e2e.hollow_node import hollow_node
from tests.e2e.pods import HOLLOW
from tests.e2e.test_real_hollow_nodes import (
    LIMIT_S,
    NODES,
    Json,
    Plane,
    kill,
    plane,
    pods_of,
    slots,
    submit,
)

from determined_master.backends.kubernetes.manifest.placeholder import DEMAND, PRIORITY_CLASS

__all__ = ["plane"]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.xdist_group("nodes of a real cluster"),
]


@pytest.fixture(scope="module")
def cluster(plane: Plane) -> Iterator[Cluster]:
    def prepare(made: Cluster) -> None:
        manager = {
            "type": "kubernetes",
            "kubeconfig_path": plane.kubeconfig,
            "max_slots_per_pod": 4,
            "determined_master_host": "127.0.0.1",
            "determined_master_port": made.port,
            "autoscaling": {"demand": "pods"},
        }
        pools = [{"pool_name": "default"}]
        made.settings = json.dumps({"resource_manager": manager, "resource_pools": pools})

    with running(agents=0, prepare=prepare) as made:
        until(lambda: slots(made) == 12, LIMIT_S, "three nodes of four slots")
        yield made


def placeholders(plane: Plane) -> list[Json]:
    found: list[Json] = plane.call("GET", "/api/v1/pods", query={"labelSelector": DEMAND})["items"]
    return found


def nodes_of(pods: list[Json]) -> list[str]:
    """The nodes that pods have, by name."""
    return sorted(pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"])


def runs(plane: Plane, experiment: int) -> str:
    """The node of an experiment of one pod; empty while the pod has none."""
    return "".join(nodes_of(pods_of(plane, experiment)))


def test_a_job_that_waits_for_nodes_leaves_the_others_theirs(
    cluster: Cluster, plane: Plane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    wide = submit(cluster, 16)
    until(lambda: placeholders(plane), LIMIT_S, "a placeholder")
    first = submit(cluster, 4)
    until(lambda: runs(plane, first), LIMIT_S, "a pod of the second job")
    until(lambda: len(placeholders(plane)) == 2, LIMIT_S, "a placeholder for each missing node")
    assert nodes_of(placeholders(plane)) == []
    assert "the cluster was asked for nodes for it at" in det(cluster, "job", "why", str(wide))

    with contextlib.ExitStack() as stack:
        directory = tmp_path_factory.mktemp("node")
        stack.enter_context(hollow_node(HOLLOW, "hollow-4", plane.kubeconfig, directory))
        until(lambda: plane.give_gpus("hollow-4"), LIMIT_S, "a node")
        until(lambda: nodes_of(placeholders(plane)) == ["hollow-4"], LIMIT_S, "its placeholder")
        others = [submit(cluster, 4) for _ in range(3)]
        for experiment in others:
            until(lambda e=experiment: runs(plane, e), LIMIT_S, "a pod beside the placeholders")
        assert {runs(plane, e) for e in (first, *others)} == {*NODES, "hollow-4"}
        until(lambda: len(placeholders(plane)) == 4, LIMIT_S, "placeholders for all of its pods")
        assert nodes_of(placeholders(plane)) == []

        for experiment in (first, *others):
            kill(cluster, experiment)
        until(lambda: len(nodes_of(pods_of(plane, wide))) == 4, LIMIT_S, "the first job's pods")
        until(lambda: not placeholders(plane), LIMIT_S, "the end of the demand")
        kill(cluster, wide)


def test_the_class_of_placeholders_carries_the_id_of_its_cluster(
    cluster: Cluster, plane: Plane
) -> None:
    """After the test before: several masters on one cluster of Kubernetes have classes each."""
    classes = plane.call("GET", "/apis/scheduling.k8s.io/v1/priorityclasses")["items"]
    own = [c["metadata"] for c in classes if c["metadata"]["name"].startswith(PRIORITY_CLASS)]
    id = cluster.get("/api/v1/master")["clusterId"]
    assert [c["name"] for c in own] == [f"{PRIORITY_CLASS}-{id}"]
    assert own[0]["labels"] == {"determined.ai/cluster_id": id}

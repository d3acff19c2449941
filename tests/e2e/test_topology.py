"""Pods of a trial in one rack: nodes in two racks, and experiments with `resources.topology`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.cluster import Cluster, Way
from tests.e2e.cluster_api import until
from tests.e2e.conftest import running
from tests.e2e.pods import Pods, pods_in_memory, with_pools
from tests.e2e.test_remote_kubernetes import config

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
RACK = "example.org/rack"
RACKS = {"node-a": "r1", "node-b": "r2", "node-c": "r2"}
"""Of nodes with 4 slots each."""
STAYS = "import signal\nsignal.pause()\n"
EXPERIMENT = "determined.ai/experiment_id"


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    with (
        pods_in_memory(tmp_path_factory.mktemp("kubernetes")) as made,
        made.add_node("node-c"),
    ):
        for node, rack in RACKS.items():
            made.label(node, {RACK: rack})
        yield made


@pytest.fixture(scope="module")
def cluster(pods: Pods) -> Iterator[Cluster]:
    def prepare(made: Cluster) -> None:
        settings = pods.settings(made.port)
        settings["resource_manager"]["rack_label"] = RACK
        made.settings = with_pools(settings)
        made.ways["master"] = Way(pods.tuning)

    with running(agents=0, prepare=prepare) as made:
        until(lambda: len(made.connected()) == len(RACKS), pods.limit_s, "nodes")
        yield made


def submit(cluster: Cluster, pods: Pods, slots: int, **topology: Any) -> int:
    resources = {"slots_per_trial": slots, **({"topology": topology} if topology else {})}
    wanted = config(pods, resources=resources)
    return cluster.submit(wanted, {"t.py": STAYS})


def nodes(pods: Pods, experiment: int) -> list[str]:
    """The nodes of an experiment's pods, in order."""
    own = (p for p in pods.all() if p["metadata"]["labels"].get(EXPERIMENT) == str(experiment))
    return sorted(pod["spec"].get("nodeName") or "" for pod in own)


def kill(cluster: Cluster, pods: Pods, experiment: int) -> None:
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment, pods.limit_s) == "CANCELED"
    until(lambda: not nodes(pods, experiment), pods.limit_s, "removed pods")


def test_pods_of_a_trial_share_a_rack_and_wait_for_one(cluster: Cluster, pods: Pods) -> None:
    first = submit(cluster, pods, 8, domain="rack", required=True)
    until(lambda: nodes(pods, first) == ["node-b", "node-c"], pods.limit_s, "pods in rack r2")
    late = submit(cluster, pods, 8, domain="rack", required=True)

    def why() -> str:
        return json.dumps(cluster.get(f"/api/v1/job-queues/{late}/why"))

    until(lambda: "r2" in why(), pods.limit_s, "the rack that it waits for")
    assert nodes(pods, late) == []
    kill(cluster, pods, first)
    until(lambda: nodes(pods, late) == ["node-b", "node-c"], pods.limit_s, "its rack")
    kill(cluster, pods, late)


def test_a_trial_that_prefers_a_rack_starts_across_racks_when_none_has_room(
    cluster: Cluster, pods: Pods
) -> None:
    pods.label("node-c", {RACK: "r3"})
    required = submit(cluster, pods, 8, domain="rack", required=True)
    until(
        lambda: "rack" in json.dumps(cluster.get(f"/api/v1/job-queues/{required}/why")),
        pods.limit_s,
        "the reason",
    )
    assert nodes(pods, required) == []
    kill(cluster, pods, required)
    preferred = submit(cluster, pods, 8, domain="rack", required=False)
    until(lambda: len(nodes(pods, preferred)) == 2, pods.limit_s, "pods in two racks")
    kill(cluster, pods, preferred)
    pods.label("node-c", {RACK: "r2"})

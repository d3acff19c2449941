"""A cluster in memory whose autoscaler is asked for nodes by ProvisioningRequests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.cluster import Cluster, Way
from tests.e2e.cluster_api import LAUNCH_RETRY_S, until
from tests.e2e.conftest import running
from tests.e2e.pods import PodsInMemory, with_pools
from tests.fake_kubernetes.autoscaler import KIND, FakeAutoscaler
from tests.fake_kubernetes.running import RunningCluster

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TRIAL = "print('here')"


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodsInMemory]:
    root = tmp_path_factory.mktemp("kubernetes")
    with RunningCluster(root) as made:
        yield PodsInMemory(made, root)


@pytest.fixture(scope="module")
def autoscaler(pods: PodsInMemory) -> Iterator[FakeAutoscaler]:
    async def made() -> FakeAutoscaler:
        return FakeAutoscaler(pods.running.kubelet)

    autoscaler = pods.running.do(made())
    yield autoscaler
    pods.running.do(autoscaler.stop())


@pytest.fixture(scope="module")
def cluster(pods: PodsInMemory) -> Iterator[Cluster]:
    def prepare(made: Cluster) -> None:
        settings = pods.settings(made.port)
        settings["resource_manager"]["autoscaling"] = {"demand": "provisioning_request"}
        made.settings = with_pools(settings)
        made.ways["master"] = Way(pods.tuning)

    with running(agents=0, prepare=prepare) as made:
        until(made.connected, what="nodes")
        yield made


def config(pods: PodsInMemory) -> dict[str, Any]:
    """Of an experiment of one trial, whose three pods need more nodes than the two that exist."""
    return {
        "name": "grows",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {},
        "resources": {"slots_per_trial": 12},
        "checkpoint_storage": {"type": "directory", "container_path": str(pods.shared / "c")},
        "environment": {"image": pods.image},
    }


def requests(pods: PodsInMemory) -> list[Any]:
    async def found() -> list[Any]:
        return pods.running.server.store.list(KIND, None, {})

    return pods.running.do(found())


def test_an_answer_without_capacity_is_shown_and_a_kill_withdraws_the_request(
    cluster: Cluster, pods: PodsInMemory, autoscaler: FakeAutoscaler
) -> None:
    autoscaler.without_capacity = "no GPUs in this zone"
    experiment = cluster.submit(config(pods), {"t.py": TRIAL})
    until(lambda: requests(pods), what="the request")

    def why() -> str:
        found: str = cluster.get(f"/api/v1/job-queues/{experiment}/why")["text"]
        return found

    text = until(lambda: "could not add them" in why() and why(), what="the answer")
    assert "the cluster was asked for nodes for it at" in text
    assert "could not add them: no GPUs in this zone; it is asked again at" in text
    assert pods.all() == []
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    until(lambda: not requests(pods), what="the withdrawal")


def test_a_gang_starts_on_the_nodes_that_were_added_for_it(
    cluster: Cluster, pods: PodsInMemory, autoscaler: FakeAutoscaler
) -> None:
    autoscaler.without_capacity = ""
    experiment = cluster.submit(config(pods), {"t.py": TRIAL})
    assert cluster.wait(experiment, LAUNCH_RETRY_S) == "COMPLETED"
    assert len(cluster.connected()) == 5
    until(lambda: not requests(pods), what="the withdrawal")

"""Experiments in a pool whose tasks kueue admits, on a cluster in memory.

A real kueue needs Kubernetes 1.27 for the gates of pods.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, Way
from tests.e2e.cluster_api import LAUNCH_RETRY_S, until
from tests.e2e.conftest import running
from tests.e2e.pods import PodsInMemory
from tests.fake_kubernetes.kueue import GROUP, FakeKueue
from tests.fake_kubernetes.running import RunningCluster

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodsInMemory]:
    root = tmp_path_factory.mktemp("kubernetes")
    with RunningCluster(root) as made:
        yield PodsInMemory(made, root)


@pytest.fixture(scope="module")
def kueue(pods: PodsInMemory) -> Iterator[FakeKueue]:
    async def made() -> FakeKueue:
        return FakeKueue(pods.running.server, cpu=1)

    kueue = pods.running.do(made())
    yield kueue
    pods.running.do(kueue.stop())


@pytest.fixture(scope="module")
def cluster(pods: PodsInMemory, kueue: FakeKueue) -> Iterator[Cluster]:
    def prepare(made: Cluster) -> None:
        settings = pods.settings(made.port)
        scheduler = {"type": "kueue", "queue_name": "lab"}
        pools = [{"pool_name": "default", "scheduler": scheduler}]
        made.settings = json.dumps({**settings, "resource_pools": pools})
        made.ways["master"] = Way(pods.tuning)

    with running(agents=0, prepare=prepare) as made:
        until(made.connected, what="nodes")
        yield made


def config(pods: PodsInMemory, steps: int, step_s: float) -> dict[str, Any]:
    """Of an experiment of one trial with one slot."""
    return {
        "name": "queued",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {"quality": 1.0},
        "resources": {"slots_per_trial": 1},
        "max_restarts": 0,
        "checkpoint_storage": {"type": "directory", "container_path": str(pods.shared / "c")},
        "environment": {
            "image": pods.image,
            "environment_variables": [
                f"LEDGER={pods.shared}",
                f"STEPS={steps}",
                f"STEP_S={step_s}",
            ],
        },
    }


def why(cluster: Cluster, experiment: int) -> str:
    found: str = cluster.get(f"/api/v1/job-queues/{experiment}/why")["text"]
    return found


def test_a_search_is_evicted_by_kueue_and_continues_where_it_was(
    cluster: Cluster, pods: PodsInMemory, kueue: FakeKueue
) -> None:
    first = cluster.submit(config(pods, 40, 0.2), {"t.py": scripts.LEDGER})
    [trial] = until(lambda: cluster.trials(first), what="the trial")
    ledger = pods.shared / f"{trial['id']}.jsonl"
    until(lambda: ledger.exists() and len(ledger.read_text().splitlines()) > 4, what="steps")
    [pod] = pods.all()
    second = cluster.submit(config(pods, 2, 0.0), {"t.py": scripts.LEDGER})
    until(lambda: "insufficient unused quota" in why(cluster, second), what="the reason")
    assert "waits in kueue's LocalQueue 'lab'" in why(cluster, second)
    group = pod["metadata"]["labels"][GROUP]
    pods.running.do(kueue.evict("default", group, "preempted by a more urgent workload"))
    assert cluster.wait(second, LAUNCH_RETRY_S) == "COMPLETED"
    assert cluster.wait(first, LAUNCH_RETRY_S) == "COMPLETED"
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    begun = [line["started"] for line in lines if "started" in line]
    assert len(begun) == 2
    assert begun[1] > 0, "it lost its work"
    [trial] = cluster.trials(first)
    assert trial["restarts"] == 0, "the eviction counted as a restart"
    assert cluster.connected() == ["node-a", "node-b"], "a queue is no agent"


def test_a_waiting_experiment_is_killed_with_its_pods(
    cluster: Cluster, pods: PodsInMemory, kueue: FakeKueue
) -> None:
    pods.running.do(kueue.set_quota(0))
    experiment = cluster.submit(config(pods, 2, 0.0), {"t.py": scripts.LEDGER})
    until(lambda: "insufficient unused quota" in why(cluster, experiment), what="the reason")
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment, LAUNCH_RETRY_S) == "CANCELED"
    until(lambda: not pods.all(), what="removed pods")
    pods.running.do(kueue.set_quota(1))

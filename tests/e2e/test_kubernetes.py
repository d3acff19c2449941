"""Experiments in pods of a Kubernetes cluster whose API server and kubelet are ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import scripts
from tests.e2e.cluster import Cluster, until
from tests.e2e.conftest import running
from tests.fake_kubernetes.running import RunningCluster

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = """
resource_manager:
  type: kubernetes
  kubeconfig_path: {kubeconfig}
  slot_type: cpu
  slot_resource_requests: {{cpu: 1}}
  max_slots_per_pod: 4
  determined_master_host: 127.0.0.1
  determined_master_port: {port}
"""


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("kubernetes")) as made:
        for name in ("node-a", "node-b"):
            made.do(made.kubelet.add_node(name, cpu=4))
        yield made


@pytest.fixture(scope="module")
def cluster(pods: RunningCluster) -> Iterator[Cluster]:
    def prepare(made: Cluster) -> None:
        made.settings = SETTINGS.format(kubeconfig=pods.kubeconfig, port=made.port)

    with running(agents=0, prepare=prepare) as made:
        until(lambda: len(made.connected()) == 2, what="nodes")
        yield made


def config(root: Path, steps: int = 4, step_s: float = 0.0, **more: Any) -> dict[str, Any]:
    ledger, storage = root / "ledger", root / "checkpoints"
    ledger.mkdir(exist_ok=True)
    variables = [f"LEDGER={ledger}", f"STEPS={steps}", f"STEP_S={step_s}"]
    environment = {
        "environment_variables": variables,
        "image": "any",
        **more.pop("environment", {}),
    }
    return {
        "name": "pods",
        "entrypoint": "python3 t.py",
        "searcher": {"name": "single", "metric": "loss"},
        "hyperparameters": {"quality": 0.5},
        "max_restarts": 0,
        "environment": environment,
        "checkpoint_storage": {"type": "directory", "container_path": str(storage)},
        **more,
    }


def pods_of(pods: RunningCluster) -> list[dict[str, Any]]:
    async def found() -> list[dict[str, Any]]:
        return pods.server.store.list("pods", None, {})

    return pods.do(found())


def test_a_trial_runs_in_a_pod_and_leaves_nothing_behind(
    cluster: Cluster, pods: RunningCluster, tmp_path: Path
) -> None:
    experiment = cluster.submit(config(tmp_path), {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    assert trial["totalBatchesProcessed"] == 4
    until(lambda: not pods_of(pods), what="removed pods")

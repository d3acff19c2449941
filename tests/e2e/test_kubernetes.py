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


GANG = """
import determined as det
from determined import core
info = det.get_cluster_info()
rank, peers = info.container_rank, len(info.container_addrs)
meeting = core.DistributedContext(
    rank=rank, size=peers, local_rank=0, local_size=1, cross_rank=rank, cross_size=peers,
    chief_ip=info.container_addrs[0],
)
with core.init(distributed=meeting) as context:
    print("met", sorted(meeting.allgather(info.agent_id)), flush=True)
    if rank == 0:
        context.train.report_validation_metrics(1, {"loss": 1.0})
"""


def test_a_gang_meets_across_pods_of_several_nodes(cluster: Cluster, tmp_path: Path) -> None:
    wanted = config(tmp_path, resources={"slots_per_trial": 8})
    experiment = cluster.submit(wanted, {"t.py": GANG})
    assert cluster.wait(experiment) == "COMPLETED"
    [trial] = cluster.trials(experiment)
    met = "met ['node-a', 'node-b']"  # the copy of a pod's log may come after its end
    until(lambda: cluster.task_text(trial["taskId"]).count(met) == 2, what="what both said")


def test_a_trial_goes_on_while_the_master_is_away_and_is_killed_by_the_next(
    cluster: Cluster, pods: RunningCluster, tmp_path: Path
) -> None:
    wanted = config(tmp_path, steps=10_000, step_s=0.2)
    experiment = cluster.submit(wanted, {"t.py": scripts.LEDGER})
    until(lambda: any(p["status"].get("phase") == "Running" for p in pods_of(pods)), what="a pod")
    [before] = [p["metadata"]["uid"] for p in pods_of(pods)]
    cluster.kill("master")
    cluster.start_master()
    until(lambda: len(cluster.connected()) == 2, what="nodes")
    assert [p["metadata"]["uid"] for p in pods_of(pods)] == [before]
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    assert cluster.wait(experiment) == "CANCELED"
    until(lambda: not pods_of(pods), what="removed pods")

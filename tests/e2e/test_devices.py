"""Experiments whose slots are devices of Dynamic Resource Allocation, on a cluster in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.domain.pods.devices.builders import (
    DRIVER,
    claim,
    device,
    device_class,
    resource_slice,
)
from tests.e2e import scripts
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import LAUNCH_RETRY_S, until
from tests.e2e.pods import PodsInMemory
from tests.e2e.pods_cluster import running_on
from tests.fake_kubernetes.devices import FakeDevices
from tests.fake_kubernetes.running import RunningCluster

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SMI = "#!/bin/sh\necho GPU-1\necho GPU-2\n"
"""Says what the tool of a container with two GPUs says."""


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodsInMemory]:
    """Three GPUs on one node, of which another program holds one, and one on the other."""
    root = tmp_path_factory.mktemp("kubernetes")
    (root / "bin").mkdir()
    (root / "bin" / "nvidia-smi").write_text(SMI)
    (root / "bin" / "nvidia-smi").chmod(0o755)
    with RunningCluster(root) as made:
        pods = PodsInMemory(made, root)
        store = made.server.store

        async def add_devices() -> FakeDevices:
            found = FakeDevices(made.server)
            made.kubelet.devices = found
            await store.put("deviceclasses", device_class())
            gpus = resource_slice("node-a", *(device(f"gpu-{n}") for n in range(3)))
            await store.put("resourceslices", gpus)
            await store.put("resourceclaims", claim("notebook", "gpu-2"))
            return found

        found = made.do(add_devices())
        yield pods
        made.do(found.stop())


@pytest.fixture(scope="module")
def cluster(pods: PodsInMemory) -> Iterator[Cluster]:
    def settings(port: int) -> str:
        found = pods.settings(port)
        found["resource_manager"] |= {"slot_type": "cuda", "device_class": DRIVER}
        del found["resource_manager"]["slot_resource_requests"]
        return json.dumps(found)

    with running_on(pods, settings) as made:
        yield made


def config(pods: PodsInMemory, path: Path, slots: int) -> dict[str, Any]:
    """Of an experiment of one trial that runs until there is a file at `path`."""
    tools = f"{pods.shared}/bin:/usr/local/bin:/usr/bin:/bin"
    return {
        "name": path.name,
        "entrypoint": f"while [ ! -e {path} ]; do sleep 0.1; done; echo $DET_SLOT_IDS",
        "searcher": {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": slots},
        "max_restarts": 0,
        "checkpoint_storage": {"type": "directory", "container_path": str(pods.shared / "c")},
        "environment": {"image": pods.image, "environment_variables": [f"PATH={tools}"]},
    }


def why(cluster: Cluster, experiment: int) -> str:
    found: str = cluster.get(f"/api/v1/job-queues/{experiment}/why")["text"]
    return found


def test_experiments_get_devices_and_wait_for_those_of_others(
    cluster: Cluster, pods: PodsInMemory
) -> None:
    agents = {a["id"]: a for a in cluster.get("/api/v1/agents")["agents"]}
    brands = [s["device"]["brand"] for s in agents["node-a"]["slots"].values()]
    assert brands == ["NVIDIA H100"] * 3
    assert not agents["node-b"]["slots"]

    first = cluster.submit(config(pods, pods.shared / "first", 2), {"t.py": scripts.LEDGER})
    until(lambda: [p for p in pods.all() if p.get("status", {}).get("phase") == "Running"])
    claims = pods.running.server.store
    second = cluster.submit(config(pods, pods.shared / "second", 2), {"t.py": scripts.LEDGER})
    held = "of 3 devices of DeviceClass gpu.nvidia.com, others hold 1"
    until(lambda: held in why(cluster, second), what="the reason")
    assert "waits for 2 slots, of which 0 are free now" in why(cluster, second)
    large = cluster.submit(config(pods, pods.shared / "large", 4), {"t.py": scripts.LEDGER})
    until(lambda: "4 slots" in why(cluster, large), what="the reason of the large one")
    cluster.post(f"/api/v1/experiments/{large}/kill")

    (pods.shared / "first").touch()
    assert cluster.wait(first, LAUNCH_RETRY_S) == "COMPLETED"
    (pods.shared / "second").touch()
    assert cluster.wait(second, LAUNCH_RETRY_S) == "COMPLETED"

    def left() -> list[str]:
        return [name for kind, _, name in claims.objects if kind == "resourceclaims"]

    until(lambda: not pods.all() and left() == ["notebook"], what="nothing of them")

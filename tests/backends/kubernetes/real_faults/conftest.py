"""A real cluster with its faults: a bed, or a control plane that a test has for itself."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.backends.kubernetes.objects import KUBECONFIG, cluster_options
from tests.backends.kubernetes.test_backend import ADDRESS, IMAGE
from tests.contracts.kubernetes_contract import World
from tests.e2e.pods import HOLLOW
from tests.real_kubernetes.control_plane import ControlPlane, control_plane

from determined_master.backends.kubernetes.client import MERGE_PATCH, KubernetesApi

LIMIT_S = 120.0
MISSING = "nowhere.invalid/missing:1"


@pytest.fixture(scope="session")
def bed() -> Path:
    """The directory with the pids of the bed's programs."""
    run = Path(KUBECONFIG).parent
    if not KUBECONFIG or not (run / "apiserver.pid").is_file():
        pytest.skip("DET_TEST_KUBECONFIG names no cluster with the pids of its programs beside it")
    return run


@pytest.fixture(scope="session")
def programs() -> Path:
    """The directory with the programs of Kubernetes."""
    found = Path(HOLLOW).parent
    if not HOLLOW or not (found / "kube-apiserver").is_file():
        pytest.skip("DET_TEST_KUBEMARK names no program beside those of a control plane")
    return found


@pytest.fixture
def plane(programs: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane whose controllers remove objects and follow nodes quickly."""
    with control_plane(tmp_path, programs) as made:
        made.run_controllers("--node-monitor-period=1s", "--node-monitor-grace-period=15s")
        yield made


@contextlib.asynccontextmanager
async def world_at(kubeconfig: str, master: int, looks_by: str = "") -> AsyncIterator[World]:
    """A master of its own on a cluster; call its `open` once there is a node.

    Args:
        kubeconfig: of the master.
        master: its port.
        looks_by: the kubeconfig of the test's own calls, if it is another one.
    """
    options = cluster_options(kubeconfig, ADDRESS, master)
    made = World(options, IMAGE, LIMIT_S, MISSING, looks_by)
    try:
        yield made
    finally:
        await made.close()


async def create_node(api: KubernetesApi, name: str) -> None:
    """A node without a kubelet: it is ready, and pods that are placed there stay as they are."""
    offered = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "test", "message": "created by a test"}
    status = {"capacity": offered, "allocatable": offered, "conditions": [ready]}
    await api.call("POST", "/api/v1/nodes", body={"metadata": {"name": name}})
    path = f"/api/v1/nodes/{name}/status"
    await api.call("PATCH", path, body={"status": status}, content_type=MERGE_PATCH)

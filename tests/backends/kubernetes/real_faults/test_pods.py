"""Pods of a real cluster that are evicted, or cannot start."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.backends.kubernetes.objects import KUBECONFIG
from tests.backends.kubernetes.real_faults.conftest import world_at
from tests.contracts.kubernetes_contract import World
from tests.contracts.kubernetes_faults_contract import failure_of

from determined_master.backends.kubernetes import names
from determined_master.ports.orders import PodTerms

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("pods of a real cluster"),
    pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster"),
]


@pytest.fixture
async def world(master: int) -> AsyncIterator[World]:
    async with world_at(KUBECONFIG, master) as made:
        await made.open()
        yield made


async def test_a_pod_that_is_evicted_by_the_api_is_asked_to_save_and_is_lost(
    world: World,
) -> None:
    made = world.order("echo up; exec sleep 600")
    await world.backend.start_container(made)
    await world.until(lambda: world.events.text(made.container_id), "its output")
    pod = world.backend.pod_of(made.container_id)
    assert pod is not None
    body = {
        "apiVersion": "policy/v1beta1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
    }
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    await world.api.call("POST", path, body=body)
    await world.state(made.container_id, "TERMINATED")
    assert "is evicted or deleted" in world.events.evicted[made.container_id]
    failure = world.events.reports[made.container_id].failure
    assert failure is not None
    assert (failure.type, pod.name in failure.message) == ("agent_failed", True)


async def test_an_init_container_of_a_real_pod_that_fails_is_named(world: World) -> None:
    command = ["sh", "-c", "echo no data >/dev/termination-log; exit 9"]
    init = {"name": "get-data", "image": world.image, "command": command}
    own = {"spec": {"initContainers": [init]}}
    made = world.order("true", pod=PodTerms(pool="default", pod_spec=own))
    await world.backend.start_container(made)
    await world.state(made.container_id, "TERMINATED")
    said = failure_of(world, made)
    assert said == "the pod's init container get-data failed with exit code 9: no data"


async def test_a_volume_claim_that_does_not_exist_is_named(world: World) -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "of-nobody"}}
    mount = {"name": "data", "mountPath": "/data"}
    own = {
        "spec": {
            "containers": [{"name": names.MAIN, "volumeMounts": [mount]}],
            "volumes": [claim],
        }
    }
    await world.restart(unschedulable_s=1.0)
    made = world.order("true", pod=PodTerms(pool="default", pod_spec=own))
    await world.backend.start_container(made)
    await world.state(made.container_id, "TERMINATED")
    assert 'persistentvolumeclaim "of-nobody" not found' in failure_of(world, made)

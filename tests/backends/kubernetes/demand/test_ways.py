"""Both ways to ask a cluster for nodes, in memory and on a real cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import KUBECONFIG, cluster_options
from tests.backends.kubernetes.resources import definition, resources_installed
from tests.backends.kubernetes.test_backend import ADDRESS, IMAGE
from tests.contracts.demand_contract import (
    PODS,
    REQUESTS,
    DemandContract,
    ProvisioningContract,
    becomes,
    is_clean,
    objects,
    request,
)
from tests.contracts.kubernetes_contract import World
from tests.covers import covers
from tests.fake_kubernetes.autoscaler import FakeAutoscaler
from tests.fake_kubernetes.kubelet import IMAGES_THAT_ARE_NOT_THERE, FakeKubelet
from tests.fake_kubernetes.server import FakeServer

from determined_master.backends.kubernetes.options import Autoscaling

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demand")]
REAL = pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster")
WAYS = pytest.mark.parametrize("scaling", [PODS, REQUESTS], ids=["pods", "requests"])


@pytest.fixture
async def in_memory(fake: FakeKubelet, tmp_path: Path) -> AsyncIterator[World]:
    given = cluster_options(str(tmp_path / "kubeconfig"), "127.0.0.1", 1)
    made = World(given, "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def real() -> AsyncIterator[World]:
    async with resources_installed(KUBECONFIG, provisioning_requests()):
        made = World(cluster_options(KUBECONFIG, ADDRESS, 1), IMAGE, 240.0, "nowhere.invalid/x:1")
        await made.open()
        yield made
        await made.close()


def provisioning_requests() -> dict[str, Any]:
    """The parts of Cluster Autoscaler's definition that the master and the tests use."""
    text = {"type": "string"}
    reference = {"type": "object", "required": ["name"], "properties": {"name": text}}
    pods = {"podTemplateRef": reference, "count": {"type": "integer", "minimum": 1}}
    pod_set = {"type": "object", "required": ["podTemplateRef", "count"], "properties": pods}
    spec = {
        "type": "object",
        "required": ["podSets", "provisioningClassName"],
        "properties": {
            "provisioningClassName": text,
            "podSets": {"type": "array", "minItems": 1, "maxItems": 32, "items": pod_set},
        },
    }
    return definition("autoscaling.x-k8s.io", "v1", "ProvisioningRequest", spec)


@WAYS
@covers("helm-and-kubernetes 20.provisioning")
class TestInMemory(DemandContract):
    @pytest.fixture
    def world(self, in_memory: World) -> World:
        return in_memory

    async def test_requests_for_nodes_hold_no_slots(self, world: World) -> None:
        """Pods of others come and go on a real cluster, which more suites use."""
        slots = [a.foreign_slots for a in world.backend.agents()]
        world.backend.request_nodes("default", (request(),))
        await world.until(lambda: world.backend.nodes_asked("7.x.1"), "the request")
        assert [a.foreign_slots for a in world.backend.agents()] == slots
        world.backend.request_nodes("default", ())
        await is_clean(world)


@REAL
@WAYS
class TestOnARealCluster(DemandContract):
    @pytest.fixture
    def world(self, real: World) -> World:
        return real


async def test_a_task_starts_on_nodes_that_placeholders_of_another_one_hold(
    world: World, fake: FakeKubelet
) -> None:
    """The first one waits for a third node, which nobody adds."""
    world.options = replace(world.options, autoscaling=PODS)
    await world.restart()
    waits = request("7.x.2", (40, 40, 40))
    waits = replace(waits, pod_spec=None, housed=1)
    world.backend.request_nodes("default", (waits,))
    await becomes(world, [("7.x.2", "4000m")] * 2)
    assert await nodes_held(world) == [], "placeholders take no node that is free"
    await fake.add_node("node-b")
    async with asyncio.timeout(world.limit_s):
        while await nodes_held(world) != ["node-b"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    made = replace(world.order("true", slots=40), agent_id="node-b")
    await world.backend.start_container(made)
    await world.state(made.container_id, "TERMINATED")
    assert world.events.reports[made.container_id].failure is None
    world.backend.request_nodes("default", ())
    await is_clean(world)


async def nodes_held(world: World) -> list[str]:
    """By placeholders."""
    pods = await objects(world, "pods")
    return sorted(p["spec"]["nodeName"] for p in pods if "nodeName" in p["spec"])


class TestRequestsInMemory(ProvisioningContract):
    @pytest.fixture
    def world(self, in_memory: World) -> World:
        return in_memory

    async def test_an_autoscaler_adds_a_node_for_each_pod(
        self, world: World, fake: FakeKubelet
    ) -> None:
        autoscaler = FakeAutoscaler(fake)
        try:
            world.backend.request_nodes("default", (request(slots=(20, 20)),))
            await world.until(lambda: len(world.backend.agents()) == 3, "nodes")
            await self.shows(world, lambda text: text == "the autoscaler adds them")
            world.backend.request_nodes("default", ())
            await is_clean(world)
        finally:
            await autoscaler.stop()


@REAL
class TestRequestsOnARealCluster(ProvisioningContract):
    @pytest.fixture
    def world(self, real: World) -> World:
        return real


@pytest.mark.parametrize("scaling", [REQUESTS])
async def test_a_cluster_without_the_resource_is_reported_with_the_remedy(
    tmp_path: Path, scaling: Autoscaling, caplog: pytest.LogCaptureFixture
) -> None:
    server = FakeServer()
    server.crds = ()
    await server.start()
    kubelet = FakeKubelet(server, tmp_path / "pods")
    await kubelet.add_node("node-a")
    given = cluster_options(str(server.kubeconfig(tmp_path / "kubeconfig")), "127.0.0.1", 1)
    world = World(replace(given, autoscaling=scaling), "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
    try:
        await world.open()
        await world.until(lambda: "has no ProvisioningRequest objects" in caplog.text, "a warning")
        world.backend.request_nodes("default", (request(),))
        asked = world.backend.nodes_asked("7.x.1")
        assert asked is not None
        assert asked.at is None
        assert "set resource_manager.autoscaling.demand to pods" in asked.text
        await world.close()
    finally:
        await kubelet.stop()
        await server.stop()
    assert caplog.text.count("has no ProvisioningRequest objects") == 1

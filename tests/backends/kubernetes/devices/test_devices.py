"""Slots that are devices of Dynamic Resource Allocation: in memory, and on a real cluster."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import KUBECONFIG, cluster_options
from tests.backends.kubernetes.test_backend import ADDRESS, IMAGE
from tests.contracts.devices_contract import HOLD, DevicesContract, DevicesWorld, allocated
from tests.contracts.kubernetes_faults_contract import started
from tests.domain.pods.devices.builders import (
    DRIVER,
    claim,
    device,
    device_class,
    resource_slice,
)
from tests.fake_kubernetes.devices import FakeDevices
from tests.fake_kubernetes.kubelet import IMAGES_THAT_ARE_NOT_THERE, FakeKubelet

from determined_master.backends.kubernetes.backend import KubernetesBackend
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]
CLASS = os.environ.get("DET_TEST_DEVICE_CLASS", "")
REAL = pytest.mark.skipif(
    not (KUBECONFIG and CLASS),
    reason="DET_TEST_KUBECONFIG and DET_TEST_DEVICE_CLASS name no cluster with resource.k8s.io",
)
Json = dict[str, Any]


def with_class(options: ClusterOptions, name: str = DRIVER) -> ClusterOptions:
    return replace(options, slot_type="cuda", device_class=name)


@pytest.fixture
async def gpus(fake: FakeKubelet) -> AsyncIterator[FakeKubelet]:
    """Three whole GPUs and a part of one on the first node."""
    fake.devices = FakeDevices(fake.server)
    await put(fake, "deviceclasses", device_class())
    await put(fake, "resourceslices", three_gpus())
    yield fake
    await fake.devices.stop()


@pytest.fixture
async def devices(gpus: FakeKubelet, master: int, tmp_path: Path) -> AsyncIterator[DevicesWorld]:
    given = cluster_options(str(tmp_path / "kubeconfig"), "127.0.0.1", master)
    made = DevicesWorld(with_class(given), "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
    await made.open()
    yield made
    await made.close()


def three_gpus(**more: Any) -> Json:
    names = ("gpu-0", "gpu-1", "gpu-2")
    return resource_slice("node-a", *map(device, names), device("part", "mig"), **more)


async def put(fake: FakeKubelet, kind: str, item: Json) -> None:
    """A new object, or a change of the one with that name."""
    meta = item["metadata"]
    known = fake.server.store.find(kind, meta.get("namespace", ""), meta["name"])
    if known is not None:
        meta["uid"] = known["metadata"]["uid"]
    await fake.server.store.put(kind, item)


async def becomes_trouble(devices: DevicesWorld, text: str) -> None:
    def has() -> bool:
        trouble = devices.backend.trouble()
        return trouble is not None and text in trouble.sentence()

    await devices.until(has, text)


class TestDevicesInMemory(DevicesContract):
    async def test_slots_are_the_whole_gpus_with_their_product(
        self, devices: DevicesWorld
    ) -> None:
        node = devices.node()
        assert [(d.type, d.brand) for d in node.devices] == [("cuda", "NVIDIA H100")] * 3
        loads = devices.backend.loads()
        assert (loads.per_slot, loads.replaced) == ({}, frozenset({"nvidia.com/gpu"}))

    async def test_a_device_that_is_tainted_or_gone_is_no_free_slot(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        taint = [{"key": "broken", "effect": "NoSchedule"}]
        changed = three_gpus()
        changed["spec"]["devices"][1]["taints"] = taint
        await put(gpus, "resourceslices", changed)
        await devices.frees(2)
        assert devices.backend.device_note().endswith("1 has a taint")
        half = three_gpus(pool={"generation": 2, "resourceSliceCount": 2}, name="newer")
        await put(gpus, "resourceslices", half)
        await becomes_trouble(devices, "and pool node-a of driver gpu.nvidia.com lacks slices")
        await gpus.server.store.remove("resourceslices", "", "newer")
        await devices.frees(2)
        await devices.until(lambda: devices.backend.trouble() is None, "the whole pool")

    async def test_an_admins_access_leaves_a_device_free(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        await put(gpus, "resourceclaims", claim("watcher", "gpu-0", adminAccess=True))
        await put(gpus, "resourceclaims", claim("user", "gpu-1"))
        await devices.frees(2)
        await gpus.server.store.remove("resourceclaims", "lab", "user")
        await devices.frees(3)

    async def test_a_claim_with_our_labels_counts_as_that_of_another(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        """Everybody in a namespace can set labels and owners."""
        made = claim("own", "gpu-0", owner="somebody")
        made["metadata"]["labels"] = {"determined.ai/cluster_id": devices.options.cluster_id}
        await put(gpus, "resourceclaims", made)
        await devices.frees(2)
        await gpus.server.store.remove("resourceclaims", "lab", "own")

    async def test_a_master_that_ends_between_pod_and_claim_leaves_the_rest_to_the_next(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        made = devices.order("echo done", slots=2)
        text = "the connection broke"
        gpus.server.fail_once("POST", "resourceclaims", 500, "InternalError", text)
        with pytest.raises(NotConnected, match=text):
            await devices.backend.start_container(made)
        assert await devices.count("pods") == 1
        await devices.restart()
        await devices.backend.start_container(made)
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "TERMINATED")
        assert devices.events.text(made.container_id) == ["done"]
        assert len(await devices.claims()) == 1

    async def test_a_killed_pod_whose_claim_was_never_made_leaves_nothing(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        made = devices.order("true")
        gpus.server.fail_once("POST", "resourceclaims", 503, "Unavailable", "later")
        with pytest.raises(NotConnected):
            await devices.backend.start_container(made)
        await devices.restart()
        await devices.backend.signal_container(made.agent_id, made.container_id, 9)
        await devices.state(made.container_id, "TERMINATED")
        await devices.backend.forget_container(made.agent_id, made.container_id)
        await devices.is_clean()
        await devices.has_no_claims()

    async def test_a_running_pod_keeps_its_slots_when_the_next_master_takes_over(
        self, devices: DevicesWorld
    ) -> None:
        made = devices.order(HOLD, slots=2)
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "RUNNING")
        await devices.restart()
        await devices.frees(3)
        assert devices.backend.pod_of(made.container_id) is not None

    async def test_a_missing_class_is_named_until_it_exists(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        await gpus.server.store.remove("deviceclasses", "", DRIVER)
        await becomes_trouble(devices, f"has no DeviceClass {DRIVER!r}: install the driver")
        assert devices.node().devices == ()
        await put(gpus, "deviceclasses", device_class(DRIVER, "device.driver.matches('g')"))
        await becomes_trouble(devices, "the function matches is not evaluated by the master")
        bare = f"device.attributes['{DRIVER}'].profile == 'x'"
        await put(gpus, "deviceclasses", device_class(DRIVER, bare))
        await becomes_trouble(devices, "the device has no 'profile'): let it check for")
        await put(gpus, "deviceclasses", device_class(DRIVER, "device.driver == 'x'"))
        await becomes_trouble(devices, "has a device of DeviceClass 'gpu.nvidia.com': check")
        await put(gpus, "deviceclasses", device_class())
        await devices.until(lambda: devices.backend.trouble() is None, "the class")
        await devices.frees(3)

    async def test_a_missing_right_is_named_until_it_is_granted(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        forbidden = (403, "Forbidden", 'cannot list resource "resourceclaims"')
        gpus.server.refusals["GET", "resourceclaims"] = forbidden
        await devices.restart()
        await becomes_trouble(devices, "may not list and watch resourceclaims of resource.k8s.io")
        made = devices.order("echo aux", slots=0)
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "TERMINATED")
        del gpus.server.refusals["GET", "resourceclaims"]
        await devices.until(lambda: devices.backend.trouble() is None, "the right")

    async def test_a_right_to_create_claims_that_is_missing_ends_the_task_with_the_remedy(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        text = 'User "det" cannot create resource "resourceclaims" in API group "resource.k8s.io"'
        gpus.server.refusals["POST", "resourceclaims"] = (403, "Forbidden", text)
        made = devices.order("true")
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "TERMINATED")
        failure = devices.events.reports[made.container_id].failure
        assert failure is not None
        assert "may not create resourceclaims in namespace default" in failure.message
        assert "docs/kubernetes-permissions.md" in failure.message
        await devices.until(lambda: devices.backend.pod_of(made.container_id) is None, "the pod")

    @pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
    async def test_older_versions_of_the_api_are_used_where_no_other_is_served(
        self, devices: DevicesWorld, gpus: FakeKubelet, version: str
    ) -> None:
        gpus.server.device_versions = (version,)
        gpus.server.break_streams()
        await devices.restart()
        await devices.frees(3)
        made = devices.order(HOLD)
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "RUNNING")
        [found] = await devices.claims()
        assert found["apiVersion"] == f"resource.k8s.io/{version}"
        assert len(allocated(found)) == 1

    async def test_a_server_that_changes_its_version_is_followed(
        self, devices: DevicesWorld, gpus: FakeKubelet
    ) -> None:
        gpus.server.device_versions = ()
        gpus.server.break_streams()
        await becomes_trouble(
            devices, "does not serve resource.k8s.io in v1, v1beta2, v1beta1: use"
        )
        made = devices.order("true")
        with pytest.raises(NotConnected, match="serves no devices"):
            await devices.backend.start_container(made)
        gpus.server.device_versions = ("v1beta2",)
        await devices.until(lambda: devices.backend.trouble() is None, "the older version")
        await started(devices, made)  # before the devices are listed, it is refused
        await devices.state(made.container_id, "TERMINATED")
        assert devices.events.reports[made.container_id].exit_code == 0

    async def test_a_selector_of_the_settings_counts_and_is_sent(
        self, devices: DevicesWorld
    ) -> None:
        await devices.backend.close()
        one = f"device.attributes['{DRIVER}'].productName == 'NVIDIA A100'"
        devices.options = replace(devices.options, device_selector=one)
        devices.backend = devices.new_backend()
        await devices.open()
        await becomes_trouble(devices, "has a device of DeviceClass")
        await devices.backend.close()
        devices.options = replace(devices.options, device_selector=one.replace("A1", "H1"))
        devices.backend = devices.new_backend()
        await devices.open()
        await devices.frees(3)
        made = devices.order(HOLD)
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "RUNNING")
        [found] = await devices.claims()
        [request] = found["spec"]["devices"]["requests"]
        assert "H100" in request["exactly"]["selectors"][0]["cel"]["expression"]

    async def test_the_claim_of_another_task_is_refused(self, devices: DevicesWorld) -> None:
        theirs = "det-01234567-exp-7-trial-8-attempt-1-c0ffee001111-slots"
        own = {"resourceClaims": [{"name": "mine", "resourceClaimName": theirs}]}
        made = devices.order("true", pod=PodTerms(pool="default", pod_spec={"spec": own}))
        await devices.backend.start_container(made)
        await devices.state(made.container_id, "TERMINATED")
        failure = devices.events.reports[made.container_id].failure
        assert failure is not None
        assert f"names {theirs}, which holds the devices of another task" in failure.message


def test_a_cluster_whose_slots_are_a_resource_asks_for_no_devices() -> None:
    backend = KubernetesBackend(cluster_options("", "h", 1), None)  # type: ignore[arg-type]
    assert backend.device_note() == ""


@REAL
class TestDevicesOnARealCluster(DevicesContract):
    @pytest.fixture
    async def devices(self, master: int) -> AsyncIterator[DevicesWorld]:
        given = with_class(cluster_options(KUBECONFIG, ADDRESS, master), CLASS)
        made = DevicesWorld(given, IMAGE, 240.0, "registry.invalid/missing:1")
        await made.open()
        yield made
        await made.close()

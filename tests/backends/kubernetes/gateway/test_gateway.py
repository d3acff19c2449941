"""Services of tasks behind a Gateway: in memory, and on a real cluster."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import KUBECONFIG, cluster_options
from tests.backends.kubernetes.resources import definition, resources_installed
from tests.backends.kubernetes.test_backend import ADDRESS, IMAGE
from tests.contracts.gateway_contract import GatewayContract, GatewayWorld
from tests.covers import covers
from tests.fake_kubernetes.kubelet import IMAGES_THAT_ARE_NOT_THERE, FakeKubelet
from tests.free_ports import free_port

from determined_master.backends.kubernetes.options import ClusterOptions, Gateway
from determined_master.domain.pods.gateway_ports import PortRange
from determined_master.entropy import new_uuid
from determined_master.ports.agents import NotConnected

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("gateway")]
REAL = pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster")
Json = dict[str, Any]
PORTS = 5
GROUP = "gateway.networking.k8s.io"
TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 65535}
WHOLE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def with_gateway(options: ClusterOptions, ports: int = PORTS) -> ClusterOptions:
    """A Gateway of its own with so many ports, at which nothing listens now."""
    first = next(port for port in iter(free_port, None) if _are_free(port, ports))
    made = Gateway(
        name=f"tasks-{new_uuid().hex[:8]}",
        namespace="default",
        host="127.0.0.1",
        ports=PortRange(first, first + ports - 1),
    )
    return replace(options, gateway=made)


def _are_free(first: int, count: int) -> bool:
    for port in range(first, first + count):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def definitions() -> list[Json]:
    """The parts of the Gateway API that the master and the tests use."""
    listener = {
        "type": "object",
        "required": ["name", "port", "protocol"],
        "properties": {"name": TEXT, "port": NUMBER, "protocol": TEXT, "allowedRoutes": WHOLE},
    }
    listeners = {
        "type": "array",
        "items": listener,
        "minItems": 1,
        "maxItems": 64,  # the master reads it where the server tells it
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    gateway = {
        "type": "object",
        "required": ["gatewayClassName", "listeners"],
        "properties": {"gatewayClassName": TEXT, "listeners": listeners},
    }
    parent = {
        "type": "object",
        "required": ["name"],
        "properties": {n: TEXT for n in ("group", "kind", "namespace", "name", "sectionName")},
    }
    backend = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": TEXT, "port": NUMBER},
    }
    rule = {
        "type": "object",
        "properties": {"backendRefs": {"type": "array", "items": backend, "maxItems": 16}},
    }
    route = {
        "type": "object",
        "required": ["rules"],
        "properties": {
            "parentRefs": {"type": "array", "items": parent, "maxItems": 32},
            "rules": {"type": "array", "items": rule, "minItems": 1, "maxItems": 16},
        },
    }
    return [
        definition(GROUP, "v1", "Gateway", gateway),
        definition(GROUP, "v1alpha2", "TCPRoute", route),
    ]


@covers("helm-and-kubernetes 17.routes")
class TestInMemory(GatewayContract):
    @pytest.fixture
    async def world(
        self, fake: FakeKubelet, master: int, tmp_path: Path
    ) -> AsyncIterator[GatewayWorld]:
        given = cluster_options(str(tmp_path / "kubeconfig"), "127.0.0.1", master)
        made = GatewayWorld(with_gateway(given), "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
        await made.open()
        yield made
        await made.close()

    async def test_a_cluster_without_tcp_routes_is_named(
        self, world: GatewayWorld, fake: FakeKubelet
    ) -> None:
        fake.server.unknown_kinds = {"tcproutes"}
        made = world.serves("later")
        with pytest.raises(NotConnected, match=r"no TCPRoutes.*: install the Gateway API"):
            await world.backend.start_container(made)
        assert await world.listeners() == {"web"}
        fake.server.unknown_kinds = set()
        await world.started(made)
        assert await world.said(made) == "later"

    @pytest.mark.parametrize(
        ("method", "kind", "remedy"),
        [
            ("GET", "gateways", "the verbs get and update on gateways in namespace default"),
            ("PUT", "gateways", "the verbs get and update on gateways in namespace default"),
            ("POST", "services", "the verbs create and delete on services in namespace default"),
            ("POST", "tcproutes", "the verbs create and delete on tcproutes in namespace default"),
        ],
    )
    async def test_a_missing_right_is_named_and_the_task_starts_when_it_is_granted(
        self, world: GatewayWorld, fake: FakeKubelet, method: str, kind: str, remedy: str
    ) -> None:
        fake.server.refusals[method, kind] = (403, "Forbidden", f"{kind} is forbidden")
        made = world.serves("granted")
        with pytest.raises(NotConnected, match=remedy):
            await world.backend.start_container(made)
        assert remedy in world.backend.waits_for(made.allocation_id)
        assert remedy in world.events.notes[-1].text
        assert "listens" not in world.events.text(made.container_id)
        fake.server.refusals.clear()
        await world.started(made)
        assert await world.said(made) == "granted"

    async def test_a_task_cannot_claim_a_port_by_its_pod_spec(self, world: GatewayWorld) -> None:
        note = {"metadata": {"annotations": {"determined.ai/gateway_ports": "22=5432"}}}
        made = world.serves("own", pod_spec=note, proxy_ports=())
        await world.started(made)
        await world.restart()
        assert await world.listeners() == {"web"}


@REAL
class TestOnARealCluster(GatewayContract):
    @pytest.fixture
    async def world(self, master: int) -> AsyncIterator[GatewayWorld]:
        async with resources_installed(KUBECONFIG, *definitions()):
            given = with_gateway(cluster_options(KUBECONFIG, ADDRESS, master))
            made = GatewayWorld(given, IMAGE, 240.0, "nowhere.invalid/x:1")
            await made.open()
            yield made
            await made.close()

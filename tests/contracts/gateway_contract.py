"""Services of tasks behind a Gateway, on any cluster.

A suite that uses it gives the fixture `world`, with a Gateway of five ports for tasks.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contracts.kubernetes_contract import World
from tests.covers import covers
from tests.fake_kubernetes.gateway import GROUP, GatewayController, gateway_object
from tests.free_ports import free_port

from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.domain.pods.gateway_listeners import leases_of
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms, StartOrder

Json = dict[str, Any]

SAYS = """
import socket, sys
server = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("listens", flush=True)
while True:
    client, _ = server.accept()
    client.sendall(sys.argv[2].encode())
    client.close()
"""


class GatewayWorld(World):
    """A cluster with a Gateway, and its controller."""

    def __init__(self, options: ClusterOptions, image: str, limit_s: float, missing: str) -> None:
        super().__init__(options, image, limit_s, missing)
        assert options.gateway is not None
        self.gateway = options.gateway
        self.controller: GatewayController | None = None

    async def open(self) -> None:
        await super().open()
        await self.create_gateway()
        if self.controller is None:
            where = self.gateway.namespace, self.gateway.name
            self.controller = GatewayController(self.api, *where)

    async def close(self) -> None:
        if self.controller is not None:
            await self.controller.stop()
        try:
            await self.remove_gateway()
        finally:
            await super().close()

    async def restart(self, **more: Any) -> None:
        await self.backend.close()
        self.backend = self.new_backend(**more)
        await World.open(self)

    async def create_gateway(self, *listeners: Json) -> None:
        path = self.gateway.path.rpartition("/")[0]
        await self.api.call("POST", path, body=gateway_object(self.gateway.name, *listeners))

    async def remove_gateway(self) -> None:
        await self.api.call("DELETE", self.gateway.path)

    async def read_gateway(self) -> Json:
        return await self.api.call("GET", self.gateway.path)

    async def leased(self, cluster_id: str = "") -> dict[str, int]:
        """The Gateway's port of each container of a master."""
        found = leases_of(await self.read_gateway(), cluster_id or self.options.cluster_id)
        return {lease.container_id: lease.port for lease in found}

    async def listeners(self) -> set[str]:
        return {one["name"] for one in (await self.read_gateway())["spec"]["listeners"]}

    async def lists(self, path: str) -> list[Json]:
        """The objects of this master."""
        query = {"labelSelector": f"determined.ai/cluster_id={self.options.cluster_id}"}
        found: list[Json] = (await self.api.call("GET", path, query=query))["items"]
        return found

    def serves(self, text: str, port: int = 0, **terms: Any) -> StartOrder:
        """A container that answers each connection with a text."""
        port = port or free_port()
        terms = {"pool": "default", "proxy_ports": (port,), **terms}
        return self.order(f"exec python3 -c '{SAYS}' {port} {text}", pod=PodTerms(**terms))

    async def started(self, made: StartOrder) -> StartOrder:
        """Start it, and wait until it listens."""
        await self.backend.start_container(made)
        await self.until(lambda: "listens" in self.events.text(made.container_id), "its server")
        return made

    async def said(self, made: StartOrder) -> str:
        """The answer through the Gateway."""
        assert made.pod is not None
        end = await self.backend.connect(made.container_id, made.pod.proxy_ports[0])
        reader, writer = await asyncio.open_connection(sock=end)
        async with asyncio.timeout(self.limit_s):
            answer = (await reader.read()).decode()
        writer.close()
        return answer

    async def ended(self, made: StartOrder) -> None:
        """Kill it, and wait until its pod is gone."""
        await self.backend.signal_container(made.agent_id, made.container_id, 9)
        await self.state(made.container_id, "TERMINATED")
        await self.backend.forget_container(made.agent_id, made.container_id)
        await self.until(lambda: self.backend.pod_of(made.container_id) is None, "no pod")

    async def becomes(self, wanted: set[str]) -> None:
        """Wait for the names of listeners."""
        async with asyncio.timeout(self.limit_s):
            while await self.listeners() != wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


class GatewayContract:
    """Tests that any cluster passes."""

    @covers("helm-and-kubernetes 17.routes 17.address")
    async def test_a_service_is_reached_by_its_port_of_the_gateway_and_leaves_nothing(
        self, world: GatewayWorld
    ) -> None:
        made = await world.started(world.serves("hello"))
        assert await world.said(made) == "hello"
        first = world.gateway.ports.first
        assert await world.leased() == {made.container_id: first}
        notes = (await world.read_gateway())["metadata"]["annotations"]
        assert notes[f"determined.ai/det-gateway-port-{first}"] == made.allocation_id
        [service] = await world.lists("/api/v1/services")
        [route] = await world.lists(f"{GROUP}/v1alpha2/tcproutes")
        [pod] = await world.list("pods")
        end = f"{made.container_id.replace('-', '')[:12]}-0"
        assert service["spec"]["type"] == "ClusterIP"
        assert route["metadata"]["name"] == service["metadata"]["name"]
        assert service["metadata"]["name"].endswith(end)
        assert pod["metadata"]["annotations"]["determined.ai/gateway_ports"].endswith(f"={first}")
        assert service["metadata"]["labels"]["determined"] == made.allocation_id
        await world.ended(made)
        await world.becomes({"web"})
        assert not await world.lists("/api/v1/services")
        assert not await world.lists(f"{GROUP}/v1alpha2/tcproutes")
        with pytest.raises(ConnectionError):
            await world.said(made)

    async def test_two_tasks_and_a_restarted_master_keep_their_ports(
        self, world: GatewayWorld
    ) -> None:
        one, two = (
            await world.started(world.serves("one")),
            await world.started(world.serves("two")),
        )
        before = await world.leased()
        assert len(set(before.values())) == 2
        await world.restart()
        await world.until(lambda: world.backend.pod_of(one.container_id), "its pod")
        assert (await world.said(one), await world.said(two)) == ("one", "two")
        assert await world.leased() == before

    async def test_the_last_ports_are_for_users_who_hold_few(self, world: GatewayWorld) -> None:
        made = [await world.started(world.serves(f"s{n}", username="ann")) for n in range(4)]
        await world.restart()  # the users of ports are known from their pods
        await world.until(lambda: any(a.is_connected for a in world.backend.agents()), "nodes")
        more = world.serves("more", username="ann")
        with pytest.raises(NotConnected, match="ann holds 4 and needs 1 more, 1 are free"):
            await world.backend.start_container(more)
        assert "at most 4 times as many as are free" in world.events.notes[-1].text
        last = await world.started(world.serves("last", username="bob"))
        late = replace(world.serves("late", username="cy"), allocation_id="2.late.1")
        with pytest.raises(NotConnected, match=r"all ports from .*held by: ann 4, bob 1\)"):
            await world.backend.start_container(late)
        assert not world.backend.pod_of(late.container_id)
        assert "waits for a port of Gateway" in world.backend.waits_for(late.allocation_id)
        assert "internal_task_gateway" in world.events.notes[-1].text
        freed = (await world.leased())[last.container_id]
        await world.ended(last)
        async with asyncio.timeout(world.limit_s):
            while f"det-{freed}" in await world.listeners():  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        with pytest.raises(NotConnected, match="ann holds 4"):
            await world.backend.start_container(more)
        await world.started(late)
        assert world.backend.waits_for(late.allocation_id) == ""
        assert (await world.leased())[late.container_id] == freed
        assert [await world.said(m) for m in (made[0], made[3], late)] == ["s0", "s3", "late"]

    async def test_what_a_dead_master_has_left_is_removed_by_the_next_one(
        self, world: GatewayWorld
    ) -> None:
        made = await world.started(world.serves("old"))
        pod = world.backend.pod_of(made.container_id)
        assert pod is not None
        await world.backend.close()
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        await world.api.call("DELETE", path, query={"gracePeriodSeconds": "0"})
        world.backend = world.new_backend()
        await World.open(world)
        await world.becomes({"web"})
        assert not await world.lists("/api/v1/services")

    @covers("helm-and-kubernetes 17.listeners")
    async def test_two_masters_at_once_share_no_port(self, world: GatewayWorld) -> None:
        other, events = world.other_master()
        other.open({}, 1)
        try:
            await world.until(lambda: any(a.is_connected for a in other.agents()), "its nodes")
            mine, theirs = world.serves("mine"), world.serves("theirs")
            events.kept.add(theirs.container_id)
            await asyncio.gather(world.started(mine), other.start_container(theirs))
            found = await world.read_gateway()
            ports = [one["port"] for one in found["spec"]["listeners"] if one["name"] != "web"]
            assert len(ports) == len(set(ports)) == 2
            assert await world.said(mine) == "mine"
            await other.signal_container(theirs.agent_id, theirs.container_id, 9)
            await world.until(lambda: events.state(theirs.container_id) == "TERMINATED", "its end")
            await other.forget_container(theirs.agent_id, theirs.container_id)
            await world.becomes({"web", f"det-{(await world.leased())[mine.container_id]}"})
        finally:
            await other.close()

    async def test_a_gateway_that_is_applied_again_gets_its_listeners_back(
        self, world: GatewayWorld
    ) -> None:
        made = await world.started(world.serves("still"))
        before = await world.leased()
        await world.remove_gateway()
        await world.create_gateway()
        await world.restart()  # the comparison is made at once, else within a minute
        await world.becomes({"web", f"det-{before[made.container_id]}"})
        assert await world.leased() == before
        assert await world.said(made) == "still"

    async def test_a_gateway_that_does_not_exist_is_named_until_it_does(
        self, world: GatewayWorld
    ) -> None:
        await world.remove_gateway()
        made = world.serves("here")
        with pytest.raises(NotConnected, match=f"{world.gateway.name}, which does not exist"):
            await world.backend.start_container(made)
        assert "create it" in world.backend.waits_for(made.allocation_id)
        await world.create_gateway()
        await world.started(made)
        assert await world.said(made) == "here"

    async def test_a_gateway_with_the_most_listeners_is_named(self, world: GatewayWorld) -> None:
        await world.remove_gateway()
        many = [{"name": f"l{n}", "protocol": "HTTP", "port": 1000 + n} for n in range(64)]
        await world.create_gateway(*many)
        made = world.serves("never")
        with pytest.raises(NotConnected, match="takes no further listener"):
            await world.backend.start_container(made)
        assert "allow more listeners" in world.backend.waits_for(made.allocation_id)
        await world.backend.signal_container(
            made.agent_id, made.container_id, 9, made.allocation_id
        )
        assert world.backend.waits_for(made.allocation_id) == ""

    async def test_tasks_without_ports_and_other_ranks_get_none(self, world: GatewayWorld) -> None:
        plain = world.order("echo done")
        second = world.serves("rank 1", rank=1, pods=2)
        for made in (plain, replace(second, spec=replace(second.spec, entrypoint=("true",)))):
            await world.backend.start_container(made)
            await world.state(made.container_id, "TERMINATED")
        assert await world.listeners() == {"web"}
        assert not await world.lists("/api/v1/services")

"""A stand-in for the controller of a Gateway: it listens at its ports and forwards connections.

It reads the objects through the API server, so it serves the cluster in memory and a real one.
Its rules are those of the Gateway API: a listener takes routes of the namespaces and kinds that it
allows, and of two routes of one listener the older one gets the connections.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)

Json = dict[str, Any]
GROUP = "/apis/gateway.networking.k8s.io"
POLL_S = 0.1
NAMESPACE_LABEL = "kubernetes.io/metadata.name"


def gateway_object(name: str, *listeners: Json) -> Json:
    """A Gateway with one listener of its own, or with the given ones."""
    own = {"name": "web", "protocol": "HTTP", "port": 80}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name},
        "spec": {"gatewayClassName": "stand-in", "listeners": list(listeners or (own,))},
    }


class GatewayController:
    """Serves one Gateway at an address of this machine."""

    def __init__(self, api: KubernetesApi, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._servers: dict[int, asyncio.Server] = {}
        self._task = asyncio.create_task(self._follow())

    @property
    def ports(self) -> set[int]:
        """At which it listens."""
        return set(self._servers)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    async def _follow(self) -> None:
        path = f"{GROUP}/v1/namespaces/{self._namespace}/gateways/{self._name}"
        while True:
            try:
                found = await self._api.call("GET", path)
            except (KubernetesRefused, KubernetesUnreachable):
                found = {"spec": {"listeners": []}}
            listeners = {
                e["port"]: e for e in found["spec"]["listeners"] if e["protocol"] == "TCP"
            }
            for port in self._servers.keys() - listeners.keys():
                self._servers.pop(port).close()
            for port in listeners.keys() - self._servers.keys():
                self._servers[port] = await self._listen(listeners[port])
            await asyncio.sleep(POLL_S)

    async def _listen(self, listener: Json) -> asyncio.Server:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                where = await self._backend(listener)
                if where is not None:
                    await _both_ways((reader, writer), await asyncio.open_connection(*where))
            writer.close()

        return await asyncio.start_server(serve, "127.0.0.1", listener["port"])

    async def _backend(self, listener: Json) -> tuple[str, int] | None:
        """The address of the pod that a listener leads to; None without one."""
        routes = (await self._api.call("GET", f"{GROUP}/v1alpha2/tcproutes"))["items"]
        own = [route for route in routes if self._is_attached(route, listener)]
        own.sort(key=lambda r: (r["metadata"]["creationTimestamp"], r["metadata"]["name"]))
        if not own:
            return None
        namespace = own[0]["metadata"]["namespace"]
        [backend] = own[0]["spec"]["rules"][0]["backendRefs"]
        base = f"/api/v1/namespaces/{namespace}"
        service = await self._api.call("GET", f"{base}/services/{backend['name']}")
        selected = ",".join(f"{k}={v}" for k, v in service["spec"]["selector"].items())
        pods = await self._api.call("GET", f"{base}/pods", query={"labelSelector": selected})
        [port] = [p for p in service["spec"]["ports"] if p["port"] == backend["port"]]
        addresses = [(p.get("status") or {}).get("podIP") for p in pods["items"]]
        return next(((ip, int(port["targetPort"])) for ip in addresses if ip), None)

    def _is_attached(self, route: Json, listener: Json) -> bool:
        allowed = listener["allowedRoutes"]
        if {"group": "gateway.networking.k8s.io", "kind": "TCPRoute"} not in allowed["kinds"]:
            return False
        assert allowed["namespaces"]["from"] == "Selector"
        wanted = allowed["namespaces"]["selector"]["matchLabels"]
        if wanted != {NAMESPACE_LABEL: route["metadata"]["namespace"]}:
            return False
        return any(
            (ref["namespace"], ref["name"], ref["sectionName"])
            == (self._namespace, self._name, listener["name"])
            for ref in route["spec"]["parentRefs"]
        )


_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _both_ways(one: _Connection, other: _Connection) -> None:
    """Carry bytes until one side has ended."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    ways = [
        asyncio.create_task(carry(one[0], other[1])),
        asyncio.create_task(carry(other[0], one[1])),
    ]
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in ways:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    other[1].close()

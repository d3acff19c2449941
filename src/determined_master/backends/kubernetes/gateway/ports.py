"""The ports of a Gateway that lead to the pods of this master.

A pod gets its ports before it is created. They are freed when it is gone: its TCPRoute is deleted
first, because of two routes at one listener the older one gets the connections.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping

from determined_master import clock
from determined_master.backends.kubernetes.client import (
    Json,
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.gateway.connection import connect_through
from determined_master.backends.kubernetes.gateway.errors import (
    GatewayWaits,
    check_served,
    not_exposed,
    over_share,
    refused,
    used_up,
)
from determined_master.backends.kubernetes.gateway.limits import most_listeners
from determined_master.backends.kubernetes.gateway.pods import (
    Held,
    holders,
    pod_ports,
    user_of,
    wanted_ports,
)
from determined_master.backends.kubernetes.manifest.gateway import ROUTES, SERVICES, path_of
from determined_master.backends.kubernetes.manifest.objects import Objects
from determined_master.backends.kubernetes.options import ClusterOptions, Gateway
from determined_master.backends.kubernetes.pods.cache import PodCache
from determined_master.backends.kubernetes.pods.state import Observed
from determined_master.domain.pods.gateway_listeners import Lease, leases_of
from determined_master.domain.pods.gateway_ports import (
    GatewayChange,
    PodPorts,
    lease_of,
    lease_ports,
    settle,
)
from determined_master.domain.pods.gateway_shares import PortUse, may_take, use_of
from determined_master.ports.orders import StartOrder

log = logging.getLogger(__name__)

REFRESH_S = 60.0
"""How often the Gateway is compared with the pods where nothing is known to have changed."""
HELD_S = 120.0
"""How long a lease stays without its pod after the last order to create that."""
_MAX_CONFLICTS = 20
_MAX_TOLD = 200


class GatewayPorts:
    """Those of one cluster, while its master leads. Without a Gateway it does nothing."""

    def __init__(self, options: ClusterOptions, api: KubernetesApi, pods: PodCache) -> None:
        self._options = options
        self._api = api
        self._pods = pods
        self._lock = asyncio.Lock()
        self._leases: dict[tuple[str, int], Lease] = {}
        """By container and its port: the leases of this master, as last seen."""
        self._held: dict[str, Held] = {}
        """By container whose pod is about to be created."""
        self._waits: dict[str, tuple[str, str]] = {}
        """By container that waits for its ports: its allocation, and why."""
        self._compared_at: float | None = None
        self._has_routes = False
        self._most_listeners: int | None = None
        self._told: set[str] = set()

    async def connect(self, pod: Observed, port: int) -> socket.socket:
        """A socket that leads to a port of a pod; the caller closes it. Raises ConnectionError."""
        lease, gateway = self._leases.get((pod.report.container_id, port)), self._options.gateway
        if lease is None and self._compared_at is None and port in pod.gateway_ports:
            own = pod_ports(pod, self._options.cluster_id)
            lease = lease_of(own, port, own.leased[port])
        if lease is None or gateway is None:
            raise ConnectionError(
                f"no port of the Gateway leads to port {port} of pod {pod.namespace}/{pod.name}: "
                "see the master's log, and start the task again"
            )
        return await connect_through(gateway, lease, pod.created_at, self._api.now())

    def text(self, allocation_id: str) -> str:
        """Why an allocation waits for its ports; empty when it does not."""
        return next((why for of, why in self._waits.values() if of == allocation_id), "")

    def note_wait(self, order: StartOrder, error: GatewayWaits) -> None:
        """The pod of an order waits for its ports."""
        self._waits[order.container_id] = (order.allocation_id, str(error))

    def reset(self) -> None:
        """The master leads again: read what others have done until now."""
        self._leases, self._held, self._waits = {}, {}, {}
        self._compared_at = self._most_listeners = None

    def forget(self, container_id: str) -> None:
        """The container has ended, or will never be created."""
        self._held.pop(container_id, None)
        self._waits.pop(container_id, None)

    async def lease(self, order: StartOrder) -> Mapping[int, int]:
        """The Gateway's port for each port that the container has for users.

        Raises:
            GatewayWaits: there are none now.
            Unreachable: the API server does not answer.
        """
        gateway, wanted = self._options.gateway, wanted_ports(order, self._options)
        if gateway is None or wanted is None:
            return {}
        pod = self._pods.find(order.container_id)
        if pod is not None:
            return pod.gateway_ports
        async with self._lock:
            held = Held(clock.monotonic_s(), user_of(order))
            self._held[order.container_id] = held
            leases = await self._lease(gateway, wanted, held.user)
        own = [lease for lease in leases if lease.container_id == order.container_id]
        return {lease.container_port: lease.port for lease in own}

    async def expose(self, container_id: str, parts: Objects, uid: str) -> None:
        """Create the Services and TCPRoutes of a pod, unless they exist, as parts of the pod.

        Raises:
            GatewayWaits: the cluster does not take them now.
            Unreachable, Refused.
        """
        for item in parts.routes:
            try:
                path = path_of(item, parts.namespace)
                await self._api.call("POST", path, body=parts.owned(item, uid))
            except KubernetesRefused as error:
                if error.status == 409 and error.reason == "AlreadyExists":
                    continue
                raise not_exposed(item["kind"], parts.namespace, error) from error
        self._waits.pop(container_id, None)

    async def reconcile(self) -> None:
        """Free what no pod uses, and add what the Gateway has lost. Raises Unreachable."""
        gateway = self._options.gateway
        if gateway is None:
            return
        async with self._lock:
            pods = {pod.report.container_id: pod for pod in self._pods.with_gateway_ports()}
            now = clock.monotonic_s()
            for container_id, held in list(self._held.items()):
                if container_id in pods or now - held.since_s > HELD_S:
                    del self._held[container_id]
            if self._is_due(now, pods):
                try:
                    await self._compare(gateway, pods)
                except (GatewayWaits, KubernetesRefused) as error:
                    self._tell(str(error))
                    self._compared_at = now

    def _is_due(self, now: float, pods: Mapping[str, Observed]) -> bool:
        if self._compared_at is None or now - self._compared_at >= REFRESH_S:
            return True
        used = pods.keys() | self._held.keys()
        return any(container_id not in used for container_id, _ in self._leases)

    async def _lease(self, gateway: Gateway, ports: PodPorts, user: str) -> tuple[Lease, ...]:
        await self._check_routes(gateway, ports.namespace)
        if self._most_listeners is None:
            self._most_listeners = await most_listeners(self._api)
        running = self._pods.with_gateway_ports()
        reserved = {
            port
            for pod in running
            if pod.report.container_id != ports.container_id
            for port in pod.gateway_ports.values()
        }
        for _ in range(_MAX_CONFLICTS):
            document = await self._read(gateway)
            change = lease_ports(document, ports, gateway.ports, reserved)
            use = self._use_of(document, gateway, self._most_listeners)
            if change is None:
                raise used_up(gateway, use)
            added = len(change.leases) - len(leases_of(document, ports.cluster_id))
            if 0 < added <= use.listeners and not may_take(use, user, added):
                raise over_share(gateway, use, user, added)
            if await self._write(gateway, change, use):
                return change.leases
        raise KubernetesUnreachable(f"Gateway {gateway.name}: others change it again and again")

    def _use_of(self, document: Json, gateway: Gateway, most: int) -> PortUse:
        """Who holds the ports of a Gateway now."""
        leases = leases_of(document, self._options.cluster_id)
        users = holders(leases, self._pods.with_gateway_ports(), self._held)
        return use_of(document, gateway.ports, users, most)

    async def _compare(self, gateway: Gateway, pods: Mapping[str, Observed]) -> None:
        existing = [pod_ports(pod, self._options.cluster_id) for pod in pods.values()]
        document = await self._read(gateway)
        change = settle(document, self._options.cluster_id, existing, self._held)
        for lease in change.freed:
            await self._remove(lease)
        for lease in change.lost:
            self._tell(
                f"port {lease.port} of Gateway {gateway.namespace}/{gateway.name} was taken by "
                f"others while pod {lease.namespace}/{lease.route} had it: that service is not "
                "reached any more"
            )
        if await self._write(gateway, change):
            self._compared_at = clock.monotonic_s()

    async def _check_routes(self, gateway: Gateway, namespace: str) -> None:
        """Check once that the cluster has TCPRoutes. Raises GatewayWaits, Unreachable."""
        if not self._has_routes:
            await check_served(self._api, gateway, namespace)
            self._has_routes = True

    async def _read(self, gateway: Gateway) -> Json:
        try:
            return await self._api.call("GET", gateway.path)
        except KubernetesRefused as error:
            raise refused(gateway, error) from error

    async def _write(
        self, gateway: Gateway, change: GatewayChange, use: PortUse | None = None
    ) -> bool:
        """Whether it is stored; false when others have changed the Gateway since it was read."""
        if change.is_changed:
            try:
                await self._api.call("PUT", gateway.path, body=change.gateway)
            except KubernetesRefused as error:
                if error.status == 409:
                    return False
                raise refused(gateway, error, use) from error
        self._leases = {(one.container_id, one.container_port): one for one in change.leases}
        return True

    async def _remove(self, lease: Lease) -> None:
        """Delete a TCPRoute and its Service; Kubernetes may have done so, with their pod."""
        for path in (
            f"{ROUTES}/namespaces/{{}}/tcproutes",
            f"{SERVICES}/namespaces/{{}}/services",
        ):
            try:
                await self._api.call("DELETE", f"{path.format(lease.namespace)}/{lease.route}")
            except KubernetesRefused as error:
                if error.status != 404:
                    self._tell(f"{lease.namespace}/{lease.route} of a Gateway stays: {error}")

    def _tell(self, text: str) -> None:
        """Log a text once."""
        if text not in self._told:
            if len(self._told) >= _MAX_TOLD:
                self._told.clear()
            self._told.add(text)
            log.warning("%s", text)

"""Which ports of a Gateway lead to which pods.

The annotations of the Gateway say which port is whose, so several masters share a Gateway and a
restarted master finds its leases. A pod has its own leases in an annotation, too: a tool that
applies the Gateway again removes listeners and annotations, and they come back from the pods.
Source: helm-and-kubernetes 17.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from determined_master.domain.pods.gateway_listeners import (
    Lease,
    is_port,
    is_unclaimed,
    leases_of,
    listener_ports,
    taken_ports,
    with_lease,
    without_lease,
)

Json = dict[str, Any]


class PortRange(msgspec.Struct, frozen=True):
    """The ports that tasks may get, both ends included."""

    first: int
    last: int

    @property
    def text(self) -> str:
        return f"{self.first} to {self.last}"


class PodPorts(msgspec.Struct, frozen=True, kw_only=True):
    """A pod whose ports a Gateway leads to."""

    cluster_id: str
    allocation_id: str
    container_id: str
    namespace: str
    routes: Mapping[int, str]
    """By port of the container: the name of its Service and TCPRoute."""
    leased: Mapping[int, int] = {}
    """By port of the container: the port in the pod's annotation."""


class GatewayChange(msgspec.Struct, frozen=True):
    """A Gateway that fits the pods of a master."""

    gateway: Json
    is_changed: bool
    leases: tuple[Lease, ...] = ()
    """All of the master."""
    freed: tuple[Lease, ...] = ()
    """Those that the Gateway has no longer."""
    lost: tuple[Lease, ...] = ()
    """Of pods whose ports others have by now."""


def lease_ports(
    gateway: Json, pod: PodPorts, ports: PortRange, reserved: Collection[int] = ()
) -> GatewayChange | None:
    """Lease a port for each port of a pod; those that it has leased already stay.

    The lowest free ports are taken. A port is free if no listener and no annotation of the Gateway
    has it, whoever has written them.

    Args:
        gateway: as it is.
        pod: for which ports are leased.
        ports: from which they are taken.
        reserved: ports of running pods that the Gateway may have lost.

    Returns:
        The Gateway with the leases; None when the range has too few free ports.
    """
    leases = leases_of(gateway, pod.cluster_id)
    known = {one.container_port for one in leases if one.container_id == pod.container_id}
    taken = taken_ports(gateway) | set(reserved)
    free = (port for port in range(ports.first, ports.last + 1) if port not in taken)
    changed = gateway
    for container_port in sorted(pod.routes.keys() - known):
        port = next(free, None)
        if port is None:
            return None
        changed = with_lease(changed, lease_of(pod, container_port, port))
    return GatewayChange(changed, changed is not gateway, leases_of(changed, pod.cluster_id))


def settle(
    gateway: Json, cluster_id: str, pods: Iterable[PodPorts], held: Collection[str] = ()
) -> GatewayChange:
    """Free the leases of pods that are gone, and add those again that the Gateway has lost.

    Args:
        gateway: as it is.
        cluster_id: of the master; leases of others stay.
        pods: of the master that exist, with their leases.
        held: ids of containers whose pods are about to be created: their leases stay.
    """
    existing = {pod.container_id: pod for pod in pods}
    changed, freed = _settle_leases(gateway, cluster_id, existing, held)
    changed, lost = _lease_again(changed, cluster_id, existing.values())
    leases = leases_of(changed, cluster_id)
    return GatewayChange(changed, changed is not gateway, leases, tuple(freed), tuple(lost))


def _settle_leases(
    gateway: Json, cluster_id: str, existing: Mapping[str, PodPorts], held: Collection[str]
) -> tuple[Json, list[Lease]]:
    """Free leases that no pod uses, and add the listeners of the others; which were freed."""
    changed, freed = gateway, []
    for lease in leases_of(gateway, cluster_id):
        pod = existing.get(lease.container_id)
        is_used = pod is not None and pod.leased.get(lease.container_port) == lease.port
        if not is_used and (pod is not None or lease.container_id not in held):
            freed.append(lease)
            changed = without_lease(changed, lease.port)
        elif lease.port not in listener_ports(gateway):
            changed = with_lease(changed, lease)
    return changed, freed


def _lease_again(
    gateway: Json, cluster_id: str, pods: Iterable[PodPorts]
) -> tuple[Json, list[Lease]]:
    """Add leases that the Gateway has lost; those whose ports somebody else has by now."""
    changed, lost = gateway, []
    leased = {(one.container_id, one.port) for one in leases_of(gateway, cluster_id)}
    for pod in pods:
        for container_port, port in pod.leased.items():
            lease = lease_of(pod, container_port, port)
            if (pod.container_id, port) in leased:
                continue
            if port in taken_ports(changed) and not is_unclaimed(changed, port):
                lost.append(lease)
            else:
                changed = with_lease(changed, lease)
    return changed, lost


def lease_of(pod: PodPorts, container_port: int, port: int) -> Lease:
    """The lease of a Gateway's port for a port of a pod."""
    return Lease(
        port=port,
        cluster_id=pod.cluster_id,
        container_id=pod.container_id,
        container_port=container_port,
        namespace=pod.namespace,
        route=pod.routes.get(container_port, ""),
        allocation_id=pod.allocation_id,
    )


def ports_text(leased: Mapping[int, int]) -> str:
    """A pod's annotation with its leases: `6006=32769,8888=32768`."""
    return ",".join(f"{inside}={port}" for inside, port in sorted(leased.items()))


def ports_of(text: str) -> dict[int, int]:
    """Parse the annotation; parts that are no pair of ports are left out."""
    pairs = (part.partition("=") for part in text.split(","))
    return {int(a): int(b) for a, _, b in pairs if is_port(a) and is_port(b)}

"""Listeners of a Gateway, and the annotations that say whose they are.

A Gateway (`gateway.networking.k8s.io/v1`) has one TCP listener `det-PORT` for each leased port.
Source: helm-and-kubernetes 17, and the Gateway API (at least one listener; names are unique).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

Json = dict[str, Any]

ALLOCATION_NOTE = "determined.ai/det-gateway-port-"
"""Annotation of a Gateway, with a port at its end: the allocation, as in 0.38.1."""
OWNER_NOTE = "determined.ai/det-gateway-owner-"
"""Annotation of a Gateway, with a port at its end: the lease, for the master that has made it."""
SPARE = "-"
"""Owner of a listener without a lease."""
_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""Label that the API server gives each namespace."""
_OWNER_PARTS = 5


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A port of a Gateway that leads to a port of a pod."""

    port: int
    cluster_id: str
    """Of the master."""
    container_id: str
    container_port: int
    namespace: str
    """Of the pod, its Service and its TCPRoute."""
    route: str
    """Name of the Service and of the TCPRoute."""
    allocation_id: str = ""


def leases_of(gateway: Mapping[str, Any], cluster_id: str) -> tuple[Lease, ...]:
    """The leases of a master, by port. Annotations that it has not written are left out."""
    found = []
    for port, text in sorted(_noted(gateway, OWNER_NOTE).items()):
        owner = text.split("/")
        if len(owner) != _OWNER_PARTS or owner[0] != cluster_id or not is_port(owner[2]):
            continue
        lease = Lease(
            port=port,
            cluster_id=cluster_id,
            container_id=owner[1],
            container_port=int(owner[2]),
            namespace=owner[3],
            route=owner[4],
            allocation_id=_notes(gateway).get(f"{ALLOCATION_NOTE}{port}", ""),
        )
        found.append(lease)
    return tuple(found)


def listener_ports(gateway: Mapping[str, Any]) -> set[int]:
    """The ports at which a Gateway listens."""
    return {int(one["port"]) for one in _listeners(gateway) if one.get("port")}


def taken_ports(gateway: Mapping[str, Any]) -> set[int]:
    """The ports that a listener or an annotation has, whoever has written it."""
    owners = _noted(gateway, OWNER_NOTE)
    taken = listener_ports(gateway) | owners.keys() | _noted(gateway, ALLOCATION_NOTE).keys()
    return taken - {port for port, owner in owners.items() if owner == SPARE}


def is_unclaimed(gateway: Mapping[str, Any], port: int) -> bool:
    """Whether a port has no annotation, and no listener but one with the name of a lease's."""
    if port in _noted(gateway, OWNER_NOTE) or port in _noted(gateway, ALLOCATION_NOTE):
        return False
    names = {one.get("name") for one in _listeners(gateway) if one.get("port") == port}
    return names == {listener_name(port)}


def with_lease(gateway: Json, lease: Lease) -> Json:
    """The Gateway with the listener and the annotations of a lease."""
    changed = copy.deepcopy(gateway)
    notes = {**_notes(changed)}
    parts = (lease.cluster_id, lease.container_id, lease.container_port, lease.namespace)
    notes[f"{ALLOCATION_NOTE}{lease.port}"] = lease.allocation_id
    notes[f"{OWNER_NOTE}{lease.port}"] = "/".join(map(str, (*parts, lease.route)))
    spares = {port for port, owner in _noted(changed, OWNER_NOTE).items() if owner == SPARE}
    for port in spares - {lease.port}:
        del notes[f"{OWNER_NOTE}{port}"]
    replaced = {listener_name(port) for port in {*spares, lease.port}}
    others = [one for one in _listeners(changed) if one.get("name") not in replaced]
    changed["metadata"]["annotations"] = notes
    changed.setdefault("spec", {})["listeners"] = [*others, _listener(lease)]
    return changed


def without_lease(gateway: Json, port: int) -> Json:
    """The Gateway without the listener and the annotations of a port.

    Its last listener stays as a spare one: the API server refuses a Gateway without listeners.
    """
    changed = copy.deepcopy(gateway)
    notes = {**_notes(changed)}
    for key in (f"{ALLOCATION_NOTE}{port}", f"{OWNER_NOTE}{port}"):
        notes.pop(key, None)
    left = [one for one in _listeners(changed) if one.get("name") != listener_name(port)]
    if left:
        changed["spec"]["listeners"] = left
    elif _listeners(changed):
        notes[f"{OWNER_NOTE}{port}"] = SPARE
    changed["metadata"]["annotations"] = notes
    return changed


def listener_name(port: int) -> str:
    """The name of a port's listener."""
    return f"det-{port}"


def is_port(text: str) -> bool:
    """Whether a text is the number of a port."""
    return text.isascii() and text.isdecimal() and len(text) <= 5 and 0 < int(text) < 65536


def _listener(lease: Lease) -> Json:
    """The listener of a lease. It takes routes of the task's namespace alone.

    A tenant of another namespace cannot attach its own route to the port of a task.
    """
    return {
        "name": listener_name(lease.port),
        "protocol": "TCP",
        "port": lease.port,
        "allowedRoutes": {
            "kinds": [{"group": "gateway.networking.k8s.io", "kind": "TCPRoute"}],
            "namespaces": {
                "from": "Selector",
                "selector": {"matchLabels": {_NAMESPACE_LABEL: lease.namespace}},
            },
        },
    }


def _listeners(gateway: Mapping[str, Any]) -> list[Json]:
    return list((gateway.get("spec") or {}).get("listeners") or ())


def _notes(gateway: Mapping[str, Any]) -> Mapping[str, str]:
    return (gateway.get("metadata") or {}).get("annotations") or {}


def _noted(gateway: Mapping[str, Any], prefix: str) -> dict[int, str]:
    """The values of the annotations with such a key, by port."""
    keys = (key.removeprefix(prefix) for key in _notes(gateway) if key.startswith(prefix))
    return {int(key): str(_notes(gateway)[f"{prefix}{key}"]) for key in keys if is_port(key)}

"""The pods whose ports a Gateway leads to: ordered ones, existing ones, and whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.state import Observed
from determined_master.domain.pods.gateway_listeners import Lease
from determined_master.domain.pods.gateway_ports import PodPorts
from determined_master.ports.orders import StartOrder


class Held(msgspec.Struct, frozen=True):
    """A container whose pod is about to be created."""

    since_s: float
    """By the monotonic clock."""
    user: str


def user_of(order: StartOrder) -> str:
    """The user of an order, as the label of its pod names them."""
    return "" if order.pod is None else names.label_value(order.pod.username)


def wanted_ports(order: StartOrder, options: ClusterOptions) -> PodPorts | None:
    """The ports that the pod of an order needs; None for none."""
    terms, ports = order.pod, () if order.pod is None else order.pod.proxy_ports
    if terms is None or not ports or terms.rank != 0:
        return None
    name = names.object_name(options.cluster_id, order.spec.description, order.container_id)
    return PodPorts(
        cluster_id=options.cluster_id,
        allocation_id=order.allocation_id,
        container_id=order.container_id,
        namespace=terms.namespace or options.default_namespace,
        routes=names.route_names(name, set(ports)),
    )


def pod_ports(pod: Observed, cluster_id: str) -> PodPorts:
    """The ports of an existing pod."""
    return PodPorts(
        cluster_id=cluster_id,
        allocation_id=pod.report.allocation_id,
        container_id=pod.report.container_id,
        namespace=pod.namespace,
        routes=names.route_names(pod.name, pod.gateway_ports),
        leased=pod.gateway_ports,
    )


def holders(
    leases: Iterable[Lease], pods: Iterable[Observed], held: Mapping[str, Held]
) -> dict[int, str]:
    """The user of each port that a master has leased; empty where nobody knows."""
    users = {container_id: one.user for container_id, one in held.items()}
    users_by_port = {}
    for pod in pods:
        users[pod.report.container_id] = pod.user
        users_by_port.update(dict.fromkeys(pod.gateway_ports.values(), pod.user))
    return {**{one.port: users.get(one.container_id, "") for one in leases}, **users_by_port}

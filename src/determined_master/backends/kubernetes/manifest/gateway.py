"""The Services and TCPRoutes by which a Gateway leads to ports of a pod. PURE.

Source: helm-and-kubernetes 17, and the Gateway API (`TCPRoute`, `v1alpha2`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.options import Gateway
from determined_master.domain.pods.gateway_listeners import listener_name
from determined_master.domain.pods.gateway_ports import ports_text

Json = dict[str, Any]

ROUTES = "/apis/gateway.networking.k8s.io/v1alpha2"
SERVICES = "/api/v1"


def routes_of(
    metadata: Json, leased: Mapping[int, int], gateway: Gateway | None
) -> tuple[Json, ...]:
    """A Service and a TCPRoute for each port of a pod that a Gateway leads to.

    Args:
        metadata: name, namespace, labels and annotations of the pod.
        leased: by port of the pod, the port of the Gateway.
        gateway: None where there is none.
    """
    if gateway is None:
        return ()
    routes = []
    for port, name in names.route_names(metadata["name"], leased).items():
        own = {
            **metadata,
            "name": name,
            "annotations": {f"{names.PREFIX}job-name": metadata["name"]},
        }
        routes += [_service(own, port), _route(own, port, leased[port], gateway)]
    return tuple(routes)


def ports_note(leased: Mapping[int, int], gateway: Gateway | None) -> dict[str, str]:
    """The annotation with a pod's leases; an empty one, too, takes the place of a user's own."""
    return {} if gateway is None else {names.GATEWAY_PORTS: ports_text(leased)}


def path_of(item: Json, namespace: str) -> str:
    """Where an object of `routes_of` is created."""
    base, kind = (SERVICES, "services") if item["kind"] == "Service" else (ROUTES, "tcproutes")
    return f"{base}/namespaces/{namespace}/{kind}"


def _service(metadata: Json, port: int) -> Json:
    """It selects the one pod, and leads to it as soon as its program listens."""
    selected = (names.CLUSTER, names.CONTAINER_ID)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": "ClusterIP",
            "selector": {key: metadata["labels"][key] for key in selected},
            "ports": [{"name": "task", "protocol": "TCP", "port": port, "targetPort": port}],
            "publishNotReadyAddresses": True,
        },
    }


def _route(metadata: Json, port: int, leased: int, gateway: Gateway) -> Json:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1alpha2",
        "kind": "TCPRoute",
        "metadata": metadata,
        "spec": {
            "parentRefs": [
                {
                    "group": "gateway.networking.k8s.io",
                    "kind": "Gateway",
                    "namespace": gateway.namespace,
                    "name": gateway.name,
                    "sectionName": listener_name(leased),
                }
            ],
            "rules": [{"backendRefs": [{"name": metadata["name"], "port": port}]}],
        },
    }

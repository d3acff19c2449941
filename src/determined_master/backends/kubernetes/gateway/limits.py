"""How many listeners the definition of a Gateway allows."""

from __future__ import annotations

from typing import Any

from determined_master.backends.kubernetes.client import (
    Json,
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.domain.pods.gateway_shares import MAX_LISTENERS

SCHEMA = "/openapi/v3/apis/gateway.networking.k8s.io/v1"
"""Every account may read it; Kubernetes has it from 1.24 on."""


async def most_listeners(api: KubernetesApi) -> int:
    """The `maxItems` of a Gateway's listeners; that of the published one where it is not read."""
    try:
        return _most_of(await api.call("GET", SCHEMA))
    except (KubernetesRefused, KubernetesUnreachable):
        return MAX_LISTENERS


def _most_of(document: Json) -> int:
    for schema in _part(document, "components", "schemas").values():
        kinds = schema.get("x-kubernetes-group-version-kind") or ()
        if any(one.get("kind") == "Gateway" for one in kinds):
            listeners = _part(schema, "properties", "spec", "properties", "listeners")
            return int(listeners.get("maxItems") or MAX_LISTENERS)
    return MAX_LISTENERS


def _part(document: Json, *keys: str) -> dict[str, Any]:
    for key in keys:
        document = document.get(key) or {}
    return document

"""What an API server checks of new objects: names, labels, sizes, priority classes."""

from __future__ import annotations

import base64
import re

from tests.fake_kubernetes.store import Json, Store

MAX_SECRET_BYTES = 1 << 20
MAX_LISTENERS = 64
_SERVICE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")


def invalid(kind: str, item: Json) -> str:
    """Why an object is malformed; empty when it is not. The server answers 422."""
    meta = item["metadata"]
    name, most = meta["name"], 63 if kind == "namespaces" else 253
    if len(name) > most or not _SUBDOMAIN.fullmatch(name):
        return f'{kind} "{name}" is invalid: metadata.name: must be no more than {most} characters'
    for key, value in (meta.get("labels") or {}).items():
        if len(value) > 63 or not _LABEL.fullmatch(value):
            return f'{kind} "{name}" is invalid: metadata.labels: Invalid value: "{value}" ({key})'
    if kind == "services" and (len(name) > 63 or not _SERVICE.fullmatch(name)):
        return f'{kind} "{name}" is invalid: metadata.name: a DNS-1035 label must start with a-z'
    if kind == "resourceclaims":
        return _invalid_requests(item)
    if kind == "gateways":
        return _invalid_listeners(item)
    if kind == "secrets":
        size = sum(len(base64.b64decode(v)) for v in (item.get("data") or {}).values())
        if size > MAX_SECRET_BYTES:
            most = MAX_SECRET_BYTES
            return f'{kind} "{name}" is invalid: data: Too long: must have at most {most} bytes'
    return ""


def _invalid_requests(item: Json) -> str:
    """As the validation of `resource.k8s.io`, whose first beta version has no `exactly`."""
    name, version = item["metadata"]["name"], item.get("apiVersion", "resource.k8s.io/v1")
    for request in item["spec"]["devices"]["requests"]:
        exact = request if version == "resource.k8s.io/v1beta1" else request.get("exactly")
        if not exact or not exact.get("deviceClassName"):
            where = "spec.devices.requests[0]"
            return f'ResourceClaim "{name}" is invalid: {where}: Required value: exactly one of'
    return ""


def _invalid_listeners(item: Json) -> str:
    """As the schema of the Gateway API."""
    listeners = (item.get("spec") or {}).get("listeners") or []
    where = f'Gateway "{item["metadata"]["name"]}" is invalid: spec.listeners:'
    if not 0 < len(listeners) <= MAX_LISTENERS:
        return f"{where} must have 1 to {MAX_LISTENERS} items, not {len(listeners)}"
    if len({one["name"] for one in listeners}) < len(listeners):
        return f"{where} Listener name must be unique within the Gateway"
    if len({(one["protocol"], one["port"]) for one in listeners}) < len(listeners):
        return f"{where} Combination of port, protocol and hostname must be unique"
    return ""


def unknown_class(store: Store, item: Json) -> str:
    """Why a pod's priority class keeps it out; empty when it does not. The server answers 403."""
    wanted = item["spec"].get("priorityClassName")
    if not wanted or wanted.startswith("system-"):
        return ""
    if store.find("priorityclasses", "", wanted) is not None:
        return ""
    name = item["metadata"]["name"]
    return f'pods "{name}" is forbidden: no PriorityClass with name {wanted} was found'

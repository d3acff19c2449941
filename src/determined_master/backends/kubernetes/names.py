"""Names, labels and annotations of a master's objects. PURE.

Source: helm-and-kubernetes 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ALLOCATION = "determined"
"""Label of every object of an allocation; its value is the allocation's id."""
PREFIX = "determined.ai/"
CLUSTER = f"{PREFIX}cluster_id"
"""Label of every object of one master: several may share a Kubernetes cluster."""
CONTAINER_ID = f"{PREFIX}container_id"
ALLOCATION_ID = f"{PREFIX}allocation_id"
TASK_ID = f"{PREFIX}task_id"
USER = f"{PREFIX}user"
SLOT_IDS = f"{PREFIX}slot_ids"
"""Annotation: numbers of the node's slots, separated by commas."""
NODE = f"{PREFIX}node"
"""Annotation: the node that the pod was planned for."""
GATEWAY_PORTS = f"{PREFIX}gateway_ports"
"""Annotation: ports of the task, and the ports of the Gateway that lead to them."""
MAIN = "determined-container"
INIT = "determined-init-container"

_MAX_LABEL = 63
_MAX_NAME = 63
"""A pod's name is also its host name."""
_NAME_TAIL = 12
"""Characters of a container's id at the end of a pod's name, by which it differs from others."""


def object_name(cluster_id: str, description: str, container_id: str) -> str:
    """The name of a container's pod and of its Secret; always the same for the same container."""
    tail = container_id.replace("-", "")[:_NAME_TAIL]
    head = f"det-{cluster_id[:8]}-{description}".lower()
    head = re.sub(r"[^a-z0-9-]+", "-", head)[: _MAX_NAME - len(tail) - 1].strip("-")
    return f"{head}-{tail}"


def pull_secret_name(name: str) -> str:
    """The name of the Secret with the password of a registry, of a pod's name."""
    return f"{name}-pull"


def slots_claim_name(name: str) -> str:
    """The name of the claim for the devices of a pod's slots, of the pod's name."""
    return f"{name}-slots"


def route_names(name: str, ports: Iterable[int]) -> dict[int, str]:
    """The names of the Service and the TCPRoute of each port of a pod, of the pod's name."""
    names_by_port = {}
    for number, port in enumerate(sorted(ports)):
        tail = f"{name[-_NAME_TAIL:]}-{number}"
        names_by_port[port] = f"{name[:-_NAME_TAIL][: _MAX_NAME - len(tail)]}{tail}"
    return names_by_port


def label_value(text: str) -> str:
    """A text in the form that labels allow."""
    replaced = re.sub(r"[^A-Za-z0-9._-]", "_", text)
    cut = re.sub(r"^[^A-Za-z0-9]+", "", replaced)[:_MAX_LABEL]
    trimmed = re.sub(r"[^A-Za-z0-9]+$", "", cut)
    return trimmed if trimmed or not text else "invalid_value"


def slot_ids_text(slot_ids: tuple[int, ...]) -> str:
    """The text of the annotation."""
    return ",".join(map(str, slot_ids))


def slot_ids_of(text: str) -> tuple[int, ...]:
    """Parse the annotation; values that are not numbers are left out."""
    return tuple(int(part) for part in text.split(",") if part.isdigit())

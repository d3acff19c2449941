"""The requests of pods that are not this master's: sums by node, kept up to date pod by pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.domain.pods.needs import requested
from determined_master.domain.pods.quantities import Amounts

Json = Mapping[str, Any]

SYSTEM = "determined-system"
"""Label of the master's and its database's pods, which reduce the CPU slots of their node."""
NOTHING = Decimal(0)


class PodUsage(msgspec.Struct, frozen=True):
    """What one pod requests."""

    uid: str
    node: str
    """Empty for a pod that has no node, or has ended."""
    requests: Amounts
    is_system: bool = False


@dataclass
class _Sums:
    requests: dict[str, Decimal] = field(default_factory=dict)
    system_cpu: Decimal = NOTHING


def usage_of(pod: Json) -> PodUsage:
    """The usage of a pod as the API server describes it."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    has_ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    node = "" if has_ended else str(spec.get("nodeName") or "")
    return PodUsage(
        uid=str(meta.get("uid") or meta.get("name")),
        node=node,
        requests={**requested(spec), "pods": Decimal(1)} if node else {},
        is_system=SYSTEM in (meta.get("labels") or {}),
    )


class ForeignPods:
    """Each change costs as much as the pod that changes, however many others there are."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._pods: dict[str, PodUsage] = {}
        self._nodes: dict[str, _Sums] = {}

    def uids(self) -> set[str]:
        """All pods that are known."""
        return set(self._pods)

    def put(self, pod: PodUsage) -> frozenset[str]:
        """A pod is new or has changed; the nodes whose usage is another now."""
        before = self._pods.get(pod.uid)
        if before == pod:
            return frozenset()
        nodes = self.remove(pod.uid)
        self._add(pod)
        return nodes | {pod.node} if pod.node else nodes

    def remove(self, uid: str) -> frozenset[str]:
        """A pod is gone; its node, if it had one."""
        gone = self._pods.pop(uid, None)
        if gone is None or not gone.node:
            return frozenset()
        sums = self._nodes[gone.node]
        for resource, amount in gone.requests.items():
            sums.requests[resource] -= amount
        if gone.is_system:
            sums.system_cpu -= gone.requests.get("cpu", NOTHING)
        return frozenset((gone.node,))

    def requests(self, node: str) -> Amounts:
        """The requests of all pods of others on a node."""
        sums = self._nodes.get(node)
        return {} if sums is None else {r: n for r, n in sums.requests.items() if n}

    def system_cpu(self, node: str) -> Decimal:
        """CPUs that the platform's own pods request on a node."""
        sums = self._nodes.get(node)
        return NOTHING if sums is None else sums.system_cpu

    def slots(self, node: str) -> Decimal:
        """Slots, or fractions, that others use on a node.

        The platform's own pods reduce the CPU slots that the node has, so they use none.
        """
        sums = self._nodes.get(node)
        if sums is None:
            return NOTHING
        if self._options.slot_type == "cpu":
            cpu = sums.requests.get("cpu", NOTHING) - sums.system_cpu
            return cpu / Decimal(str(self._options.cpu_per_slot))
        return sums.requests.get(self._options.device_resource, NOTHING)

    def _add(self, pod: PodUsage) -> None:
        self._pods[pod.uid] = pod
        if not pod.node:
            return
        sums = self._nodes.setdefault(pod.node, _Sums())
        for resource, amount in pod.requests.items():
            sums.requests[resource] = sums.requests.get(resource, NOTHING) + amount
        if pod.is_system:
            sums.system_cpu += pod.requests.get("cpu", NOTHING)

"""Nodes as agents: their slots, their pools, and the resources used by others. PURE.

Source: helm-and-kubernetes 5, 10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.backends.kubernetes.options import (
    ClusterOptions,
    PoolPods,
)
from determined_master.domain.pods.devices.counts import NONE, NodeCount
from determined_master.domain.pods.quantities import Amounts, quantity
from determined_master.domain.pods.selection import matches, tolerates
from determined_master.domain.task.pod_keys import camel
from determined_wire.agent_link import Device

Json = Mapping[str, Any]

ALWAYS_TOLERATED = frozenset({"DeletionCandidateOfClusterAutoscaler"})
GPU_TAINTS = frozenset({"nvidia.com/gpu", "amd.com/gpu"})


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    pools: tuple[str, ...]
    """The pools that it serves, in the order of the settings."""
    devices: tuple[Device, ...]
    address: str
    version: str
    is_ready: bool
    is_cordoned: bool
    created_at: str


def view(
    node: Json, system_cpu: Decimal, options: ClusterOptions, devices: NodeCount = NONE
) -> NodeView:
    """A node as the API server describes it.

    Args:
        node: the object.
        system_cpu: CPUs that pods of the platform itself ask for there.
        options: the definition of a slot, and the pools.
        devices: there, of the class whose devices are slots.
    """
    meta, status = node.get("metadata") or {}, node.get("status") or {}
    name = str(meta.get("name"))
    slots = devices.slots if options.device_class else slots_of(node, system_cpu, options)
    brand = {"cpu": "CPU", "cuda": "NVIDIA GPU", "rocm": "AMD GPU"}[options.slot_type]
    if len(devices.products) == 1:
        brand = next(iter(devices.products)) or brand
    has_gpus = slots > 0 and options.slot_type != "cpu"
    return NodeView(
        name=name,
        pools=tuple(
            pool.name
            for pool in options.pools
            if serves(node, pool, has_gpus=has_gpus, is_only=len(options.pools) == 1)
        ),
        devices=tuple(
            Device(id=n, brand=brand, uuid=f"{name}/{n}", type=options.slot_type)
            for n in range(slots)
        ),
        address=_address(status),
        version=str((status.get("nodeInfo") or {}).get("kubeletVersion") or ""),
        is_ready=_is_ready(status),
        is_cordoned=bool((node.get("spec") or {}).get("unschedulable"))
        or disabling_label(options.cluster_id) in (meta.get("labels") or {}),
        created_at=str(meta.get("creationTimestamp") or ""),
    )


def disabling_label(cluster_id: str) -> str:
    """The label of a node on which a master starts nothing."""
    return f"determined.ai/cluster-id-{cluster_id}"


def slots_of(node: Json, system_cpu: Decimal, options: ClusterOptions) -> int:
    """Whole slots that the node offers to tasks."""
    offered = (node.get("status") or {}).get("allocatable") or {}
    if options.slot_type != "cpu":
        return int(quantity(offered.get(options.device_resource, "0")))
    free = quantity(offered.get("cpu", "0")) - system_cpu
    return max(0, math.floor(free / Decimal(str(options.cpu_per_slot))))


def slot_requests(options: ClusterOptions) -> Amounts:
    """The amount of its resource that one slot takes; nothing where a claim brings it."""
    if options.device_class:
        return {}
    if options.slot_type == "cpu":
        return {"cpu": Decimal(str(options.cpu_per_slot))}
    return {options.device_resource: Decimal(1)}


def replaced_resources(options: ClusterOptions) -> frozenset[str]:
    """The resources of a device plugin that a claim replaces in the task's container."""
    return frozenset((options.device_resource,)) if options.device_class else frozenset()


def taken_slots(devices: int, own: Sequence[int], foreign: Decimal) -> frozenset[int]:
    """The slots that stand for usage by others: free numbers from the end."""
    count = min(math.ceil(foreign), devices)
    busy = set(own)
    free = [n for n in reversed(range(devices)) if n not in busy]
    return frozenset(free[:count])


def serves(node: Json, pool: PoolPods, *, has_gpus: bool, is_only: bool = False) -> bool:
    """Whether pods of a pool may run on a node, according to its pod specs."""
    pod_spec = pool.gpu_pod_spec if has_gpus else pool.cpu_pod_spec
    spec = (camel(pod_spec or {}).get("spec")) or {}
    tolerations = spec.get("tolerations") or []
    tolerated = GPU_TAINTS if is_only and not pod_spec else frozenset()
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint.get("effect") == "PreferNoSchedule" or taint.get("key") in ALWAYS_TOLERATED:
            continue
        if str(taint.get("key")).startswith("node.kubernetes.io/"):
            continue  # not ready, unreachable, cordoned: temporary states
        if taint.get("key") in tolerated or any(tolerates(t, taint) for t in tolerations):
            continue
        return False
    labels = (node.get("metadata") or {}).get("labels") or {}
    selector = spec.get("nodeSelector") or {}
    if any(labels.get(k) not in str(v).split(",") for k, v in selector.items()):
        return False
    return _matches_affinity(spec.get("affinity") or {}, node)


def _matches_affinity(affinity: Json, node: Json) -> bool:
    near = affinity.get("nodeAffinity") or {}
    required = near.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or []
    meta = node.get("metadata") or {}
    return not terms or matches(terms, meta.get("labels") or {}, str(meta.get("name")))


def _address(status: Json) -> str:
    by_type = {a.get("type"): str(a.get("address")) for a in status.get("addresses") or ()}
    return by_type.get("InternalIP") or by_type.get("ExternalIP") or by_type.get("Hostname") or ""


def _is_ready(status: Json) -> bool:
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
    return conditions.get("Ready") == "True"

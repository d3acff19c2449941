"""Builders of what the backend is given, and of what Kubernetes tells."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.demand.nodes import NodeDemand, node_demand
from determined_master.backends.kubernetes.manifest.objects import Objects, build
from determined_master.backends.kubernetes.manifest.pod import Extras
from determined_master.backends.kubernetes.node_cache import NodeCache
from determined_master.backends.kubernetes.options import (
    ClusterOptions,
    MasterAddress,
    PoolPods,
)
from determined_master.backends.kubernetes.pods.known import KnownPods
from determined_master.backends.kubernetes.priority_classes import PriorityClasses
from determined_master.entropy import new_uuid
from determined_master.ports.orders import PodTerms, StartOrder
from determined_wire.agent_link import ContainerSpec

KUBECONFIG = os.environ.get("DET_TEST_KUBECONFIG", "")
"""Of a real cluster; empty without one."""
CLUSTER_ID = "01234567-89ab-4def-8123-456789abcdef"
CONTAINER = "c0ffee00-1111-4222-8333-444455556666"
ALLOCATION = "7.0aa00000-0000-4000-8000-000000000000.1"
AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
Json = dict[str, Any]


def options(**more: Any) -> ClusterOptions:
    given: dict[str, Any] = {
        "cluster_id": CLUSTER_ID,
        "master": MasterAddress(host="10.0.0.1"),
        "pools": (PoolPods(name="default"),),
        "slot_type": "cpu",
    }
    return ClusterOptions(**{**given, **more})


def cluster_options(kubeconfig: str, address: str, port: int) -> ClusterOptions:
    """Of a master of its own, whose pods get the harness at that address."""
    return options(
        cluster_id=str(new_uuid()),
        kubeconfig_path=kubeconfig,
        master=MasterAddress(host=address, port=port),
        cpu_per_slot=0.1,
    )


def demand_of(
    given: ClusterOptions, api: Any, nodes: NodeCache | None = None, pods: KnownPods | None = None
) -> NodeDemand:
    """How that cluster is asked for nodes; `api` answers its calls."""
    classes = PriorityClasses(api, given.cluster_id)
    return node_demand(given, api, nodes or NodeCache(given), pods or KnownPods(), classes)


def spec(**more: Any) -> ContainerSpec:
    given: dict[str, Any] = {
        "task_id": ALLOCATION.rpartition(".")[0],
        "task_type": "TRIAL",
        "description": "exp-7-trial-8-attempt-1",
        "entrypoint": ("python3", "-m", "determined.exec.entry", "trial"),
        "environment": {"DET_SESSION_TOKEN": "s3cret", "MATH": "$(X)"},
        "work_dir": "/run/determined/workdir",
        "image": "lab/train:1",
        "ports": (1734,),
    }
    return ContainerSpec(**{**given, **more})


def order(slots: int = 1, **more: Any) -> StartOrder:
    given: dict[str, Any] = {
        "agent_id": "node-a",
        "container_id": CONTAINER,
        "allocation_id": ALLOCATION,
        "slot_ids": tuple(range(slots)),
        "spec": spec(),
        "pod": PodTerms(pool="default", username="ann", workspace="The Lab!"),
    }
    return StartOrder(**{**given, **more})


def built(slots: int = 1, given: ClusterOptions | None = None, **more: Any) -> Objects:
    extras = Extras("print()", "determined-priority-50")
    return build(order(slots, **more), given or options(), extras)


def main_of(pod: Json) -> Json:
    found: Json = next(c for c in pod["spec"]["containers"] if c["name"] == names.MAIN)
    return found


def pod(node: str | None = "node-a", **status: Any) -> Json:
    """A pod of ours as the API server tells it."""
    made = built().pod
    made["metadata"].update(uid="u-1", creationTimestamp=AT.isoformat())
    if node:
        made["spec"]["nodeName"] = node
    return {**made, "status": {"phase": "Pending", **status}}


def main_state(**state: Any) -> Json:
    """`containerStatuses` in which the task's container has this state."""
    return {"containerStatuses": [{"name": names.MAIN, "image": "lab/train:1", "state": state}]}


def node(name: str = "node-a", **more: Any) -> Json:
    """A node as the API server tells it."""
    status = {
        "allocatable": {"cpu": "4", "nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [
            {"type": "Hostname", "address": name},
            {"type": "InternalIP", "address": "10.1.0.9"},
        ],
        "nodeInfo": {"kubeletVersion": "v1.30.0"},
        **more.pop("status", {}),
    }
    labels = more.pop("labels", {})
    meta = {"name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": meta, "spec": more, "status": status}

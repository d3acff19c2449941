"""The pod that stands for a waiting pod of a task until a node has room for it. PURE."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import Any

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.layers import split_user_pod, without_nodes
from determined_master.backends.kubernetes.manifest.pod import (
    device_tolerations,
    resources_of,
)
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.domain.pods.placement import NodeFacts
from determined_master.domain.task.pod_keys import camel
from determined_master.domain.task.pod_types import wrong_types
from determined_master.ports.kubernetes import NodeRequest

Json = dict[str, Any]

DEMAND = f"{names.PREFIX}demand"
"""Label of every placeholder, and annotation with the allocation that waits."""
PRIORITY_CLASS = "determined-demand"
"""Begin of the name of a cluster's class, which ends with its id."""
PRIORITY = -10
"""The least priority of pods for which Cluster Autoscaler adds nodes by default."""
_PLACING = (
    "nodeSelector",
    "affinity",
    "topologySpreadConstraints",
    "schedulerName",
    "runtimeClassName",
)
"""Fields of a pod that choose its nodes."""
_UNPRIVILEGED = {
    "runAsNonRoot": True,
    "runAsUser": 65535,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""As the strictest of Kubernetes' Pod Security Standards asks for it."""
MAY_GO = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
MUST_STAY = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "karpenter.sh/do-not-disrupt": "true",
}
"""Annotations by which autoscalers leave the node of a running task alone."""


def readable(requests: Iterable[NodeRequest]) -> tuple[NodeRequest, ...]:
    """The requests of tasks that can have pods; others fail with the reason when they start.

    One of a wrong type, of a configuration from before types were checked, delays no other task.
    """
    return tuple(r for r in requests if not any(wrong_types(camel(r.pod_spec or {}))))


def priority_class(options: ClusterOptions) -> str:
    """The class of a cluster's placeholders; other masters have their own."""
    return f"{PRIORITY_CLASS}-{options.cluster_id}"


def place_of(request: NodeRequest, number: int, options: ClusterOptions) -> tuple[str, str]:
    """Namespace and name of a placeholder; always the same for the same pod.

    Args:
        request: of the task.
        number: of the pod among those of the task, from 0.
        options: of the cluster.
    """
    tail = hashlib.sha256(f"{request.allocation_id} {number}".encode()).hexdigest()[:12]
    name = f"det-{options.cluster_id[:8]}-demand-{tail}"
    return request.namespace or options.default_namespace, name


def placeholder(
    request: NodeRequest,
    number: int,
    options: ClusterOptions,
    avoided: Collection[NodeFacts] = (),
) -> Json:
    """A pod with the needs of one pod of a waiting task.

    Args:
        request: of the task.
        number: of the pod among those of the task, from 0.
        options: of the cluster.
        avoided: nodes that have room, but not for the task: there the placeholder would take the
            room from other tasks, and no autoscaler would see it.
    """
    namespace, name = place_of(request, number, options)
    spec = shape(request, request.slots[number], options)
    affinity = without_nodes(spec.get("affinity"), avoided)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {names.CLUSTER: options.cluster_id, DEMAND: "true"},
            "annotations": {**MAY_GO, DEMAND: request.allocation_id},
        },
        "spec": {
            **spec,
            **({"affinity": affinity} if affinity else {}),
            "priorityClassName": priority_class(options),
        },
    }


def shape(request: NodeRequest, slots: int, options: ClusterOptions) -> Json:
    """The pod specification by which a node is found for one pod of a waiting task.

    It has the resources, selectors and tolerations of the pod, and runs nothing.

    Args:
        request: of the task.
        slots: of the pod.
        options: of the cluster.
    """
    scaling = options.autoscaling
    assert scaling is not None
    own = split_user_pod(request.pod_spec)
    asked = [resources_of(slots, options, own.main.get("resources") or {})]
    asked += [sidecar["resources"] for sidecar in own.sidecars if sidecar.get("resources")]
    asked = [{k: v for k, v in one.items() if k != "claims"} for one in asked]
    containers = [
        {
            "name": f"placeholder-{n}",
            "image": scaling.image,
            "imagePullPolicy": "IfNotPresent",
            "resources": resources,
            "securityContext": _UNPRIVILEGED,
        }
        for n, resources in enumerate(asked)
    ]
    tolerations = [*(own.spec.get("tolerations") or []), *device_tolerations(slots, options)]
    spec = {
        **{key: own.spec[key] for key in _PLACING if key in own.spec},
        **({"tolerations": tolerations} if tolerations else {}),
        "containers": containers,
        "terminationGracePeriodSeconds": 0,
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
    }
    if options.default_scheduler:
        spec.setdefault("schedulerName", options.default_scheduler)
    if own.spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = own.spec["imagePullSecrets"]
    return spec

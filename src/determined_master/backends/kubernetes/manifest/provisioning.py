"""The objects that ask Cluster Autoscaler for all nodes of a waiting task. PURE.

Source: Kubernetes' `autoscaling.x-k8s.io/v1`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.placeholder import DEMAND, MAY_GO, shape
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.ports.kubernetes import NodeRequest

Json = dict[str, Any]

GROUP = "/apis/autoscaling.x-k8s.io/v1"
ATTEMPT = f"{names.PREFIX}attempt"
"""Annotation: the number of the request among those of its task, from 1."""


class Provisioning(msgspec.Struct, frozen=True):
    """The objects of one request."""

    templates: tuple[Json, ...]
    """One PodTemplate for each number of slots of a pod."""
    request: Json

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name, without the number of the attempt."""
        meta = self.request["metadata"]
        return str(meta["namespace"]), str(meta["name"]).rpartition("-")[0]


def provisioning(request: NodeRequest, attempt: int, options: ClusterOptions) -> Provisioning:
    """The objects that ask for all nodes of a task or for none.

    Their names are always the same for the same pods and attempt, so that they are made once.

    Args:
        request: of the task.
        attempt: the number of the request among those of the task, from 1.
        options: of the cluster.
    """
    assert options.autoscaling is not None
    counts = dict(sorted(Counter(request.slots).items(), reverse=True))
    specs = {slots: shape(request, slots, options) for slots in counts}
    made_of = json.dumps([request.allocation_id, counts, specs], sort_keys=True)
    tail = hashlib.sha256(made_of.encode()).hexdigest()[:12]
    name = f"det-{options.cluster_id[:8]}-demand-{tail}-{attempt}"
    namespace = request.namespace or options.default_namespace

    def metadata(of: str) -> Json:
        return {
            "name": of,
            "namespace": namespace,
            "labels": {names.CLUSTER: options.cluster_id, DEMAND: "true"},
            "annotations": {DEMAND: request.allocation_id, ATTEMPT: str(attempt)},
        }

    template_names = {slots: f"{name}-{slots}" for slots in counts}
    templates = tuple(
        {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": metadata(template_names[slots]),
            "template": {"metadata": {"annotations": dict(MAY_GO)}, "spec": specs[slots]},
        }
        for slots in counts
    )
    pod_sets = [
        {"podTemplateRef": {"name": template_names[slots]}, "count": count}
        for slots, count in counts.items()
    ]
    return Provisioning(
        templates,
        {
            "apiVersion": "autoscaling.x-k8s.io/v1",
            "kind": "ProvisioningRequest",
            "metadata": metadata(name),
            "spec": {
                "provisioningClassName": options.autoscaling.class_name,
                "podSets": pod_sets,
            },
        },
    )

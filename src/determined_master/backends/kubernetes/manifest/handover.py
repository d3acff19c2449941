"""The marks of pods that the cluster's own queue and scheduler place. PURE.

Source: kueue's plain pod groups; the coscheduling plugin of Kubernetes' scheduler-plugins, with
its PodGroup objects and, for its older releases, their labels (helm-and-kubernetes 11).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.layers import UserPod
from determined_master.backends.kubernetes.options import ClusterOptions, Handover
from determined_master.ports.orders import PodTerms, StartOrder

Json = dict[str, Any]

KUEUE = "kueue.x-k8s.io/"
QUEUE_NAME = f"{KUEUE}queue-name"
MANAGED = f"{KUEUE}managed"
"""Label that kueue gives to each pod that it takes."""
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1"
OLD_GROUP = "pod-group.scheduling.sigs.k8s.io/"


def group_name(cluster_id: str, allocation_id: str) -> str:
    """The name of the group of all pods of an allocation, also that of kueue's Workload."""
    tail = hashlib.sha256(allocation_id.encode()).hexdigest()[:12]
    return f"det-{cluster_id[:8]}-gang-{tail}"


def hand_over(pod: Json, own: UserPod, order: StartOrder, options: ClusterOptions) -> None:
    """Let the cluster choose the node of a pod, as one of its group, in place.

    Labels and annotations of kueue are ours whatever the user's pod has: they choose the queue
    and the priority, and show that kueue manages the pod.
    """
    handover = options.handover_of(order.agent_id)
    if handover is None:
        return
    spec, meta = pod["spec"], pod["metadata"]
    spec.pop("affinity", None)
    if own.spec.get("affinity"):
        spec["affinity"] = own.spec["affinity"]
    main = next(c for c in spec["containers"] if c["name"] == names.MAIN)
    node = {"name": "DET_AGENT_ID", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    main["env"] = [*main["env"], node]
    terms = order.pod or PodTerms()
    group = group_name(options.cluster_id, order.allocation_id)
    labels, annotations = _marks(handover, group, terms.pods)
    meta["labels"] = {**_others(meta["labels"]), **labels}
    meta["annotations"] = {**_others(meta["annotations"]), **annotations}


def pod_group(order: StartOrder, namespace: str, options: ClusterOptions) -> Json | None:
    """The PodGroup of an allocation's pods; None where nothing needs one."""
    handover = options.handover_of(order.agent_id)
    if handover is None or handover.kind != "coscheduler":
        return None
    terms = order.pod or PodTerms()
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": group_name(options.cluster_id, order.allocation_id),
            "namespace": namespace,
            "labels": {names.CLUSTER: options.cluster_id},
        },
        "spec": {"minMember": terms.pods},
    }


def _others(marks: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in marks.items() if not key.startswith(KUEUE)}


def _marks(handover: Handover, group: str, pods: int) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations by which pods form a group."""
    if handover.kind == "coscheduler":
        labels = {
            "scheduling.x-k8s.io/pod-group": group,
            f"{OLD_GROUP}name": group,
            f"{OLD_GROUP}min-available": str(pods),
        }
        return labels, {}
    labels = {QUEUE_NAME: handover.queue_name, f"{KUEUE}pod-group-name": group}
    if handover.priority_class:
        labels[f"{KUEUE}priority-class"] = handover.priority_class
    # A gang that has ended stays ended: without that, kueue waits for pods in its place.
    annotations = {
        f"{KUEUE}pod-group-total-count": str(pods),
        f"{KUEUE}retriable-in-group": "false",
    }
    return labels, annotations

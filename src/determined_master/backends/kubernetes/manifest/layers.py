"""Splits a user's `environment.pod_spec` into its parts, and limits a pod's rights. PURE.

The layers (task, pool, cluster) were merged with the configuration; here the result is combined
with the platform's own pod. Source: helm-and-kubernetes 8 to 10.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.domain.checkpoints.access import is_below
from determined_master.domain.config.schema.values import expected
from determined_master.domain.pods.placement import NodeFacts
from determined_master.domain.task.pod_keys import camel
from determined_master.domain.task.pod_types import wrong_types
from determined_wire.agent_link import ContainerSpec, Mount, TaskUser

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
"""Label by which each kubelet names its node."""
_OURS = (
    "containers",
    "initContainers",
    "volumes",
    "hostNetwork",
    "restartPolicy",
    "nodeName",
    "activeDeadlineSeconds",
)
"""Keys of a pod's spec that are handled separately, or ignored."""


class UserPod(msgspec.Struct, frozen=True, kw_only=True):
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: Json
    """The rest of its spec: selectors, tolerations, security context, pull secrets …"""
    main: Json
    """The task's own container."""
    sidecars: list[Json]
    init_containers: list[Json]
    volumes: list[Json]


def split_user_pod(pod: Mapping[str, Any] | None) -> UserPod:
    """A pod of a configuration, in snake case or in camel case.

    Labels and annotations of the platform are left out: it finds its pods by them.

    Raises:
        ValueError: a part has a wrong type.
    """
    own_pod = camel(pod or {})
    for at, noun, value in wrong_types(own_pod):
        raise ValueError(f"environment.pod_spec{at}: {expected(noun, value)}")
    metadata, spec = own_pod.get("metadata") or {}, own_pod.get("spec") or {}
    containers = spec.get("containers") or []
    return UserPod(
        labels=_own_marks(metadata.get("labels")),
        annotations=_own_marks(metadata.get("annotations")),
        spec={key: value for key, value in spec.items() if key not in _OURS and value is not None},
        main=next((c for c in containers if c.get("name") == names.MAIN), {}),
        sidecars=[c for c in containers if c.get("name") != names.MAIN],
        init_containers=list(spec.get("initContainers") or []),
        volumes=list(spec.get("volumes") or []),
    )


def _own_marks(own_marks: Mapping[str, Any] | None) -> dict[str, str]:
    marks = {str(key): str(value) for key, value in (own_marks or {}).items()}
    return {key: value for key, value in marks.items() if not key.startswith(names.PREFIX)}


def with_node(affinity: Mapping[str, Any] | None, node: str) -> Json:
    """A user's affinity, restricted to this node."""
    ours = {"key": "metadata.name", "operator": "In", "values": [node]}
    return _with_conditions(affinity, matchFields=[ours])


def without_nodes(affinity: Mapping[str, Any] | None, nodes: Collection[NodeFacts]) -> Json:
    """A user's affinity, which none of these nodes matches.

    Autoscalers compare labels, and not all of them fields: nodes are named by their label.
    """
    hosts = sorted(node.labels[HOSTNAME] for node in nodes if HOSTNAME in node.labels)
    names = sorted(node.name for node in nodes if HOSTNAME not in node.labels)
    by_label = [{"key": HOSTNAME, "operator": "NotIn", "values": hosts}] if hosts else []
    # A condition on a field takes one value.
    by_field = [{"key": "metadata.name", "operator": "NotIn", "values": [name]} for name in names]
    if not by_label and not by_field:
        return dict(affinity or {})
    return _with_conditions(affinity, matchExpressions=by_label, matchFields=by_field)


def _with_conditions(affinity: Mapping[str, Any] | None, **conditions: list[Json]) -> Json:
    """Terms of a node selector are alternatives, so each of them gets the conditions."""
    merged: Json = dict(affinity or {})
    near: Json = dict(merged.get("nodeAffinity") or {})
    required = near.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [dict(term) for term in required.get("nodeSelectorTerms") or [{}]]
    for term in terms:
        for part, more in conditions.items():
            if more:
                term[part] = [*(term.get(part) or []), *more]
    near["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    merged["nodeAffinity"] = near
    return merged


def without_root(spec: Json, user: TaskUser) -> None:
    """Give no container of a pod's spec root, nor a way to it, in place.

    An image can name any account, so the pod names one. Containers of the admin's pod may have an
    account and privileges of their own; the limits refuse those of users. The rest is admitted by
    Pod Security `restricted`.
    """
    account: Json = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if user.uid:
        account.update(runAsUser=user.uid, runAsGroup=user.gid)
    context = spec.get("securityContext") or {}
    spec["securityContext"] = {**account, **context, "runAsNonRoot": True}
    for part in spec.keys() & {"containers", "initContainers"}:
        spec[part] = [_without_escalation(container) for container in spec[part]]


def _without_escalation(container: Json) -> Json:
    context = container.get("securityContext") or {}
    capabilities = context.get("capabilities") or {}
    added = capabilities.get("add") or ()
    if context.get("privileged") or {"SYS_ADMIN", "CAP_SYS_ADMIN"} & set(added):
        return container  # Kubernetes refuses the combination
    merged = {"allowPrivilegeEscalation": False, **context}
    if context.get("runAsNonRoot") is not False:  # capabilities are of use to root alone
        merged["capabilities"] = {"drop": ["ALL"], **capabilities}
    return {**container, "securityContext": merged}


def host_path_of(mount: Mount, spec: ContainerSpec) -> tuple[str, str]:
    """The directory of the machine that becomes the volume of a mount, and the path below it.

    The kubelet follows links in the path of a volume, but not out of a volume. A user may have
    made the directories below an allowed one, so the allowed one is the volume.
    """
    path = posixpath.normpath(mount.host_path)
    roots = [root for root in spec.host_roots or () if is_below(path, root)]
    if not roots:
        return mount.host_path, ""
    root = min(map(posixpath.normpath, roots), key=len)
    return root, "" if root == path else posixpath.relpath(path, root)

"""Splits a user's `environment.pod_spec` into its parts. PURE.

The layers (task, pool, cluster) were merged with the configuration; here the result is combined
with the platform's own pod. Source: helm-and-kubernetes 8 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.backends.kubernetes import names

Json = dict[str, Any]

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
    """A pod of a configuration, in snake case or in camel case."""
    given = camel(pod or {})
    metadata, spec = given.get("metadata") or {}, given.get("spec") or {}
    containers = spec.get("containers") or []
    return UserPod(
        labels={str(k): str(v) for k, v in (metadata.get("labels") or {}).items()},
        annotations={str(k): str(v) for k, v in (metadata.get("annotations") or {}).items()},
        spec={key: value for key, value in spec.items() if key not in _OURS and value is not None},
        main=next((c for c in containers if c.get("name") == names.MAIN), {}),
        sidecars=[c for c in containers if c.get("name") != names.MAIN],
        init_containers=list(spec.get("initContainers") or []),
        volumes=list(spec.get("volumes") or []),
    )


def with_node(affinity: Mapping[str, Any] | None, node: str) -> Json:
    """A user's affinity, restricted to this node.

    Terms of a node selector are alternatives, so each of them gets the condition.
    """
    found: Json = dict(affinity or {})
    near: Json = dict(found.get("nodeAffinity") or {})
    required = near.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    ours = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = required.get("nodeSelectorTerms") or [{}]
    near["requiredDuringSchedulingIgnoredDuringExecution"] = {
        "nodeSelectorTerms": [
            {**term, "matchFields": [*(term.get("matchFields") or []), ours]} for term in terms
        ]
    }
    found["nodeAffinity"] = near
    return found


_FREE = frozenset(
    ("labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "data")
)
"""Maps with keys that users choose."""


def camel(value: Any) -> Any:
    """The keys of an object as Kubernetes spells them; keys of free maps stay unchanged."""
    if isinstance(value, Mapping):
        return {
            _camel(str(key)): item
            if str(key) in _FREE or _camel(str(key)) in _FREE
            # names that users choose keep their spelling
            else camel(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [camel(item) for item in value]
    return value


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(part.capitalize() for part in others)

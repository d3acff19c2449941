"""The types of a pod spec's parts that the platform merges or reads. PURE.

Kubernetes checks every other part when the pod is created. A part of a wrong type would break the
merge itself, long after the user has submitted it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Shape = Mapping[str, Any] | list[Any] | str
"""The keys of an object that have a type, the one item of a list that stands for all, or the noun
of a plain value."""

_PLAIN: Mapping[str, tuple[type, ...]] = {"string": (str,), "integer": (int,)}
_TEXTS = ["string"]
_SECURITY: Shape = {"capabilities": {"add": _TEXTS, "drop": _TEXTS}}
_RESOURCES: Shape = {"requests": {}, "limits": {}, "claims": [{}]}
_CONTAINER: Shape = {
    "name": "string",
    "command": _TEXTS,
    "args": _TEXTS,
    "env": [{"name": "string"}],
    "envFrom": [{}],
    "ports": [{}],
    "resources": _RESOURCES,
    "securityContext": _SECURITY,
    "volumeDevices": [{}],
    "volumeMounts": [{"name": "string", "mountPath": "string"}],
}
_TERM: Shape = {"matchExpressions": [{}], "matchFields": [{}]}
_NODE_AFFINITY: Shape = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]},
    "preferredDuringSchedulingIgnoredDuringExecution": [{}],
}
_SPEC: Shape = {
    "affinity": {"nodeAffinity": _NODE_AFFINITY, "podAffinity": {}, "podAntiAffinity": {}},
    "containers": [_CONTAINER],
    "ephemeralContainers": [_CONTAINER],
    "hostAliases": [{}],
    "imagePullSecrets": [{}],
    "initContainers": [_CONTAINER],
    "nodeSelector": {},
    "overhead": {},
    "priorityClassName": "string",
    "resourceClaims": [{}],
    "resources": _RESOURCES,
    "schedulerName": "string",
    "securityContext": _SECURITY,
    "serviceAccount": "string",
    "serviceAccountName": "string",
    "terminationGracePeriodSeconds": "integer",
    "tolerations": [{}],
    "topologySpreadConstraints": [{}],
    "volumes": [{"name": "string"}],
}
_POD: Shape = {"metadata": {"labels": {}, "annotations": {}}, "spec": _SPEC}


def wrong_types(pod: Any) -> Iterator[tuple[str, str, Any]]:
    """The parts of a wrong type: path below the pod, the expected noun, and the value.

    Args:
        pod: after `camel`. Null is unset everywhere but in lists.
    """
    yield from _wrong(pod, _POD, "")


def _wrong(value: Any, shape: Shape, at: str) -> Iterator[tuple[str, str, Any]]:
    if value is None:
        return
    if isinstance(shape, str):
        if not isinstance(value, _PLAIN[shape]) or isinstance(value, bool):
            yield at, shape, value
    elif isinstance(shape, list):
        yield from _wrong_items(value, shape[0], at)
    elif not isinstance(value, Mapping):
        yield at, "object", value
    else:
        for key, part in shape.items():
            if key in value:
                yield from _wrong(value[key], part, f"{at}.{key}")


def _wrong_items(value: Any, shape: Shape, at: str) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(value, (list, tuple)):
        yield at, "array", value
        return
    for n, item in enumerate(value):
        if item is None:
            yield f"{at}[{n}]", shape if isinstance(shape, str) else "object", item
        else:
            yield from _wrong(item, shape, f"{at}[{n}]")

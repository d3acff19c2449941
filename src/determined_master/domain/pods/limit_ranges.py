"""LimitRanges of a namespace: the resources that Kubernetes gives to containers without any.

They count for the nodes that a pod fits, and for quotas.

Source: https://kubernetes.io/docs/concepts/policy/limit-range/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from determined_master.domain.pods.quantities import Amounts, quantity

Json = Mapping[str, Any]


class ResourceDefaults(msgspec.Struct, frozen=True):
    """The amounts of a container that names none."""

    requests: Amounts = {}
    limits: Amounts = {}

    def of(self, requests: Amounts, limits: Amounts) -> ResourceDefaults:
        """The amounts of a container after Kubernetes has filled in those that it lacks."""
        return ResourceDefaults({**self.requests, **limits, **requests}, {**self.limits, **limits})


NO_DEFAULTS = ResourceDefaults()


class LimitRangeCache:
    """The defaults of each namespace, as the cluster reports its LimitRanges."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], ResourceDefaults] = {}
        self._by_namespace: dict[str, ResourceDefaults] = {}

    def replace_all(self, items: Iterable[Json]) -> None:
        """All existing LimitRanges: others are deleted."""
        self._known = {_key(item): defaults_of(item) for item in items}
        self._group()

    def put(self, item: Json) -> None:
        """A LimitRange is new or has changed."""
        self._known[_key(item)] = defaults_of(item)
        self._group()

    def remove(self, item: Json) -> None:
        """A LimitRange was removed."""
        self._known.pop(_key(item), None)
        self._group()

    def by_namespace(self) -> Mapping[str, ResourceDefaults]:
        return self._by_namespace

    def _group(self) -> None:
        """Of several LimitRanges of a namespace, Kubernetes applies any first: ours is by name."""
        found: dict[str, ResourceDefaults] = {}
        for (namespace, _), own in sorted(self._known.items(), key=lambda item: item[0]):
            before = found.get(namespace, NO_DEFAULTS)
            requests = {**own.requests, **before.requests}
            found[namespace] = ResourceDefaults(requests, {**own.limits, **before.limits})
        self._by_namespace = found


def defaults_of(item: Json) -> ResourceDefaults:
    """The defaults for containers in a LimitRange, as the API server describes it."""
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for limit in (item.get("spec") or {}).get("limits") or ():
        if limit.get("type") == "Container":
            requests.update(limit.get("defaultRequest") or {})
            limits.update(limit.get("default") or {})
    return ResourceDefaults(
        {str(k): quantity(v) for k, v in requests.items()},
        {str(k): quantity(v) for k, v in limits.items()},
    )


def _key(item: Json) -> tuple[str, str]:
    meta = item.get("metadata") or {}
    return str(meta.get("namespace")), str(meta.get("name"))

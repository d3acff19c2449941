"""The needs of a pod on its node, from its merged pod spec.

The spec is a user's: a part of a wrong type counts as absent, since Kubernetes refuses the pod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import msgspec

from determined_master.domain.pods.limit_ranges import NO_DEFAULTS, ResourceDefaults
from determined_master.domain.pods.quantities import Amounts, greater, quantity, total
from determined_master.domain.task.pod_keys import MAIN_CONTAINER, camel

Json = Mapping[str, Any]
Part = Literal["requests", "limits"]


class PodNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """The demands of one pod of a task on its node, without those of its slots."""

    selector: Mapping[str, str] = {}
    terms: tuple[Json, ...] | None = None
    """Of the required node affinity; None without one."""
    tolerations: tuple[Json, ...] = ()
    requests: Amounts = {}
    limits: Amounts = {}


def needs_of(
    pod_spec: Json | None,
    *,
    without: frozenset[str] = frozenset(),
    defaults: ResourceDefaults = NO_DEFAULTS,
) -> PodNeeds:
    """The needs of a task's pod.

    Args:
        pod_spec: `environment.pod_spec`, all layers merged, in snake case or in camel case.
        without: resources that the platform sets for the task's own container, whatever its pod
            spec says. The pod tolerates taints that are named for such a device.
        defaults: of its namespace, for containers without resources.
    """
    spec = _map(_map(camel(pod_spec or {})).get("spec"))
    before = [_filled(c, defaults) for c in _maps(spec.get("initContainers"))]
    together = _containers(_maps(spec.get("containers")), without, defaults)
    spec = {**spec, "containers": together, "initContainers": before}
    terms = _required_terms(spec)
    devices = [{"key": r, "operator": "Exists"} for r in sorted(without) if "/" in r]
    return PodNeeds(
        selector={str(k): str(v) for k, v in _map(spec.get("nodeSelector")).items()},
        terms=tuple(map(_term, terms)) if terms else None,
        tolerations=(*_maps(spec.get("tolerations")), *devices),
        requests={**requested(spec), "pods": Decimal(1)},
        limits=requested(spec, "limits"),
    )


def requested(spec: Json, part: Part = "requests") -> dict[str, Decimal]:
    """How much of each resource a pod asks for, as Kubernetes' scheduler counts it.

    Containers run together, so they count together. Init containers run before them and one
    after the other, except those that always restart, which stay.

    Args:
        spec: of a pod.
        part: requests, where a container that has only a limit requests as much, or limits.
    """
    staying: dict[str, Decimal] = {}
    most: dict[str, Decimal] = {}
    for container in _maps(spec.get("initContainers")):
        own = _of(container, part)
        if container.get("restartPolicy") == "Always":
            staying = total([staying, own])
            most = greater(most, staying)
        else:
            most = greater(most, total([staying, own]))
    running = total([staying, *(_of(c, part) for c in _maps(spec.get("containers")))])
    found = {**greater(most, running), **_of(spec, part)}  # resources of the whole pod come first
    found = total([found, _amounts(spec.get("overhead"))])
    return {resource: amount for resource, amount in found.items() if amount > 0}


def _containers(
    containers: Sequence[Json], without: frozenset[str], defaults: ResourceDefaults
) -> list[Json]:
    """The containers that run together: the task's own first, which a pod spec may leave out."""
    main = [c for c in containers if c.get("name") == MAIN_CONTAINER]
    others = [c for c in containers if c.get("name") != MAIN_CONTAINER]
    return [
        *(_main(c, without, defaults) for c in main or [{"name": MAIN_CONTAINER}]),
        *(_filled(c, defaults) for c in others),
    ]


def _required_terms(spec: Json) -> list[Json]:
    near = _map(_map(spec.get("affinity")).get("nodeAffinity"))
    required = _map(near.get("requiredDuringSchedulingIgnoredDuringExecution"))
    return _maps(required.get("nodeSelectorTerms"))


def _term(term: Json) -> Json:
    return {
        part: [
            {**e, "values": [str(v) for v in _list(e.get("values"))]}
            for e in _maps(term.get(part))
        ]
        for part in ("matchExpressions", "matchFields")
    }


def _main(container: Json, without: frozenset[str], defaults: ResourceDefaults) -> Json:
    filled = _map(_filled(container, defaults)["resources"])
    resources = {
        part: {k: v for k, v in _map(amounts).items() if k not in without}
        for part, amounts in filled.items()
    }
    return {**container, "resources": resources}


def _filled(container: Json, defaults: ResourceDefaults) -> Json:
    given = _map(container.get("resources"))
    found = defaults.of(_amounts(given.get("requests")), _amounts(given.get("limits")))
    return {**container, "resources": {"requests": found.requests, "limits": found.limits}}


def _of(container: Json, part: Part) -> dict[str, Decimal]:
    given = _map(container.get("resources"))
    limits = _amounts(given.get("limits"))
    return limits if part == "limits" else {**limits, **_amounts(given.get("requests"))}


def _amounts(value: Any) -> dict[str, Decimal]:
    return {str(k): quantity(v) for k, v in _map(value).items()}


def _map(value: Any) -> Json:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _maps(value: Any) -> list[Json]:
    return [item for item in _list(value) if isinstance(item, Mapping)]

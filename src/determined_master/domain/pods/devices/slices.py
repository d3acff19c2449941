"""Devices that drivers offer in ResourceSlices, as pools.

The slices of a pool change one after the other. Kubernetes uses the newest generation of a pool
alone, and only when all of its slices are there. Objects come from drivers: a part of a wrong type
counts as absent.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/, and
`ResourceSlice` of Kubernetes' `resource.k8s.io` in the versions `v1`, `v1beta2` and `v1beta1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from determined_master.domain.pods.devices.cel import CelQuantity, CelVersion, Domains, Variable
from determined_master.domain.pods.quantities import quantity

Json = Mapping[str, Any]
Counters = Mapping[tuple[str, str], Decimal]
"""Amounts by name of the counter set, and of the counter."""
_HARD = ("NoSchedule", "NoExecute")


class DevicePoolId(NamedTuple):
    driver: str
    pool: str


class DeviceId(NamedTuple):
    """What identifies a device in a cluster."""

    driver: str
    pool: str
    name: str


class Reach(msgspec.Struct, frozen=True):
    """The nodes that can use a device."""

    node: str = ""
    """Its only node; empty where there may be several."""
    terms: tuple[Json, ...] = ()
    """Of a node selector; without terms and node: all nodes."""
    is_nowhere: bool = False
    """No nodes are named: a malformed device."""


class DeviceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of a device that Kubernetes' scheduler compares."""

    id: DeviceId
    reach: Reach
    variable: Variable
    """`device` in selectors."""
    is_tainted: bool = False
    """It has a taint that keeps claims without tolerations away."""
    consumes: Counters = {}
    product: str = ""
    """Its name in messages; empty when the driver gives none."""


class SliceFacts(msgspec.Struct, frozen=True, kw_only=True):
    pool: DevicePoolId
    generation: int
    slices: int
    """Of the pool in this generation."""
    devices: tuple[DeviceFacts, ...]
    counters: Counters = {}


class DevicePool(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of a pool whose slices are complete, by name."""

    id: DevicePoolId
    devices: tuple[DeviceFacts, ...]
    counters: Counters = {}


def slice_of(item: Json) -> SliceFacts:
    """A ResourceSlice as the API server describes it, in any of its versions."""
    spec = _map(item.get("spec"))
    given = _map(spec.get("pool"))
    pool = DevicePoolId(str(spec.get("driver") or ""), str(given.get("name") or ""))
    reach = None if spec.get("perDeviceNodeSelection") is True else _reach(spec)
    return SliceFacts(
        pool=pool,
        generation=_int(given.get("generation")),
        slices=_int(given.get("resourceSliceCount")),
        devices=tuple(_device(d, pool, reach) for d in _maps(spec.get("devices"))),
        counters=_counters(spec.get("sharedCounters"), "name"),
    )


def whole_pool(slices: Iterable[SliceFacts]) -> DevicePool | None:
    """The pool that slices of it make; None while the newest generation is not complete.

    Args:
        slices: of one pool; of none the result is None.
    """
    current = _newest(list(slices))
    if not current or any(one.slices != len(current) for one in current):
        return None
    devices = sorted((d for one in current for d in one.devices), key=lambda d: d.id)
    if len({d.id for d in devices}) < len(devices):
        return None  # Kubernetes allocates nothing of a pool that has one name twice
    counters = {key: amount for one in current for key, amount in one.counters.items()}
    return DevicePool(id=current[0].pool, devices=tuple(devices), counters=counters)


def _newest(slices: Sequence[SliceFacts]) -> list[SliceFacts]:
    newest = max((one.generation for one in slices), default=0)
    return [one for one in slices if one.generation == newest]


def _device(item: Json, pool: DevicePoolId, reach: Reach | None) -> DeviceFacts:
    given = {**item, **_map(item.get("basic"))}  # v1beta1 has all but the name there
    attributes = _domains(given.get("attributes"), pool.driver, _attribute)
    name = attributes.get(pool.driver, {}).get("productName")
    return DeviceFacts(
        id=DeviceId(*pool, str(item.get("name") or "")),
        reach=_reach(given) if reach is None else reach,
        variable={
            "driver": pool.driver,
            "attributes": attributes,
            "capacity": _domains(given.get("capacity"), pool.driver, _capacity),
            "allowMultipleAllocations": given.get("allowMultipleAllocations") is True,
        },
        is_tainted=any(taint.get("effect") in _HARD for taint in _maps(given.get("taints"))),
        consumes=_counters(given.get("consumesCounters"), "counterSet"),
        product=name if isinstance(name, str) else "",
    )


def _reach(given: Json) -> Reach:
    if given.get("nodeName"):
        return Reach(node=str(given["nodeName"]))
    if given.get("allNodes") is True:
        return Reach()
    terms = _maps(_map(given.get("nodeSelector")).get("nodeSelectorTerms"))
    return Reach(terms=tuple(terms), is_nowhere=not terms)


def _domains(given: Any, driver: str, read: Any) -> Domains:
    """Values by domain and name; a name without a domain is of the driver's."""
    found = Domains()
    for key, item in _map(given).items():
        domain, slash, name = str(key).rpartition("/")
        found.setdefault(domain if slash else driver, {})[name] = read(item)
    return found


def _attribute(item: Any) -> Any:
    given = _map(item)
    if "version" in given:
        return CelVersion(str(given["version"]))
    return next((given[kind] for kind in ("string", "int", "bool") if kind in given), None)


def _capacity(item: Any) -> CelQuantity:
    return CelQuantity(quantity(_map(item).get("value")))


def _counters(given: Any, name: str) -> dict[tuple[str, str], Decimal]:
    return {
        (str(one.get(name)), str(counter)): quantity(_map(amount).get("value"))
        for one in _maps(given)
        for counter, amount in _map(one.get("counters")).items()
    }


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _map(value: Any) -> Json:
    return value if isinstance(value, Mapping) else {}


def _maps(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []

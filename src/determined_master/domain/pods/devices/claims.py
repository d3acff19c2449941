"""Devices that ResourceClaims hold, and the class that offers devices as slots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.pods.devices.cel import CelSelector, NotUnderstood, selector
from determined_master.domain.pods.devices.slices import DeviceId

Json = Mapping[str, Any]

MAX_SLOTS = 32
"""Devices that Kubernetes allocates to one claim at most."""


class ClaimFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of one claim."""

    uid: str
    namespace: str
    name: str
    owners: frozenset[str]
    """Uids of the objects that it belongs to."""
    devices: tuple[DeviceId, ...]
    """Allocated to it for use; not those to which it has an admin's access, which stay free."""


class ClassFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The selectors that a device of a pool's slots must meet."""

    selectors: tuple[CelSelector, ...] = ()
    trouble: str = ""
    """Why no device of the class is counted, and the remedy; empty when they are."""


def claim_of(item: Json) -> ClaimFacts:
    """A ResourceClaim as the API server describes it."""
    meta = _map(item.get("metadata"))
    allocation = _map(_map(item.get("status")).get("allocation"))
    results = _maps(_map(allocation.get("devices")).get("results"))
    return ClaimFacts(
        uid=str(meta.get("uid") or ""),
        namespace=str(meta.get("namespace") or ""),
        name=str(meta.get("name") or ""),
        owners=frozenset(str(o.get("uid")) for o in _maps(meta.get("ownerReferences"))),
        devices=tuple(
            DeviceId(str(r.get("driver")), str(r.get("pool")), str(r.get("device")))
            for r in results
            if r.get("adminAccess") is not True
        ),
    )


def class_of(item: Json | None, name: str, own: str, cluster: str) -> ClassFacts:
    """The selectors of a DeviceClass, and that of the settings.

    Args:
        item: the class as the API server describes it; None when there is none.
        name: of the class.
        own: the selector of the settings; empty for none.
        cluster: its name in messages.
    """
    if item is None:
        return ClassFacts(
            trouble=f"no slots start: {cluster} has no DeviceClass {name!r}: install the driver "
            "that brings it, or set resource_manager.device_class to one that exists; missing"
        )
    texts = [
        str(_map(one.get("cel")).get("expression") or "")
        for one in _maps(_map(item.get("spec")).get("selectors"))
    ]
    try:
        return ClassFacts(selectors=tuple(selector(t) for t in [*texts, *([own] if own else [])]))
    except NotUnderstood as error:
        return ClassFacts(
            trouble=f"no slots start: the master cannot evaluate a selector of DeviceClass "
            f"{name!r} of {cluster} ({error}): set resource_manager.device_class to a class with "
            "selectors of the part of CEL that docs/kubernetes-placement.md lists; observed"
        )


def _map(value: Any) -> Json:
    return value if isinstance(value, Mapping) else {}


def _maps(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []

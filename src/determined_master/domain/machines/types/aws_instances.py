"""The instance types of AWS: number of slots, accelerator and price (`types/aws.json`).

A type that is not listed can be used with `instance_slots`.
"""

from __future__ import annotations

from collections.abc import Mapping

from determined_master.domain.machines.types.catalog import AwsCatalog, TypeSpec, load

TYPES: Mapping[str, TypeSpec] = {spec.name: spec for spec in load("aws", AwsCatalog).types}
_ACCELERATORS = {name.partition(".")[0]: spec.gpu for name, spec in TYPES.items() if spec.gpu}
"""By family, so that a new size of a known family has its accelerator."""


def gpus_of(instance_type: str, instance_slots: int | None) -> int | None:
    """GPUs of an instance type; None for an unknown type.

    Args:
        instance_type: as AWS calls it.
        instance_slots: the setting, which takes precedence: the table may be out of date.
    """
    if instance_slots is not None:
        return instance_slots
    spec = TYPES.get(instance_type)
    return spec.gpus if spec is not None else None


def accelerator(instance_type: str, gpus: int) -> str:
    """The devices in messages, "8 x NVIDIA T4"; empty without devices, or for an unknown kind."""
    name = _ACCELERATORS.get(instance_type.partition(".")[0])
    return f"{gpus} x {name}" if name and gpus else ""


def price_per_hour(instance_type: str, *, is_spot: bool) -> float | None:
    """The usual dollars an hour; None for a type without a known price."""
    spec = TYPES.get(instance_type)
    return spec.of(is_spot=is_spot) if spec is not None else None

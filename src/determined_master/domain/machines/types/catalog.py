"""The clouds' machine types and prices, from `types/*.json`.

The prices are those of the region and date that the file names.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TypeVar

import msgspec

Catalog = TypeVar("Catalog")


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars an hour; None where the cloud has no list price."""

    on_demand: float | None = None
    spot: float | None = None
    """A usual one: spot prices change by the hour."""

    def of(self, *, is_spot: bool) -> float | None:
        return self.spot if is_spot else self.on_demand


class TypeSpec(Price, frozen=True, kw_only=True):
    """A machine type."""

    name: str
    vcpus: int
    memory_gib: float
    gpu: str = ""
    """Its kind, in the cloud's words; empty without."""
    gpus: int = 0


class AwsCatalog(msgspec.Struct, frozen=True, kw_only=True):
    about: str
    region: str
    as_of: str
    types: tuple[TypeSpec, ...]


class Rates(msgspec.Struct, frozen=True):
    """Dollars an hour of a vCPU and of a GiB."""

    vcpu: float
    gib: float


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Machine types of GCP without GPUs of their own, of any number of vCPUs."""

    name: str
    classes: Mapping[str, float]
    """GiB of a vCPU by class."""
    has_custom: bool = False
    """Whether vCPUs and memory may be chosen one by one."""
    on_demand: Rates | None = None
    spot: Rates | None = None


class AttachedGpu(Price, frozen=True, kw_only=True):
    """A GPU that is attached to a machine; the price is that of one."""

    name: str
    counts: tuple[int, ...]


class GcpCatalog(msgspec.Struct, frozen=True, kw_only=True):
    about: str
    region: str
    as_of: str
    families: tuple[Family, ...]
    types: tuple[TypeSpec, ...]
    gpus: tuple[AttachedGpu, ...]


def load(name: str, shape: type[Catalog]) -> Catalog:
    """The file of a cloud, checked against its shape.

    Args:
        name: `aws` or `gcp`.
        shape: of the file.

    Raises:
        msgspec.ValidationError: the file has another shape.
    """
    content = files("determined_master.domain.machines").joinpath(f"types/{name}.json")
    return msgspec.json.decode(content.read_bytes(), type=shape)

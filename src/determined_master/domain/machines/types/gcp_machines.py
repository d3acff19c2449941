"""GCP's machine types, their GPUs and prices (`types/gcp.json`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from determined_master.domain.machines.types.catalog import (
    AttachedGpu,
    Family,
    GcpCatalog,
    TypeSpec,
    load,
)

_CATALOG = load("gcp", GcpCatalog)
_FAMILIES: Mapping[str, Family] = {family.name: family for family in _CATALOG.families}
"""Families without GPUs of their own."""
_TYPES: Mapping[str, TypeSpec] = {spec.name: spec for spec in _CATALOG.types}
"""Types with GPUs of their own, and those without a number of processors."""
_BUILT_IN: dict[str, list[TypeSpec]] = {}
"""Types that come with GPUs, by family."""
for _spec in _CATALOG.types:
    if _spec.gpus:
        _BUILT_IN.setdefault(_spec.name.rpartition("-")[0], []).append(_spec)
_GPUS: Mapping[str, AttachedGpu] = {gpu.name: gpu for gpu in _CATALOG.gpus}
ATTACHED: Mapping[str, tuple[int, ...]] = {gpu.name: gpu.counts for gpu in _CATALOG.gpus}
"""GPUs that are attached to machines of the family n1, and in which numbers."""
_CUSTOM = re.compile(r"(?:(?P<family>[a-z0-9]+)-)?custom-(?P<vcpus>\d+)-(?P<mib>\d+)(?:-ext)?")
_COUNT = re.compile(r"\d{1,4}")
_SUFFIX = re.compile(r"-(?:lssd|metal|highlssd|standardlssd|nolssd)$")
_NEWER_CPUS = ("a2-", "g2-standard", "n2-standard")
_OLDER_CPUS = ("n1-", "custom-", "c2-", "m1-", "m2-")


def built_in_gpus(machine_type: str) -> tuple[str, int] | None:
    """The GPU that a type comes with, and how many; None for a type without."""
    spec = _TYPES.get(machine_type)
    return (spec.gpu, spec.gpus) if spec is not None and spec.gpus else None


def machine_type_problem(machine_type: str) -> str:
    """Why a machine type cannot be used, and which can; empty for a valid one."""
    if spec_of(machine_type) is not None:
        return ""
    family = machine_type.rpartition("-")[0]
    if family in _BUILT_IN:
        sizes = ", ".join(spec.name for spec in _BUILT_IN[family])
        text = f'"{machine_type}" is no size of {family}: use one of {sizes}'
    else:
        text = (
            f'"{machine_type}" is no known machine type: use one as n1-standard-8, '
            "custom-8-16384 or a2-highgpu-1g, of the families "
            f"{', '.join((*_FAMILIES, *_BUILT_IN))}"
        )
    return f"{text}; or set instance_slots to the GPUs that it comes with"


def spec_of(machine_type: str) -> TypeSpec | None:
    """Processors, memory and price of a machine type, without attached GPUs; None if unknown."""
    if (spec := _TYPES.get(machine_type)) is not None:
        return spec
    if custom := _CUSTOM.fullmatch(machine_type):
        family = _FAMILIES.get(custom["family"] or "n1")
        if family is None or not family.has_custom:
            return None
        return _priced(machine_type, family, int(custom["vcpus"]), int(custom["mib"]) / 1024)
    parts = _SUFFIX.sub("", machine_type).split("-")
    if len(parts) != 3 or not _COUNT.fullmatch(parts[2]):
        return None
    family = _FAMILIES.get(parts[0])
    if family is None or parts[1] not in family.classes:
        return None
    vcpus = int(parts[2])
    return _priced(machine_type, family, vcpus, vcpus * family.classes[parts[1]])


def _priced(name: str, family: Family, vcpus: int, memory_gib: float) -> TypeSpec:
    prices = [
        round(rates.vcpu * vcpus + rates.gib * memory_gib, 4) if rates is not None else None
        for rates in (family.on_demand, family.spot)
    ]
    return TypeSpec(
        name=name, vcpus=vcpus, memory_gib=memory_gib, on_demand=prices[0], spot=prices[1]
    )


def price_per_hour(
    machine_type: str, gpu_type: str, gpu_num: int, *, is_spot: bool
) -> float | None:
    """The usual dollars an hour with attached GPUs; None without a known price."""
    spec = spec_of(machine_type)
    price = spec.of(is_spot=is_spot) if spec is not None else None
    if price is None or not gpu_num or (spec is not None and spec.gpus):
        return price
    gpu = _GPUS.get(gpu_type)
    each = gpu.of(is_spot=is_spot) if gpu is not None else None
    return round(price + each * gpu_num, 4) if each is not None else None


def gpu_problem(machine_type: str, gpu_type: str, gpu_num: int) -> tuple[str, str]:
    """Which of `gpu_type` and `gpu_num` is invalid, and why; empty texts when both are valid."""
    own = built_in_gpus(machine_type)
    if own is not None:
        if (gpu_type, gpu_num) == own:
            return "", ""
        key = "gpu_type" if gpu_type != own[0] else "gpu_num"
        return key, f"{machine_type} has {own[1]} x {own[0]}: set gpu_type and gpu_num to these"
    if not gpu_type and gpu_num:
        return "gpu_num", f'with gpu_type "" must be 0 but found {gpu_num}'
    return _attached_problem(machine_type, gpu_type, gpu_num) if gpu_num else ("", "")


def _attached_problem(machine_type: str, gpu_type: str, gpu_num: int) -> tuple[str, str]:
    counts = ATTACHED.get(gpu_type)
    if counts is None:
        return "gpu_type", _unknown(gpu_type)
    if not machine_type.startswith(("n1-", "custom-")):
        text = (
            f'only machines of the family n1 take {gpu_type}, and {machine_type} is none: set ""'
        )
        return "gpu_type", f"{text}, and gpu_num to 0"
    if gpu_num not in counts:
        shown = ", ".join(str(count) for count in (0, *counts))
        return "gpu_num", f"of {gpu_type} a machine has {shown} but found {gpu_num}"
    return "", ""


def _unknown(gpu_type: str) -> str:
    types = [spec.name for spec in _TYPES.values() if spec.gpus and spec.gpu == gpu_type]
    if types:
        return f"{gpu_type} comes with the machine types {', '.join(types)}: use one of them"
    built_in = dict.fromkeys(spec.gpu for spec in _TYPES.values() if spec.gpus)
    known = ", ".join((*ATTACHED, *built_in))
    return f'"{gpu_type}" is no known GPU: use one of {known}, or "" for none'


def accelerator(gpu_type: str, gpu_num: int) -> str:
    """The devices in messages, "4 x nvidia-tesla-t4"; empty without any."""
    return f"{gpu_num} x {gpu_type}" if gpu_type and gpu_num else ""


def min_cpu_platform(machine_type: str) -> str:
    """The oldest CPU platform of machines of this type; empty where GCP takes none."""
    if machine_type.startswith(_NEWER_CPUS):
        return "Intel Cascade Lake"
    return "Intel Broadwell" if machine_type.startswith(_OLDER_CPUS) else ""

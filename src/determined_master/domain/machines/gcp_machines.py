"""GCP's machine types and their GPUs, as of November 2026.

Source: the pages of Compute Engine on machine families, GPU machine types and GPUs for N1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_FAMILIES: Mapping[str, str] = {
    "n1": "standard highmem highcpu ultramem megamem custom",
    "n2": "standard highmem highcpu custom",
    "n2d": "standard highmem highcpu custom",
    "n4": "standard highmem highcpu custom",
    "e2": "standard highmem highcpu custom micro small medium",
    "c2": "standard",
    "c2d": "standard highmem highcpu",
    "c3": "standard highmem highcpu",
    "c3d": "standard highmem highcpu",
    "c4": "standard highmem highcpu",
    "c4a": "standard highmem highcpu",
    "c4d": "standard highmem highcpu",
    "t2d": "standard",
    "t2a": "standard",
    "m1": "ultramem megamem",
    "m2": "ultramem megamem hypermem",
    "m3": "ultramem megamem",
    "h3": "standard",
    "z3": "highmem",
}
"""Families without GPUs of their own, and their classes."""
_SHARED_CORE = ("micro", "small", "medium")
"""Classes without a number of processors."""
_BUILT_IN: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "a2-highgpu": ("nvidia-tesla-a100", {"1g": 1, "2g": 2, "4g": 4, "8g": 8}),
    "a2-megagpu": ("nvidia-tesla-a100", {"16g": 16}),
    "a2-ultragpu": ("nvidia-a100-80gb", {"1g": 1, "2g": 2, "4g": 4, "8g": 8}),
    "a3-highgpu": ("nvidia-h100-80gb", {"1g": 1, "2g": 2, "4g": 4, "8g": 8}),
    "a3-edgegpu": ("nvidia-h100-80gb", {"8g": 8}),
    "a3-megagpu": ("nvidia-h100-mega-80gb", {"8g": 8}),
    "a3-ultragpu": ("nvidia-h200-141gb", {"8g": 8}),
    "a4-highgpu": ("nvidia-b200", {"8g": 8}),
    "a4x-highgpu": ("nvidia-gb200", {"4g": 4}),
    "g2-standard": (
        "nvidia-l4",
        {"4": 1, "8": 1, "12": 1, "16": 1, "24": 2, "32": 1, "48": 4, "96": 8},
    ),
    "g4-standard": ("nvidia-rtx-pro-6000", {"48": 1, "96": 2, "192": 4, "384": 8}),
}
"""Types that come with GPUs: the GPU, and how many a size has."""
ATTACHED: Mapping[str, tuple[int, ...]] = {
    "nvidia-tesla-t4": (1, 2, 4),
    "nvidia-tesla-p100": (1, 2, 4),
    "nvidia-tesla-p4": (1, 2, 4),
    "nvidia-tesla-v100": (1, 2, 4, 8),
    "nvidia-tesla-k80": (1, 2, 4, 8),
}
"""GPUs that are attached to machines of the family n1, and in which numbers."""
_CUSTOM = re.compile(r"(?:(?P<family>[a-z0-9]+)-)?custom-\d+-\d+(?:-ext)?")
_SUFFIX = re.compile(r"-(?:lssd|metal|highlssd|standardlssd|nolssd)$")
_NEWER_CPUS = ("a2-", "g2-standard", "n2-standard")
_OLDER_CPUS = ("n1-", "custom-", "c2-", "m1-", "m2-")


def built_in_gpus(machine_type: str) -> tuple[str, int] | None:
    """The GPU that a type comes with, and how many; None for a type without."""
    family, _, size = machine_type.rpartition("-")
    gpu, sizes = _BUILT_IN.get(family, ("", {}))
    return (gpu, sizes[size]) if size in sizes else None


def machine_type_problem(machine_type: str) -> str:
    """Why a machine type cannot be used, and which can; empty for a valid one."""
    if built_in_gpus(machine_type) is not None or _is_plain(machine_type):
        return ""
    family = machine_type.rpartition("-")[0]
    if family in _BUILT_IN:
        sizes = ", ".join(f"{family}-{size}" for size in _BUILT_IN[family][1])
        return f'"{machine_type}" is no size of {family}: use one of {sizes}'
    return (
        f'"{machine_type}" is no known machine type: use one as n1-standard-8, custom-8-16384 or '
        f"a2-highgpu-1g, of the families {', '.join((*_FAMILIES, *_BUILT_IN))}"
    )


def _is_plain(machine_type: str) -> bool:
    """Whether it is a type without GPUs of its own."""
    if custom := _CUSTOM.fullmatch(machine_type):
        family = custom["family"]
        return family is None or "custom" in _FAMILIES.get(family, "").split()
    parts = _SUFFIX.sub("", machine_type).split("-")
    if parts[1:] and parts[1] in _FAMILIES.get(parts[0], "").split():
        return len(parts) == 2 if parts[1] in _SHARED_CORE else len(parts) == 3 and _counts(parts)
    return False


def _counts(parts: list[str]) -> bool:
    return parts[1] != "custom" and parts[2].isdigit()


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
    if not gpu_num:
        return "", ""
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
    types = [f"{family}-{size}" for family, (gpu, sizes) in _BUILT_IN.items()
             if gpu == gpu_type for size in sizes]  # fmt: skip
    if types:
        return f"{gpu_type} comes with the machine types {', '.join(types)}: use one of them"
    known = ", ".join((*ATTACHED, *dict.fromkeys(gpu for gpu, _ in _BUILT_IN.values())))
    return f'"{gpu_type}" is no known GPU: use one of {known}, or "" for none'


def accelerator(gpu_type: str, gpu_num: int) -> str:
    """The devices for people, "4 x nvidia-tesla-t4"; empty without any."""
    return f"{gpu_num} x {gpu_type}" if gpu_type and gpu_num else ""


def min_cpu_platform(machine_type: str) -> str:
    """The oldest CPU platform of machines of this type; empty where GCP takes none."""
    if machine_type.startswith(_NEWER_CPUS):
        return "Intel Cascade Lake"
    return "Intel Broadwell" if machine_type.startswith(_OLDER_CPUS) else ""

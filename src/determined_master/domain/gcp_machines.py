"""Which machine types and GPUs of GCP go together, and how machines there are called."""

from __future__ import annotations

from collections.abc import Sequence

MACHINE_TYPES = (
    "n1-standard",
    "n1-highmem",
    "n1-highcpu",
    "n1-ultramem",
    "m2-ultramem",
    "n1-megamem",
    "c2-standard",
    "a2-highgpu",
    "a2-megagpu",
    "a2-ultragpu",
    "g2-standard",
    "n2-standard",
    "custom",
)
GPU_COUNTS: dict[str, tuple[int, ...]] = {
    "": (0,),
    "nvidia-tesla-t4": (0, 1, 2, 4),
    "nvidia-tesla-p100": (0, 1, 2, 4),
    "nvidia-tesla-p4": (0, 1, 2, 4),
    "nvidia-tesla-v100": (0, 1, 2, 4, 8),
    "nvidia-tesla-a100": (0, 1, 2, 4, 8, 16),
    "nvidia-a100-80gb": (0, 1, 2, 4, 8),
    "nvidia-l4": (0, 1, 2, 4, 8),
}
MAX_NAME = 63
_FILLED_IN = "#####"
"""The digits that GCP puts in place of these tell the machines of one order apart."""
_NEWER_CPUS = ("a2-", "g2-standard", "n2-standard")


def machine_type_problem(machine_type: str) -> str:
    """Why a machine type cannot be used, and what can; empty when it can."""
    is_known = any(machine_type.startswith(f"{prefix}-") for prefix in MACHINE_TYPES)
    if is_known and len(machine_type.split("-")) == 3 and not machine_type.endswith("-"):
        return ""
    return (
        f'"{machine_type}" is no known machine type: it must have three parts, as n1-standard-8 '
        f"or custom-8-16384, and begin with one of {', '.join(MACHINE_TYPES)}"
    )


def gpu_problem(gpu_type: str, gpu_num: int) -> tuple[str, str]:
    """Which of `gpu_type` and `gpu_num` is wrong, and why; two empty texts when none is."""
    counts = GPU_COUNTS.get(gpu_type)
    if counts is None:
        known = ", ".join(name for name in GPU_COUNTS if name)
        return "gpu_type", f'"{gpu_type}" is no known GPU: use one of {known}, or "" for none'
    if gpu_num not in counts:
        shown = ", ".join(str(count) for count in counts)
        what = f"of {gpu_type} a machine has" if gpu_type else 'with gpu_type "" must be'
        return "gpu_num", f"{what} {shown} but found {gpu_num}"
    return "", ""


def accelerator(gpu_type: str, gpu_num: int) -> str:
    """The devices in words, "4 x nvidia-tesla-t4"; empty without any."""
    return f"{gpu_num} x {gpu_type}" if gpu_type and gpu_num else ""


def min_cpu_platform(machine_type: str) -> str:
    """The oldest processors that machines of this type are offered with."""
    return "Intel Cascade Lake" if machine_type.startswith(_NEWER_CPUS) else "Intel Broadwell"


def name_pattern(prefix: str, words: Sequence[str]) -> tuple[str, bool]:
    """What machines of one order are called, and whether it had to be cut to 63 characters."""
    whole = f"{prefix}{'-'.join(words)}-"
    room = MAX_NAME - len(_FILLED_IN)
    if len(whole) <= room:
        return whole + _FILLED_IN, False
    return whole[: room - 1].rstrip("-") + "-" + _FILLED_IN, True

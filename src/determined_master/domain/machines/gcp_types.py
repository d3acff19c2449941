"""The machine types and GPUs of GCP, and the names of machines there."""

from __future__ import annotations

import hashlib
import re

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
DIGITS = 5
ADJECTIVES = ("amber", "brave", "clever", "fresh", "golden", "lively", "patient", "swift")
ANIMALS = ("badger", "crane", "falcon", "heron", "lynx", "marten", "otter", "wren")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_NOT_OF_LABELS = re.compile(r"[^a-z0-9_-]")
_NEWER_CPUS = ("a2-", "g2-standard", "n2-standard")


def machine_type_problem(machine_type: str) -> str:
    """Why a machine type cannot be used, and which can; empty for a valid one."""
    is_known = any(machine_type.startswith(f"{prefix}-") for prefix in MACHINE_TYPES)
    if is_known and len(machine_type.split("-")) == 3 and not machine_type.endswith("-"):
        return ""
    return (
        f'"{machine_type}" is no known machine type: it must have three parts, as n1-standard-8 '
        f"or custom-8-16384, and begin with one of {', '.join(MACHINE_TYPES)}"
    )


def gpu_problem(gpu_type: str, gpu_num: int) -> tuple[str, str]:
    """Which of `gpu_type` and `gpu_num` is invalid, and why; empty texts when both are valid."""
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
    """The devices for people, "4 x nvidia-tesla-t4"; empty without any."""
    return f"{gpu_num} x {gpu_type}" if gpu_type and gpu_num else ""


def min_cpu_platform(machine_type: str) -> str:
    """The oldest CPU platform of machines of this type."""
    return "Intel Cascade Lake" if machine_type.startswith(_NEWER_CPUS) else "Intel Broadwell"


def label_value(text: str) -> str:
    """A text as a label's value; an invalid one gets a hash as its end."""
    if _LABEL_VALUE.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{_NOT_OF_LABELS.sub('-', text.lower())[: MAX_NAME - 9]}-{digest}"


def machine_names(prefix: str, token: str, count: int) -> tuple[list[str], bool]:
    """The names of the machines of one launch, and whether they were shortened.

    Two words and five digits are derived from the launch's token, so that a repeated launch names
    the same machines.

    Args:
        prefix: lower-case letters, digits and dashes, a letter first.
        token: of the launch.
        count: how many, at least 1.

    Returns:
        Different names of at most 63 characters; whether the prefix was too long for that.
    """
    drawn = int.from_bytes(hashlib.sha256(token.encode()).digest()[:8], "big")
    drawn, adjective = divmod(drawn, len(ADJECTIVES))
    drawn, animal = divmod(drawn, len(ANIMALS))
    stem = f"{prefix}{ADJECTIVES[adjective]}-{ANIMALS[animal]}"
    room = MAX_NAME - DIGITS - 1
    shown = stem if len(stem) <= room else stem[:room].rstrip("-")
    numbers = ((drawn + i) % 10**DIGITS for i in range(count))
    return [f"{shown}-{number:0{DIGITS}}" for number in numbers], len(stem) > room

"""The instance types of AWS: number of slots, and accelerator.

A type that is not listed can be used with `instance_slots`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_ON_GPUS: dict[int, dict[str, str]] = {
    1: {
        "g4dn": "xlarge 2xlarge 4xlarge 8xlarge 16xlarge",
        "g5": "xlarge 2xlarge 4xlarge 8xlarge 16xlarge",
        "p2": "xlarge",
        "p3": "2xlarge",
    },
    4: {"g4dn": "12xlarge", "g5": "12xlarge 24xlarge", "p3": "8xlarge"},
    8: {
        "g4dn": "metal",
        "g5": "48xlarge",
        "p2": "8xlarge",
        "p3": "16xlarge",
        "p3dn": "24xlarge",
        "p4d": "24xlarge",
    },
    16: {"p2": "16xlarge"},
}
_M5 = "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge"
_C5 = "large xlarge 2xlarge 4xlarge 9xlarge 12xlarge 18xlarge 24xlarge"
_WITHOUT_GPUS: dict[str, str] = {
    "t2": "medium large xlarge 2xlarge",
    "t3": "nano micro small medium large xlarge 2xlarge",
    "c4": "large xlarge 2xlarge 4xlarge 8xlarge",
    "c5": _C5,
    "c5d": _C5,
    "c5n": "large xlarge 2xlarge 4xlarge 9xlarge 18xlarge",
    "m4": "large xlarge 2xlarge 4xlarge 10xlarge 16xlarge",
    "m5": _M5,
    "m5d": _M5,
    "m5dn": _M5,
    "m5n": _M5,
    "m5zn": "large xlarge 2xlarge 3xlarge 6xlarge 12xlarge",
    "m6i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
}
_ACCELERATORS = {
    "p2": "NVIDIA Tesla K80",
    "p3": "NVIDIA Tesla V100",
    "p3dn": "NVIDIA Tesla V100",
    "p4d": "NVIDIA A100",
    "g3": "NVIDIA Tesla M60",
    "g5": "NVIDIA A10G",
    "g5g": "NVIDIA T4G",
    "g4dn": "NVIDIA T4",
}


def _named(families: Mapping[str, str], slots: int) -> Iterator[tuple[str, int]]:
    for family, sizes in families.items():
        for size in sizes.split():
            yield f"{family}.{size}", slots


SLOTS: dict[str, int] = {
    **{name: n for slots, fams in _ON_GPUS.items() for name, n in _named(fams, slots)},
    **dict(_named(_WITHOUT_GPUS, 0)),
}
"""GPUs by instance type; 0 for a known type without GPUs."""


def gpus_of(instance_type: str, instance_slots: int | None) -> int | None:
    """GPUs of an instance type; None for an unknown type.

    Args:
        instance_type: as AWS calls it.
        instance_slots: the setting for a type that is not in the table; the table takes
            precedence.
    """
    return SLOTS.get(instance_type, instance_slots)


def accelerator(instance_type: str, gpus: int) -> str:
    """The devices for people, "8 x NVIDIA T4"; empty without devices, or for an unknown kind."""
    name = _ACCELERATORS.get(instance_type.partition(".")[0])
    return f"{gpus} x {name}" if name and gpus else ""

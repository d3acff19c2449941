"""What Compute Engine refuses of a machine: disks and images that it does not take.

Written down apart from the product's table, so that a mistake there shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_PERSISTENT = {"pd-standard", "pd-balanced", "pd-ssd", "pd-extreme"}
_HYPERDISK_ALONE = ("n4", "c4", "c4a", "c4d", "a4", "g4", "n4a", "n4d", "h4d")
_SOME_PERSISTENT = ("g2", "a3", "c3", "c3d", "h3")
_ARM = ("t2a", "c4a", "n4a", "a4x")
_OLDER = ("n1", "custom", "n2", "n2d", "e2", "c2", "c2d", "t2d", "t2a")


def disk_fault(machine_type: str, disk_type: str) -> str:
    """GCP's words about a disk that a machine type does not take; empty for others."""
    series = machine_type.partition("-")[0]
    is_alone = series in _HYPERDISK_ALONE or machine_type.startswith("a3-ultragpu")
    is_refused = (
        (is_alone and disk_type in _PERSISTENT)
        or (machine_type.endswith("-metal") and disk_type in _PERSISTENT)
        or (series in _SOME_PERSISTENT and disk_type == "pd-standard")
        or (series in _OLDER and disk_type.startswith("hyperdisk-balanced"))
    )
    if not is_refused:
        return ""
    return f"[{disk_type}, {machine_type}] features are not compatible for creating instance."


def disks_fault(machine_type: str, zone: str, disks: Iterable[dict[str, Any]]) -> str:
    """The first fault of a machine's disks; empty if GCP takes them all."""
    for disk in disks:
        source = str(disk.get("source", "")).split("/")
        if "zones" in source and source[source.index("zones") + 1] != zone:
            return f"The disk '{disk['source']}' is not in the zone of the instance, {zone}."
        kind = str(disk.get("initializeParams", {}).get("diskType", "")).rpartition("/")[2]
        if kind and (fault := disk_fault(machine_type, kind)):
            return fault
    return ""


def architecture_of(machine_type: str) -> str:
    """The processors of a machine type, in GCP's words."""
    return "ARM64" if machine_type.partition("-")[0] in _ARM else "X86_64"


def architecture_of_image(image: str) -> str:
    """The processors that an image is for; by its name, as Canonical's and Google's have them."""
    return "ARM64" if "arm64" in image else "X86_64"


def image_fault(machine_type: str, disks: Iterable[dict[str, Any]]) -> str:
    """The fault of the image of a machine's boot disk; empty if it boots."""
    needed = architecture_of(machine_type)
    for disk in disks:
        image = str(disk.get("initializeParams", {}).get("sourceImage", ""))
        if image and architecture_of_image(image) != needed:
            return (
                f"Requested boot disk architecture ({architecture_of_image(image)}) is not "
                f"compatible with machine type architecture ({needed})."
            )
    return ""

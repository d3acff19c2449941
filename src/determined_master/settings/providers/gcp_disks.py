"""Checks of the disks of GCP's machines: those they boot from, and existing ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from determined_master.domain.machines.types.gcp_series import boot_disk_problem, zone_of_disk

if TYPE_CHECKING:
    from determined_master.domain.config.schema.problems import ProblemReport
    from determined_master.settings.providers.gcp import GcpProvider

_WITH_IOPS = ("pd-extreme", "hyperdisk-")


def check_disks(gcp: GcpProvider, at: str, report: ProblemReport) -> None:
    """Report disks that GCP would refuse."""
    types = [kind.machine_type for kind in gcp.types]
    if gcp.boot_disk_type:
        disk = gcp.boot_disk_of(types[0])
        for problem in filter(None, (boot_disk_problem(name, disk) for name in types)):
            report.problem(f"{at}.boot_disk_type", problem)
    if gcp.boot_disk_iops is not None:
        without = [d for d in map(gcp.boot_disk_of, types) if not d.startswith(_WITH_IOPS)]
        if without:
            text = (
                f"has no effect on {without[0]}: remove it, or set boot_disk_type to pd-extreme "
                "or hyperdisk-balanced"
            )
            report.problem(f"{at}.boot_disk_iops", text)
    zones = gcp.zones or ((gcp.zone,) if gcp.zone else ())
    disks = gcp.base_config.get("disks", [])
    if not isinstance(disks, list):
        return  # reported with the shapes of base_config
    for index, disk in enumerate(disks):
        if isinstance(disk, dict) and isinstance(disk.get("source"), str):
            _check_existing(
                disk, zones, gcp.max_instances, f"{at}.base_config.disks[{index}]", report
            )


def _check_existing(
    disk: dict[str, Any],
    zones: Sequence[str],
    machines: int,
    at: str,
    report: ProblemReport,
) -> None:
    """A disk that is there already is attached to every machine of the pool."""
    zone = zone_of_disk(disk["source"])
    elsewhere = [other for other in zones if zone and other != zone]
    if elsewhere:
        text = (
            f'"{disk["source"]}" is in {zone}, and machines in {elsewhere[0]} cannot attach it: '
            f"set provider.zone to {zone} and remove zones, or give a disk of the region"
        )
        report.problem(f"{at}.source", text)
    if machines > 1 and disk.get("mode") != "READ_ONLY":
        text = (
            f"is not READ_ONLY, and GCP attaches such a disk to one machine only: the others of "
            f"up to {machines} do not start; set mode to READ_ONLY, or max_instances to 1"
        )
        report.warn(f"{at}.mode", text)

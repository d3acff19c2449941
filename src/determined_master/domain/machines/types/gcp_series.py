"""What GCP's machine series take: boot disks and processors (`types/gcp_series.json`)."""

from __future__ import annotations

from typing import Literal

import msgspec

from determined_master.domain.machines.types.catalog import load

Architecture = Literal["x86_64", "arm64"]


class MachineSeries(msgspec.Struct, frozen=True, kw_only=True):
    """Machine types that share their rules."""

    prefix: str
    suffix: str = ""
    disk: str
    """The default boot disk."""
    refused: tuple[str, ...] = ()
    """Types of boot disks that GCP refuses."""
    architecture: Architecture = "x86_64"
    cpu_quota: str = ""
    """The regional quota of their vCPUs; empty where regions list none."""


class SeriesCatalog(msgspec.Struct, frozen=True, kw_only=True):
    about: str
    as_of: str
    sources: tuple[str, ...]
    series: tuple[MachineSeries, ...]


SERIES = load("gcp_series", SeriesCatalog).series
_NEWER = MachineSeries(prefix="", disk="hyperdisk-balanced")
"""Of a series that is not listed: new series boot from Hyperdisk alone."""


def series_of(machine_type: str) -> MachineSeries:
    """The rules of a machine type."""
    for one in SERIES:
        if machine_type.startswith(one.prefix) and machine_type.endswith(one.suffix):
            return one
    return _NEWER


def boot_disk_problem(machine_type: str, disk: str) -> str:
    """Why a machine cannot boot from a type of disk, with the remedy; empty where it may.

    Args:
        machine_type: as GCP calls it.
        disk: the type, without its zone.
    """
    one = series_of(machine_type)
    if disk not in one.refused:
        return ""
    return (
        f'"{disk}" is refused by GCP for {machine_type}: use {one.disk}, or leave it out for the '
        "default of the machine type"
    )


def zone_of_disk(source: str) -> str:
    """The zone of an existing disk by its path or URL; empty for one of a region."""
    parts = source.split("/")
    if "zones" not in parts[:-1]:
        return ""
    return parts[parts.index("zones") + 1]

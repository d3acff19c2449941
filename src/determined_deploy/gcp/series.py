"""The rules of GCP's machine series: disks, processors and quotas."""

from __future__ import annotations

import dataclasses
import functools
from typing import Sequence

from determined.cli import errors
from determined_deploy.cloud import tables

PREFERRED = "pd-balanced"
"""The disk of the master's machine and its database, where the machine type takes it."""


@dataclasses.dataclass(frozen=True)
class Series:
    """Machine types that share their rules."""

    prefix: str
    disk: str
    """The default boot disk."""
    suffix: str = ""
    refused: Sequence[str] = ()
    """Types of disks that GCP refuses."""
    architecture: str = "x86_64"
    cpu_quota: str = ""
    """The regional quota of their vCPUs; empty where regions list none."""

    @property
    def master_disk(self) -> str:
        """The disk of a master on such a machine."""
        return self.disk if PREFERRED in self.refused else PREFERRED


_NEWER = Series(prefix="", disk="hyperdisk-balanced")
"""A series that is not listed: new ones boot from Hyperdisk alone."""


def of(machine_type: str) -> Series:
    """The rules of a machine type. Raises CliError if the master is not installed here."""
    for one in _table():
        if machine_type.startswith(one.prefix) and machine_type.endswith(one.suffix):
            return one
    return _NEWER


def check_disk(option: str, machine_type: str, disk: str) -> None:
    """Check that a machine boots from a type of disk.

    Args:
        option: which named the disk.
        machine_type: of the machine.
        disk: its type.

    Raises:
        CliError: GCP refuses it.
    """
    one = of(machine_type)
    if disk in one.refused:
        raise errors.CliError(
            f"{option} {disk}: GCP boots no {machine_type} from it; give {one.disk}, or leave the "
            "option out"
        )


@functools.cache
def _table() -> Sequence[Series]:
    return [Series(**one) for one in tables.read("gcp_series")["series"]]

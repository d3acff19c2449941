"""The rules of GCP's machine series."""

from __future__ import annotations

import pytest
from tests.backends.cloud.gcp_rules import disk_fault
from tests.domain.machines.types.test_gcp_machines import TYPES

from determined_master.domain.machines.types.gcp_series import (
    SERIES,
    boot_disk_problem,
    series_of,
    zone_of_disk,
)

DISKS = ("pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced")


@pytest.mark.parametrize("name", [*TYPES, "c4a-standard-8", "t2a-standard-8", "z3-highmem-88"])
@pytest.mark.parametrize("disk", DISKS)
def test_a_disk_is_refused_where_gcp_refuses_it(name: str, disk: str) -> None:
    """The emulator's list is written apart from the table."""
    if disk_fault(name, disk):
        assert boot_disk_problem(name, disk).startswith(f'"{disk}" is refused by GCP for {name}: ')


@pytest.mark.parametrize("one", SERIES, ids=lambda one: one.prefix + one.suffix)
def test_the_default_disk_of_a_series_is_not_refused(one: object) -> None:
    assert one.disk not in one.refused  # type: ignore[attr-defined]


def test_a_series_is_found_before_those_that_it_begins_with() -> None:
    """The first entry that fits holds."""
    for index, one in enumerate(SERIES):
        example = f"{one.prefix}standard-8{one.suffix}"
        assert series_of(example) is one, f"an entry before number {index} hides it"


def test_a_series_that_is_not_listed_boots_from_hyperdisk() -> None:
    assert series_of("z9-standard-8").disk == "hyperdisk-balanced"
    assert boot_disk_problem("z9-standard-8", "pd-standard") == ""


@pytest.mark.parametrize(
    ("source", "zone"),
    [
        ("zones/us-west1-a/disks/d", "us-west1-a"),
        ("projects/p/zones/us-west1-a/disks/d", "us-west1-a"),
        ("projects/p/regions/us-west1/disks/d", ""),
        ("zones", ""),
        ("", ""),
    ],
)
def test_the_zone_of_a_disk_is_in_its_path(source: str, zone: str) -> None:
    assert zone_of_disk(source) == zone

"""Names and labels of machines of GCP."""

from __future__ import annotations

import re

import pytest
from tests.covers import covers

from determined_master.domain.machines.gcp_names import (
    ADJECTIVES,
    ANIMALS,
    label_value,
    machine_names,
)

TOKEN = "0d8b2e6e-5c3a-4f0e-9c55-9e9f7f3f1d11"


@covers("scheduling-and-provisioning c.9.names")
def test_names_follow_from_the_launch() -> None:
    names, is_cut = machine_names("det-", TOKEN, 3)
    assert not is_cut
    assert (names, is_cut) == machine_names("det-", TOKEN, 3)
    assert len(set(names)) == 3
    assert not set(names) & set(machine_names("det-", TOKEN[::-1], 3)[0])
    for name in names:
        assert re.fullmatch(r"det-[a-z]+-[a-z]+-\d{5}", name)


@covers("scheduling-and-provisioning c.9.names")
@pytest.mark.parametrize("length", range(40, 70))
def test_long_names_are_cut_and_still_differ(length: int) -> None:
    prefix = "x" * length + "-"
    names, is_cut = machine_names(prefix, TOKEN, 3)
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[a-z][-a-z0-9]*-\d{5}", name) for name in names)
    assert {len(name) for name in names} <= set(range(64))
    words = re.fullmatch(prefix + r"([a-z]+)-([a-z]+)-\d{5}", names[0])
    is_whole = words is not None and words[1] in ADJECTIVES and words[2] in ANIMALS
    assert is_cut != is_whole


def test_names_of_a_large_launch_are_all_different() -> None:
    names, _ = machine_names("det-", TOKEN, 1000)
    assert len(set(names)) == 1000


def test_a_name_that_is_no_label_gets_a_derived_one() -> None:
    assert label_value("gpu-pool_1") == "gpu-pool_1"
    values = {label_value(text) for text in ("GPU pool", "gpu pool", "gpu-pool", "x" * 64)}
    assert len(values) == 4
    assert all(re.fullmatch(r"[a-z0-9_-]{1,63}", value) for value in values)

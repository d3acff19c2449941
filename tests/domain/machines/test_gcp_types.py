"""What is known of GCP's machine types, GPUs and names."""

from __future__ import annotations

import re

import pytest
from tests.covers import covers

from determined_master.domain.machines.gcp_types import (
    ADJECTIVES,
    ANIMALS,
    GPU_COUNTS,
    MACHINE_TYPES,
    gpu_problem,
    label_value,
    machine_names,
    machine_type_problem,
    min_cpu_platform,
)

TOKEN = "0d8b2e6e-5c3a-4f0e-9c55-9e9f7f3f1d11"


@covers("scheduling-and-provisioning c.9.machine_types")
@pytest.mark.parametrize(
    "name", ["n1-standard-32", "custom-8-16384", "a2-ultragpu-8g", "m2-ultramem-208"]
)
def test_a_machine_type_of_three_parts_and_a_known_beginning_is_taken(name: str) -> None:
    assert machine_type_problem(name) == ""


@covers("scheduling-and-provisioning c.9.machine_types")
@pytest.mark.parametrize("name", ["", "n1-standard", "n1-standard-", "n1-standard-8-x", "e2-x-1"])
def test_another_machine_type_is_refused_with_those_that_are_known(name: str) -> None:
    problem = machine_type_problem(name)
    assert problem.startswith(f'"{name}" is no known machine type')
    for known in MACHINE_TYPES:
        assert known in problem


COUNTS = {
    "": [0],
    "nvidia-tesla-t4": [0, 1, 2, 4],
    "nvidia-tesla-p100": [0, 1, 2, 4],
    "nvidia-tesla-p4": [0, 1, 2, 4],
    "nvidia-tesla-v100": [0, 1, 2, 4, 8],
    "nvidia-tesla-a100": [0, 1, 2, 4, 8, 16],
    "nvidia-a100-80gb": [0, 1, 2, 4, 8],
    "nvidia-l4": [0, 1, 2, 4, 8],
}


@covers("scheduling-and-provisioning c.9.gpus")
def test_gpus_come_in_certain_numbers() -> None:
    assert COUNTS.keys() == GPU_COUNTS.keys()
    for gpu, counts in COUNTS.items():
        taken = [n for n in range(20) if gpu_problem(gpu, n) == ("", "")]
        assert taken == counts
    assert gpu_problem("nvidia-l4", 3) == (
        "gpu_num",
        "of nvidia-l4 a machine has 0, 1, 2, 4, 8 but found 3",
    )
    assert gpu_problem("", 1) == ("gpu_num", 'with gpu_type "" must be 0 but found 1')
    key, problem = gpu_problem("k80", 1)
    assert key == "gpu_type"
    assert "nvidia-tesla-v100" in problem


@covers("scheduling-and-provisioning c.9.platform")
@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("a2-highgpu-1g", "Intel Cascade Lake"),
        ("g2-standard-8", "Intel Cascade Lake"),
        ("n2-standard-8", "Intel Cascade Lake"),
        ("n1-standard-8", "Intel Broadwell"),
        ("c2-standard-8", "Intel Broadwell"),
    ],
)
def test_newer_machines_have_newer_processors(name: str, platform: str) -> None:
    assert min_cpu_platform(name) == platform


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

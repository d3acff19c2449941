"""What is known of GCP's machine types and GPUs."""

from __future__ import annotations

import pytest
from tests.covers import covers

from determined_master.domain.machines.types.gcp_machines import (
    ATTACHED,
    built_in_gpus,
    gpu_problem,
    machine_type_problem,
    min_cpu_platform,
    price_per_hour,
    spec_of,
)

TYPES = [
    "n1-standard-32",
    "custom-8-16384",
    "n2-custom-8-16384",
    "e2-medium",
    "e2-highcpu-4",
    "c3-standard-22-lssd",
    "c3-standard-192-metal",
    "m2-ultramem-208",
    "a2-ultragpu-8g",
    "a3-highgpu-1g",
    "a3-ultragpu-8g",
    "a4-highgpu-8g",
    "g2-standard-96",
    "g4-standard-48",
    "n4-highmem-8",
]


@covers("scheduling-and-provisioning c.9.machine_types")
@pytest.mark.parametrize("name", TYPES)
def test_a_machine_type_of_a_known_family_is_taken(name: str) -> None:
    assert machine_type_problem(name) == ""


@covers("scheduling-and-provisioning c.9.machine_types")
@pytest.mark.parametrize(
    "name", ["", "n1-standard", "n1-standard-", "n1-standard-8-x", "e2-x-1", "c2-custom-4-8192"]
)
def test_another_machine_type_is_refused_with_the_known_families(name: str) -> None:
    problem = machine_type_problem(name)
    assert problem.startswith(f'"{name}" is no known machine type')
    for family in ("n1", "e2", "a3-highgpu", "g2-standard"):
        assert family in problem


def test_a_size_that_a_family_lacks_is_refused_with_its_sizes() -> None:
    assert machine_type_problem("g2-standard-5").startswith(
        '"g2-standard-5" is no size of g2-standard: use one of g2-standard-4, g2-standard-8,'
    )


@covers("scheduling-and-provisioning c.9.gpus")
@pytest.mark.parametrize("gpu", ATTACHED)
def test_gpus_are_attached_to_n1_in_certain_numbers(gpu: str) -> None:
    taken = [n for n in range(20) if gpu_problem("n1-standard-8", gpu, n) == ("", "")]
    assert taken == [0, *ATTACHED[gpu]]
    key, problem = gpu_problem("e2-standard-8", gpu, 1)
    assert (key, problem.partition(",")[0]) == (
        "gpu_type",
        f"only machines of the family n1 take {gpu}",
    )


@covers("scheduling-and-provisioning c.9.gpus")
def test_an_impossible_pair_is_refused_with_what_fits() -> None:
    assert gpu_problem("n1-standard-8", "nvidia-tesla-t4", 3) == (
        "gpu_num",
        "of nvidia-tesla-t4 a machine has 0, 1, 2, 4 but found 3",
    )
    none = gpu_problem("n1-standard-8", "", 1)
    assert none == ("gpu_num", 'with gpu_type "" must be 0 but found 1')
    own = "a3-highgpu-8g has 8 x nvidia-h100-80gb: set gpu_type and gpu_num to these"
    assert gpu_problem("a3-highgpu-8g", "nvidia-h100-80gb", 8) == ("", "")
    assert gpu_problem("a3-highgpu-8g", "nvidia-h100-80gb", 4) == ("gpu_num", own)
    assert gpu_problem("a3-highgpu-8g", "nvidia-tesla-t4", 4) == ("gpu_type", own)
    assert gpu_problem("n1-standard-8", "nvidia-l4", 1)[1].startswith(
        "nvidia-l4 comes with the machine types g2-standard-4,"
    )
    key, problem = gpu_problem("n1-standard-8", "k80", 1)
    assert key == "gpu_type"
    assert "nvidia-tesla-k80" in problem
    assert "nvidia-b200" in problem


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("a2-megagpu-16g", ("nvidia-tesla-a100", 16)),
        ("g2-standard-24", ("nvidia-l4", 2)),
        ("n1-standard-8", None),
    ],
)
def test_a_type_may_come_with_gpus(name: str, gpus: tuple[str, int] | None) -> None:
    assert built_in_gpus(name) == gpus


@covers("scheduling-and-provisioning c.9.platform")
@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("a2-highgpu-1g", "Intel Cascade Lake"),
        ("g2-standard-8", "Intel Cascade Lake"),
        ("n2-standard-8", "Intel Cascade Lake"),
        ("n1-standard-8", "Intel Broadwell"),
        ("c2-standard-8", "Intel Broadwell"),
        ("e2-standard-8", ""),
        ("a3-highgpu-8g", ""),
    ],
)
def test_a_type_has_an_oldest_platform_where_gcp_takes_one(name: str, platform: str) -> None:
    assert min_cpu_platform(name) == platform


@pytest.mark.parametrize(
    ("name", "vcpus", "memory_gib"),
    [
        ("n1-standard-8", 8, 30.0),
        ("custom-8-16384", 8, 16.0),
        ("n2-custom-4-8192", 4, 8.0),
        ("e2-medium", 2, 4.0),
        ("c3-standard-22-lssd", 22, 88.0),
        ("a3-highgpu-8g", 208, 1872.0),
    ],
)
def test_a_type_has_processors_and_memory(name: str, vcpus: int, memory_gib: float) -> None:
    spec = spec_of(name)
    assert spec is not None
    assert (spec.vcpus, spec.memory_gib) == (vcpus, memory_gib)


def test_the_price_is_of_processors_memory_and_attached_gpus() -> None:
    plain = price_per_hour("n1-standard-8", "", 0, is_spot=False)
    assert plain == pytest.approx(8 * 0.031611 + 30 * 0.004237, abs=1e-4)
    with_gpus = price_per_hour("n1-standard-8", "nvidia-tesla-t4", 2, is_spot=False)
    assert with_gpus == pytest.approx(plain + 2 * 0.35)
    spot = price_per_hour("n1-standard-8", "nvidia-tesla-t4", 2, is_spot=True)
    assert spot is not None
    assert spot < with_gpus / 2
    assert price_per_hour("a2-highgpu-1g", "nvidia-tesla-a100", 1, is_spot=False) == 3.673
    assert price_per_hour("a4-highgpu-8g", "nvidia-b200", 8, is_spot=False) is None
    assert price_per_hour("x9-standard-8", "", 0, is_spot=False) is None

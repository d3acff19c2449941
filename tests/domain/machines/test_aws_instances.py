"""What is known of AWS's instance types."""

from __future__ import annotations

import pytest
from tests.covers import covers

from determined_master.backends.aws.requests import STATES, machine_type
from determined_master.domain.machines.aws_instances import SLOTS, accelerator, gpus_of
from determined_master.settings.aws import AwsProvider

GPUS = {
    1: "g4dn.xlarge g4dn.16xlarge g5.xlarge g5.16xlarge p2.xlarge p3.2xlarge",
    4: "g4dn.12xlarge g5.12xlarge g5.24xlarge p3.8xlarge",
    8: "g4dn.metal g5.48xlarge p2.8xlarge p3.16xlarge p3dn.24xlarge p4d.24xlarge",
    16: "p2.16xlarge",
    0: "t2.medium t3.nano c4.8xlarge c5.18xlarge c5d.24xlarge c5n.18xlarge m4.16xlarge "
    "m5.24xlarge m5d.large m5dn.large m5n.large m5zn.12xlarge m6i.16xlarge",
}


@covers("scheduling-and-provisioning c.7.slots c.5.gpus c.5.cpu c.5.none")
@pytest.mark.parametrize("gpus", GPUS)
def test_a_known_type_has_its_gpus_as_slots(gpus: int) -> None:
    for name in GPUS[gpus].split():
        assert SLOTS[name] == gpus
        for has_cpu_slots in (False, True):
            settings = AwsProvider(type="aws", instance_type=name, cpu_slots_allowed=has_cpu_slots)
            known = machine_type(settings, "us-west-2")
            if gpus:
                assert (known.slots, known.device_type) == (gpus, "cuda")
            else:
                expected = (1, "cpu") if has_cpu_slots else (0, "")
                assert (known.slots, known.device_type) == expected


def test_all_types_of_the_table_are_there() -> None:
    assert len(SLOTS) == 112
    families = "g4dn g5 p2 p3 p3dn p4d t2 t3 c4 c5 c5d c5n m4 m5 m5d m5dn m5n m5zn m6i"
    assert sorted({name.split(".")[0] for name in SLOTS}) == sorted(families.split())


@covers("scheduling-and-provisioning c.7.unknown_type")
def test_instance_slots_are_for_unknown_types_only() -> None:
    assert gpus_of("p9.huge", 3) == 3
    assert gpus_of("p9.huge", None) is None
    assert gpus_of("p2.16xlarge", 3) == 16
    assert gpus_of("t2.medium", 3) == 0


@covers("scheduling-and-provisioning c.7.accelerator")
@pytest.mark.parametrize(
    ("name", "gpus", "shown"),
    [
        ("g4dn.metal", 8, "8 x NVIDIA T4"),
        ("g5.xlarge", 1, "1 x NVIDIA A10G"),
        ("g5g.xlarge", 1, "1 x NVIDIA T4G"),
        ("p3dn.24xlarge", 8, "8 x NVIDIA Tesla V100"),
        ("p9.huge", 2, ""),
        ("m5.large", 0, ""),
    ],
)
def test_the_accelerator_is_named(name: str, gpus: int, shown: str) -> None:
    assert accelerator(name, gpus) == shown


@covers("scheduling-and-provisioning c.7.states")
def test_the_states_of_aws_are_ours() -> None:
    assert STATES == {
        "pending": "starting",
        "running": "running",
        "stopped": "stopped",
        "stopping": "stopping",
        "shutting-down": "terminating",
    }

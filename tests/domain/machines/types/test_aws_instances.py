"""What is known of AWS's instance types."""

from __future__ import annotations

import pytest
from tests.covers import covers

from determined_master.backends.aws.requests import STATES, machine_type
from determined_master.domain.machines.types.aws_instances import (
    TYPES,
    accelerator,
    gpus_of,
    price_per_hour,
)
from determined_master.settings.providers.aws import AwsProvider

GPUS = {
    1: "g4dn.xlarge g4dn.16xlarge g5.xlarge g5.16xlarge p2.xlarge p3.2xlarge g6.xlarge "
    "g6e.16xlarge p5.4xlarge",
    4: "g4dn.12xlarge g5.12xlarge g5.24xlarge p3.8xlarge g6.24xlarge g6e.12xlarge",
    8: "g4dn.metal g5.48xlarge p2.8xlarge p3.16xlarge p3dn.24xlarge p4d.24xlarge p4de.24xlarge "
    "g6.48xlarge g6e.48xlarge p5.48xlarge p5e.48xlarge p6-b200.48xlarge",
    16: "p2.16xlarge",
    0: "t2.medium t3.nano c4.8xlarge c5.18xlarge c5d.24xlarge c5n.18xlarge m4.16xlarge "
    "m5.24xlarge m5d.large m5dn.large m5n.large m5zn.12xlarge m6i.16xlarge",
}


@covers("scheduling-and-provisioning c.7.slots c.5.gpus c.5.cpu c.5.none")
@pytest.mark.parametrize("gpus", GPUS)
def test_a_known_type_has_its_gpus_as_slots(gpus: int) -> None:
    for name in GPUS[gpus].split():
        assert TYPES[name].gpus == gpus
        for has_cpu_slots in (False, True):
            settings = AwsProvider(type="aws", instance_type=name, cpu_slots_allowed=has_cpu_slots)
            known = machine_type(settings, "us-west-2")
            if gpus:
                assert (known.slots, known.device_type) == (gpus, "cuda")
            else:
                expected = (1, "cpu") if has_cpu_slots else (0, "")
                assert (known.slots, known.device_type) == expected


def test_every_family_of_the_table_is_known() -> None:
    families = (
        "g3 g3s g4dn g5 g5g g6 g6e p2 p3 p3dn p4d p4de p5 p5e p5en p6-b200 p6-b300 "
        "t2 t3 c4 c5 c5d c5n m4 m5 m5d m5dn m5n m5zn m6i"
    )
    assert sorted({name.split(".")[0] for name in TYPES}) == sorted(families.split())


def test_an_entry_has_gpus_with_a_kind_and_plausible_prices() -> None:
    for spec in TYPES.values():
        assert (spec.gpus > 0) == bool(spec.gpu)
        assert spec.vcpus > 0
        assert spec.memory_gib > 0
        if spec.on_demand is None:
            assert spec.spot is None
        else:
            assert spec.spot is not None
            assert 0 < spec.spot < spec.on_demand < 200


def test_a_price_is_that_of_the_market() -> None:
    assert price_per_hour("g4dn.xlarge", is_spot=False) == 0.526
    assert price_per_hour("g4dn.xlarge", is_spot=True) == 0.21
    assert price_per_hour("p5e.48xlarge", is_spot=False) is None
    assert price_per_hour("p9.huge", is_spot=False) is None


def test_the_price_of_the_settings_has_precedence() -> None:
    options = AwsProvider(type="aws", instance_type="g4dn.xlarge")
    assert machine_type(options, "").price_per_hour == 0.526
    contract = AwsProvider(type="aws", instance_type="g4dn.xlarge", price_per_hour=0.0)
    assert machine_type(contract, "").price_per_hour == 0.0


@covers("scheduling-and-provisioning c.7.unknown_type")
def test_instance_slots_have_precedence_over_the_table() -> None:
    assert gpus_of("p9.huge", 3) == 3
    assert gpus_of("p9.huge", None) is None
    assert gpus_of("p2.16xlarge", 3) == 3
    assert gpus_of("p2.16xlarge", None) == 16
    assert gpus_of("t2.medium", 0) == 0


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

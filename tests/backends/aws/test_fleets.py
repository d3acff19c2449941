"""Machines of AWS of several types, in several subnets, on one market or two."""

from __future__ import annotations

import base64
import logging
from datetime import datetime, timedelta
from typing import Any

import pytest
from moto.ec2.models import ec2_backends
from tests.backends.cloud.aws_place import AwsPlace
from tests.backends.cloud.ec2_server import ACCOUNT, Ec2Server
from tests.backends.cloud.start_of_machine import unpacked
from tests.contracts.machine_provider_contract import (
    MachineProviderContract,
    ids,
    listed,
    token,
    until_listed,
)
from tests.domain.builders import T0

from determined_master.domain.machines.offers import tried_sentence
from determined_master.ports.machines import LaunchFailed, ProviderFailed

pytestmark = pytest.mark.slow

TYPES = ("g4dn.xlarge", "g5.xlarge")
MINUTE = timedelta(minutes=1)


class FleetPlace(AwsPlace):
    """A pool of two types."""

    def __init__(self, server: Ec2Server, metadata_url: str, **changes: Any) -> None:
        self.now: datetime = T0
        super().__init__(server, metadata_url, **{"instance_types": TYPES, **changes})

    def make(self, pool: str, **options: Any) -> Any:
        """Its clock is the test's."""
        return super().make(pool, **{"now": lambda: self.now, **options})

    async def again_after_a_restart(self, mine: str) -> Any:
        """A new master repeats a launch."""
        provider = self.again()
        await provider.open()
        found = await provider.launch(2, mine, is_repeated=True)
        await provider.close()
        return found


@pytest.fixture
def place(ec2_server: Ec2Server, aws_metadata_url: str) -> FleetPlace:
    return FleetPlace(ec2_server, aws_metadata_url)


class TestContract(MachineProviderContract):
    """Of all providers."""


def subnets() -> list[str]:
    """Two that moto has."""
    by_zone = ec2_backends[ACCOUNT]["us-west-2"].subnets
    return sorted(id for zone in by_zone.values() for id in zone)[:2]


def texts(place: AwsPlace) -> str:
    """The sentence for users about the last launch."""
    report = place.provider.offers()
    return tried_sentence(report.tried, report.cooldowns)


def overrides(call: dict[str, str]) -> list[dict[str, str]]:
    """The offers of a fleet request."""
    prefix = "LaunchTemplateConfigs.1.Overrides."
    found: dict[str, dict[str, str]] = {}
    for name, value in call.items():
        if name.startswith(prefix):
            number, _, key = name[len(prefix) :].partition(".")
            found.setdefault(number, {})[key] = value
    return [found[number] for number in sorted(found, key=int)]


async def test_one_request_has_every_type_in_every_subnet(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    first, second = subnets()
    place = FleetPlace(ec2_server, aws_metadata_url, subnet_ids=(first, second))
    await place.provider.open()
    await place.provider.launch(2, token())
    await place.provider.close()
    assert ec2_server.calls("RunInstances") == []
    [call] = ec2_server.calls("CreateFleet")
    assert [(o["InstanceType"], o["SubnetId"]) for o in overrides(call)] == [
        ("g4dn.xlarge", first),
        ("g4dn.xlarge", second),
        ("g5.xlarge", first),
        ("g5.xlarge", second),
    ]
    assert [float(o["Priority"]) for o in overrides(call)] == [0, 1, 2, 3]
    assert call["TargetCapacitySpecification.TotalTargetCapacity"] == "2"
    assert call["OnDemandOptions.AllocationStrategy"] == "prioritized"
    assert texts(place) == f"tried g4dn.xlarge in {first}, on-demand: 2 started"


async def test_the_template_has_the_guarantees_of_each_machine(place: FleetPlace) -> None:
    await place.provider.open()
    await place.provider.launch(1, token())
    await place.provider.launch(1, token())
    await place.provider.close()
    [call] = place.server.calls("CreateLaunchTemplate")
    data = "LaunchTemplateData."
    assert call[f"{data}MetadataOptions.HttpTokens"] == "required"
    assert call[f"{data}MetadataOptions.HttpPutResponseHopLimit"] == "2"
    assert call[f"{data}InstanceInitiatedShutdownBehavior"] == "terminate"
    assert call[f"{data}BlockDeviceMapping.1.Ebs.DeleteOnTermination"] == "true"
    assert call[f"{data}TagSpecification.1.ResourceType"] == "volume"
    script = unpacked(base64.b64decode(call[f"{data}UserData"]).decode())
    assert script.startswith("#!/bin/bash\n")


async def test_machines_have_the_tags_of_the_pool_and_their_type(place: FleetPlace) -> None:
    await place.provider.open()
    mine = token()
    place.server.fleets.refused["g4dn.xlarge", "", "on-demand"] = "InsufficientInstanceCapacity"
    [machine] = await place.provider.launch(1, mine)
    [found] = (await until_listed(place.provider, {machine.id})).values()
    assert (machine.instance_type, machine.price_per_hour) == ("g5.xlarge", 1.006)
    assert (found.instance_type, found.price_per_hour) == ("g5.xlarge", 1.006)
    tags = {tag["key"]: tag["value"] for tag in place.server.instance(machine.id).get_tags()}
    assert tags["determined-launch"] == mine
    assert tags["determined-resource-pool"] == "gpus"
    await place.provider.close()


async def test_a_type_without_room_is_left_out_and_the_answer_names_no_account(
    place: FleetPlace, caplog: pytest.LogCaptureFixture
) -> None:
    await place.provider.open()
    key = ("g4dn.xlarge", "", "on-demand")
    place.server.fleets.refused[key] = "VcpuLimitExceeded"
    with caplog.at_level(logging.WARNING):
        await place.provider.launch(1, token())
    until = (T0 + 3 * MINUTE).strftime("%H:%M:%S UTC")
    assert texts(place) == (
        "tried g5.xlarge, on-demand: 1 started; "
        f"g4dn.xlarge, on-demand: quota, left out until {until}"
    )
    assert "VcpuLimitExceeded" in caplog.text
    assert "ask AWS for a higher quota" in caplog.text
    await place.provider.launch(1, token())
    assert [o["InstanceType"] for o in overrides(place.server.calls("CreateFleet")[1])] == [
        "g5.xlarge"
    ]
    place.now += 3 * MINUTE
    del place.server.fleets.refused[key]
    await place.provider.launch(1, token())
    assert "g4dn.xlarge, on-demand: 1 started" in texts(place)
    await place.provider.close()


async def test_spot_is_preferred_and_the_usual_price_is_paid_where_there_is_none(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    place = FleetPlace(ec2_server, aws_metadata_url, spot="prefer", max_price=1.2)
    await place.provider.open()
    [machine] = await place.provider.launch(1, token())
    assert machine.is_spot
    ec2_server.fleets.refused = {
        ("g4dn.xlarge", "", "spot"): "MaxSpotInstanceCountExceeded",
        ("g5.xlarge", "", "spot"): "SpotMaxPriceTooLow",
    }
    [other] = await place.provider.launch(1, token())
    assert not other.is_spot
    answers = {t.offer.name: t.answer for t in place.provider.offers().tried}
    assert answers == {
        "g4dn.xlarge, spot": "quota",
        "g5.xlarge, spot": "price",
        "g4dn.xlarge, on-demand": "1 started",
    }
    spot, again, on_demand = ec2_server.calls("CreateFleet")
    assert spot["SpotOptions.AllocationStrategy"] == "capacity-optimized-prioritized"
    assert {o["MaxPrice"] for o in overrides(again)} == {"1.2"}
    assert not any("MaxPrice" in o for o in overrides(on_demand))
    assert len({spot["ClientToken"], again["ClientToken"], on_demand["ClientToken"]}) == 3
    await place.provider.close()


async def test_a_fleet_that_gives_some_is_a_launch_of_some(place: FleetPlace) -> None:
    await place.provider.open()
    place.server.fleets.left = {
        ("g4dn.xlarge", "", "on-demand"): 2,
        ("g5.xlarge", "", "on-demand"): 1,
    }
    machines = await place.provider.launch(8, token())
    assert len(machines) == 3
    answers = {t.offer.name: t.answer for t in place.provider.offers().tried}
    assert answers["g4dn.xlarge, on-demand"] == "2 started, then no room"
    with pytest.raises(LaunchFailed, match="every machine type and place of the pool is left out"):
        await place.provider.launch(5, token())
    assert len(place.server.calls("CreateFleet")) == 1
    await place.provider.close()


async def test_a_refusal_of_the_whole_request_tries_no_other_market(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    place = FleetPlace(ec2_server, aws_metadata_url, spot="prefer")
    await place.provider.open()
    ec2_server.refusals["CreateFleet"] = ("UnauthorizedOperation", "arn:aws:iam::123456789012:x")
    with pytest.raises(LaunchFailed, match=r"permissions of docs/provisioning\.md"):
        await place.provider.launch(1, token())
    assert len(ec2_server.calls("CreateFleet")) == 1
    assert "123456789012" not in texts(place)
    assert len(place.provider.offers().choice.offers) == 4, "nothing is left out"
    await place.provider.close()


async def test_a_request_without_an_answer_is_repeated_with_the_same_token(
    place: FleetPlace,
) -> None:
    await place.provider.open()
    mine = token()
    place.server.refusals["CreateFleet"] = ("InternalError", "try again")
    with pytest.raises(ProviderFailed) as caught:
        await place.provider.launch(2, mine)
    assert not isinstance(caught.value, LaunchFailed)
    del place.server.refusals["CreateFleet"]
    first = await place.provider.launch(2, mine, is_repeated=True)
    tokens = [call["ClientToken"] for call in place.server.calls("CreateFleet")]
    assert tokens[0] == tokens[1]
    again = await place.again_after_a_restart(mine)
    assert ids(again) == ids(first)
    assert len(await listed(place.provider)) == 2
    await place.provider.close()


async def test_a_template_that_somebody_deleted_is_made_again(place: FleetPlace) -> None:
    await place.provider.open()
    place.server.refusals["CreateFleet"] = (
        "InvalidLaunchTemplateName.NotFoundException",
        "there is none",
    )
    with pytest.raises(LaunchFailed):
        await place.provider.launch(1, token())
    del place.server.refusals["CreateFleet"]
    assert len(await place.provider.launch(1, token())) == 1
    assert len(place.server.calls("CreateLaunchTemplate")) == 2
    await place.provider.close()


async def test_templates_of_earlier_settings_are_deleted(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    places = [
        FleetPlace(ec2_server, aws_metadata_url, tag_value="one", root_volume_size=size)
        for size in (200, 300)
    ]
    for place in places:
        await place.provider.open()
        await place.provider.launch(1, token())
        await place.provider.close()
    names = [call["LaunchTemplateName"] for call in ec2_server.calls("CreateLaunchTemplate")]
    assert len(set(names)) == 2
    left = ec2_backends[ACCOUNT]["us-west-2"].launch_templates.values()
    assert [t.name for t in left if t.name in names] == names[1:]


async def test_a_price_above_the_bound_is_not_asked_for(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    place = FleetPlace(ec2_server, aws_metadata_url, max_price=0.6)
    await place.provider.open()
    await place.provider.launch(1, token())
    [call] = ec2_server.calls("CreateFleet")
    assert [o["InstanceType"] for o in overrides(call)] == ["g4dn.xlarge"]
    [out] = place.provider.offers().choice.left_out
    assert out.reason == "1.006 USD per hour is more than max_price (0.6)"
    await place.provider.close()

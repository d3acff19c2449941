"""Spot instances of AWS (scheduling-and-provisioning c.8)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.backends.cloud.aws_place import AwsPlace, SpotPlace
from tests.backends.cloud.ec2_server import Ec2Server
from tests.contracts.machine_provider_contract import (
    MachineProviderContract,
    ids,
    listed,
    token,
    until_listed,
)
from tests.covers import covers

from determined_master.backends.aws.ec2 import ROOM
from determined_master.ports.machines import LaunchFailed
from determined_master.settings.providers.aws import AwsTag

pytestmark = pytest.mark.slow


@pytest.fixture
def place(ec2_server: Ec2Server, aws_metadata_url: str) -> SpotPlace:
    return SpotPlace(ec2_server, aws_metadata_url)


@covers("scheduling-and-provisioning c.8.restart c.8.terminate c.8.listed")
class TestContract(MachineProviderContract):
    """Of all providers."""


async def launched(place: AwsPlace, count: int = 1) -> set[str]:
    """Open the provider and start machines; their ids."""
    await place.provider.open()
    return ids(await place.provider.launch(count, token()))


@covers("scheduling-and-provisioning c.8.request c.8.metadata")
@pytest.mark.parametrize("price", ["OnDemand", "1.25"])
async def test_machines_are_bought_on_the_spot_market_by_one_call(
    ec2_server: Ec2Server, aws_metadata_url: str, price: str
) -> None:
    place = SpotPlace(ec2_server, aws_metadata_url, spot_max_price=price)
    assert place.provider.type.is_preemptible
    await launched(place, 3)
    await place.provider.close()
    [call] = ec2_server.calls("RunInstances")
    assert (call["MinCount"], call["MaxCount"]) == ("1", "3")
    market = "InstanceMarketOptions"
    assert call[f"{market}.MarketType"] == "spot"
    assert call[f"{market}.SpotOptions.SpotInstanceType"] == "one-time"
    assert call[f"{market}.SpotOptions.InstanceInterruptionBehavior"] == "terminate"
    wanted = None if price == "OnDemand" else price
    assert call.get(f"{market}.SpotOptions.MaxPrice") == wanted
    assert call["MetadataOptions.HttpTokens"] == "required"
    assert call["MetadataOptions.HttpPutResponseHopLimit"] == "2"


async def test_machines_at_the_usual_price_have_no_market_options(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    place = AwsPlace(ec2_server, aws_metadata_url)
    [machine_id] = await launched(place)
    assert not (await listed(place.provider))[machine_id].is_spot
    await place.provider.close()
    [call] = ec2_server.calls("RunInstances")
    assert not [name for name in call if name.startswith("InstanceMarketOptions")]


def _tags(call: dict[str, str]) -> dict[str, dict[str, str]]:
    """The tags of a launch by the kind of what is tagged."""
    found: dict[str, dict[str, str]] = {}
    number = 1
    while kind := call.get(f"TagSpecification.{number}.ResourceType"):
        prefix = f"TagSpecification.{number}.Tag."
        keys = {name: value for name, value in call.items() if name.startswith(prefix)}
        found[kind] = {
            value: call[name.removesuffix("Key") + "Value"]
            for name, value in keys.items()
            if name.endswith(".Key")
        }
        number += 1
    return found


@covers("scheduling-and-provisioning c.8.tags")
async def test_machine_disk_and_request_are_tagged_at_launch(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    tags = (AwsTag(key="team", value="vision"),)
    place = SpotPlace(ec2_server, aws_metadata_url, custom_tags=tags)
    await launched(place)
    await place.provider.close()
    [call] = ec2_server.calls("RunInstances")
    found = _tags(call)
    assert found.keys() == {"instance", "volume", "spot-instances-request"}
    for each in found.values():
        assert each["team"] == "vision"
        assert each["determined-resource-pool"] == "gpus"
        assert each["determined-master-address"] == "http://det.example:8080"
    assert ec2_server.calls("CreateTags") == []


@covers("scheduling-and-provisioning c.8.listed")
async def test_machines_are_listed_as_spot_ones(place: SpotPlace) -> None:
    started = await launched(place, 2)
    found = await until_listed(place.provider, started)
    assert all(machine.is_spot for machine in found.values())
    assert ec2_calls(place) <= {"DescribeImages", "DescribeInstances", "RunInstances"}
    await place.provider.close()


def ec2_calls(place: AwsPlace) -> set[str]:
    return {call["Action"] for call in place.server.requests}


@covers("scheduling-and-provisioning c.8.no_offer c.8.no_fallback")
@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (ROOM, "try another zone"),
        ("SpotMaxPriceTooLow", "raise provider.spot_max_price"),
        ("MaxSpotInstanceCountExceeded", "ask AWS for a higher quota"),
    ],
)
async def test_a_market_without_an_offer_fails_the_launch_with_its_remedy(
    place: SpotPlace, code: str, remedy: str
) -> None:
    place.server.refusals["RunInstances"] = (code, "none")
    with pytest.raises(LaunchFailed, match=remedy):
        await launched(place)
    assert len(place.server.calls("RunInstances")) == 1
    assert await listed(place.provider) == {}
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.role")
async def test_a_missing_role_is_named_with_the_command_that_creates_it(place: SpotPlace) -> None:
    code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
    place.server.refusals["RunInstances"] = (code, "no role")
    with pytest.raises(LaunchFailed, match="create-service-linked-role --aws-service-name spot"):
        await launched(place)
    await place.provider.close()


async def test_machines_that_a_lost_answer_has_started_are_found_by_their_token(
    place: SpotPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.provider.open()
    mine = token()
    first = await place.provider.launch(1, mine)
    again: Any = await place.provider.launch(1, mine)
    assert ids(again) == ids(first)
    assert len(place.server.calls("RunInstances")) == 1
    await place.provider.close()

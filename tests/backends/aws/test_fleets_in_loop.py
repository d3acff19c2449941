"""The loop of a pool with a real provider of several types: nothing is doubled or lost."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from tests.backends.aws.test_fleets import FleetPlace, overrides, texts
from tests.backends.cloud.ec2_server import Ec2Server
from tests.contracts.machine_provider_contract import listed
from tests.provision.machine_world import World

from determined_master.ports.machines import ProviderFailed
from determined_master.store.db import Database

pytestmark = pytest.mark.slow
FULL = "InsufficientInstanceCapacity"
MINUTE = timedelta(minutes=1)


async def test_a_gang_gets_its_machines_once_though_answers_are_lost(
    pool: Database,
    monkeypatch: pytest.MonkeyPatch,
    ec2_server: Ec2Server,
    aws_metadata_url: str,
) -> None:
    place = FleetPlace(ec2_server, aws_metadata_url)
    rules = ec2_server.fleets
    rules.refused["g4dn.xlarge", "", "on-demand"] = FULL
    rules.loses_answers = True
    world = World(pool, monkeypatch, provider=place.provider)
    await world.lead()
    world.submit(slots=4)
    await world.tick()
    assert len(ec2_server.launched) == 2, "they run, and nobody knows"
    for _ in range(3):
        await world.tick()
    rules.loses_answers = False
    for _ in range(5):
        await world.tick()
    assert len(ec2_server.launched) == 2
    assert len(await listed(place.provider)) == 2
    world.begin()  # another master leads
    await world.lead()
    for _ in range(5):
        await world.tick(MINUTE)
    assert len(ec2_server.launched) == 2
    await place.provider.close()


async def test_a_fleet_that_gives_three_of_eight_is_completed_elsewhere(
    pool: Database,
    monkeypatch: pytest.MonkeyPatch,
    ec2_server: Ec2Server,
    aws_metadata_url: str,
) -> None:
    place = FleetPlace(ec2_server, aws_metadata_url, spot="prefer")
    rules = ec2_server.fleets
    rules.left = {("g4dn.xlarge", "", "spot"): 2, ("g5.xlarge", "", "spot"): 1}
    world = World(pool, monkeypatch, provider=place.provider, max_machines=8)
    await world.lead()
    for _ in range(4):
        world.submit(slots=4)
    await world.tick()
    assert len(ec2_server.launched) == 3
    await world.tick()
    assert len(ec2_server.launched) == 8
    spot, on_demand = ec2_server.calls("CreateFleet")
    assert spot["TargetCapacitySpecification.TotalTargetCapacity"] == "8"
    assert on_demand["TargetCapacitySpecification.TotalTargetCapacity"] == "5"
    assert on_demand["TargetCapacitySpecification.DefaultTargetCapacityType"] == "on-demand"
    assert len(overrides(on_demand)) == 2
    assert "g4dn.xlarge, on-demand: 5 started" in texts(place)
    for _ in range(5):
        await world.tick(MINUTE)
    assert len(ec2_server.launched) == 8
    await place.provider.close()


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "Throttling", "ExpiredToken"])
async def test_refusals_of_every_call_in_a_launch_double_no_machine(
    pool: Database,
    monkeypatch: pytest.MonkeyPatch,
    ec2_server: Ec2Server,
    aws_metadata_url: str,
    code: str,
) -> None:
    """Throttling, and credentials that expire after the order of a launch has left."""
    place = FleetPlace(ec2_server, aws_metadata_url)
    ec2_server.fleets.loses_answers = True
    world = World(pool, monkeypatch, provider=place.provider)
    await world.lead()
    world.submit(slots=4)
    await world.tick()
    assert len(ec2_server.launched) == 2
    ec2_server.fleets.loses_answers = False
    calls = ("CreateFleet", "DescribeInstances", "DescribeLaunchTemplates")
    ec2_server.refusals = dict.fromkeys(calls, (code, "not now"))
    for _ in range(3):
        with contextlib.suppress(ProviderFailed):  # the loop runs again after it
            await world.tick(MINUTE)
    del ec2_server.refusals["DescribeInstances"]
    for _ in range(2):
        await world.tick(MINUTE)
    ec2_server.refusals = {}
    for _ in range(5):
        await world.tick(MINUTE)
    assert len(ec2_server.launched) == 2
    assert len(await listed(place.provider)) == 2
    await place.provider.close()


async def test_two_masters_with_one_tag_see_the_machines_of_each_other(
    pool: Database,
    monkeypatch: pytest.MonkeyPatch,
    ec2_server: Ec2Server,
    aws_metadata_url: str,
) -> None:
    one, other = (FleetPlace(ec2_server, aws_metadata_url, tag_value="two-masters") for _ in "ab")
    world = World(pool, monkeypatch, provider=one.provider)
    await world.lead()
    world.submit(slots=4)
    await world.tick()
    await other.provider.open()
    assert (await listed(other.provider)).keys() == {*ec2_server.launched}
    for place in (one, other):
        await place.provider.close()

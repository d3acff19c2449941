"""Spot instances of AWS (scheduling-and-provisioning c.8)."""

from __future__ import annotations

import base64
import logging
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from tests.backends.cloud.aws_place import SpotPlace
from tests.backends.cloud.ec2_server import Ec2Server
from tests.contracts.machine_provider_contract import (
    MachineProviderContract,
    ids,
    listed,
    token,
    until_listed,
)
from tests.covers import covers

from determined_master import clock
from determined_master.backends.aws import spot
from determined_master.backends.aws.spot import skew_of
from determined_master.backends.aws.spot_requests import LOST_AFTER
from determined_master.ports import LaunchFailed, ProviderFailed
from determined_master.settings.aws import AwsTag

pytestmark = pytest.mark.slow


@pytest.fixture
def place(ec2_server: Ec2Server, aws_metadata_url: str) -> SpotPlace:
    return SpotPlace(ec2_server, aws_metadata_url)


@covers("scheduling-and-provisioning c.8.restart c.8.terminate")
class TestContract(MachineProviderContract):
    """Of all providers; none of the requests is fulfilled here."""


async def requested(place: SpotPlace, count: int = 1) -> list[str]:
    """Open the provider and ask for machines; the ids of the requests."""
    await place.provider.open()
    return sorted(ids(await place.provider.launch(count, token())))


@covers("scheduling-and-provisioning c.8.request")
@pytest.mark.parametrize("price", ["OnDemand", "1.25"])
async def test_machines_are_asked_for_by_requests_that_are_fulfilled_once(
    ec2_server: Ec2Server, aws_metadata_url: str, price: str
) -> None:
    place = SpotPlace(ec2_server, aws_metadata_url, spot_max_price=price)
    assert place.provider.type.is_preemptible
    await requested(place, 3)
    await place.provider.close()
    [call] = place.server.calls("RequestSpotInstances")
    assert call["InstanceCount"] == "3"
    assert call["Type"] == "one-time"
    assert call["InstanceInterruptionBehavior"] == "terminate"
    assert call.get("SpotPrice") == (None if price == "OnDemand" else price)
    assert call["LaunchSpecification.InstanceType"] == "g4dn.xlarge"
    assert call["LaunchSpecification.KeyName"] == "key"
    assert call["LaunchSpecification.BlockDeviceMapping.1.Ebs.VolumeSize"] == "200"
    script = base64.b64decode(call["LaunchSpecification.UserData"]).decode()
    assert script.startswith("#!/bin/bash\n")


@covers("scheduling-and-provisioning c.8.listed c.8.tags")
async def test_a_request_that_is_fulfilled_is_its_instance(place: SpotPlace) -> None:
    first, second = await requested(place, 2)
    instance = place.server.fulfil(first)
    found = {m.id: m for m in await place.provider.list_machines()}
    assert found.keys() == {instance, second}
    assert (found[instance].state, found[second].state) == ("running", "pending")
    assert found[instance].agent_name == instance
    assert all(m.is_spot for m in found.values())
    tags = {tag["key"]: tag["value"] for tag in place.server.instance(instance).get_tags()}
    assert tags["Name"] == "determined-ai-agent"
    assert tags["determined-resource-pool"] == "gpus"
    assert tags["determined-master-address"] == "http://det.example:8080"
    await place.provider.list_machines()
    assert len(place.server.calls("CreateTags")) == 1
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.tags")
async def test_custom_tags_are_put_on_spot_instances_too(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    tags = (AwsTag(key="team", value="vision"),)
    place = SpotPlace(ec2_server, aws_metadata_url, custom_tags=tags)
    [request] = await requested(place)
    instance = ec2_server.fulfil(request)
    await place.provider.list_machines()
    found = {tag["key"]: tag["value"] for tag in ec2_server.instance(instance).get_tags()}
    assert found["team"] == "vision"
    await place.provider.close()


async def test_machines_without_tags_are_listed_with_a_warning(
    place: SpotPlace, caplog: pytest.LogCaptureFixture
) -> None:
    [request] = await requested(place)
    instance = place.server.fulfil(request)
    place.server.refusals["CreateTags"] = ("UnauthorizedOperation", "no")
    for _ in range(2):
        assert (await listed(place.provider)).keys() == {instance}
    assert caplog.text.count("spot machines have no tags") == 1
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.listed")
async def test_an_instance_on_its_way_out_hides_no_missing_one(place: SpotPlace) -> None:
    [request] = await requested(place)
    instance = place.server.fulfil(request)
    await until_listed(place.provider, {instance})
    place.server.instance(instance).terminate()
    assert await place.provider.list_machines() == []
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.restart")
async def test_requests_and_their_instances_are_found_again(place: SpotPlace) -> None:
    first, second = await requested(place, 2)
    instance = place.server.fulfil(first)
    await place.provider.close()
    later = place.again()
    await later.open()
    await until_listed(later, {instance, second})
    await later.close()


@covers("scheduling-and-provisioning c.8.tracked c.8.invisible")
async def test_a_request_counts_before_aws_shows_it(
    ec2_server: Ec2Server, aws_metadata_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    hours = Hours()
    place = SpotPlace(ec2_server, aws_metadata_url)
    place.provider = place.make("gpus", now=hours)
    await place.provider.open()
    [request] = ids(await place.provider.launch(1, token()))
    ec2_server.unlisted.add(request)
    assert (await listed(place.provider)).keys() == {request}
    hours.gone += LOST_AFTER - timedelta(minutes=2)
    assert (await listed(place.provider)).keys() == {request}
    hours.gone += timedelta(minutes=2)
    assert await listed(place.provider) == {}
    assert "AWS does not show it any more" in caplog.text
    await place.provider.close()


class Hours:
    """A clock that a test can put forward."""

    def __init__(self) -> None:
        self.gone = timedelta(0)

    def __call__(self) -> datetime:
        return clock.now() + self.gone


async def test_a_request_that_was_taken_and_is_not_listed_yet_is_not_made_twice(
    place: SpotPlace,
) -> None:
    """The answer was lost; a second try begins later, and AWS will not have that by the token."""
    await place.provider.open()
    place.server.refusals["RequestSpotInstances"] = ("IdempotentParameterMismatch", "differs")
    mine = token()
    with pytest.raises(ProviderFailed, match="differs") as caught:
        await place.provider.launch(1, mine)
    assert not isinstance(caught.value, LaunchFailed), "the order is given again by its token"
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.no_offer c.8.told c.8.no_fallback")
async def test_a_lack_of_capacity_is_logged_once_and_the_request_stays(
    place: SpotPlace, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = await requested(place, 2)
    place.server.spot_request(first).made_at = "2026-01-02T00:00:00.000Z"
    place.server.spot_request(second).made_at = "2026-01-01T00:00:00.000Z"
    place.server.say(first, "capacity-not-available", message="no\n room")
    place.server.say(second, "price-too-low")
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert (await listed(place.provider)).keys() == {first, second}
    told = [(r.request, r.status) for r in caplog.records if hasattr(r, "request")]
    assert told == [(second, "price-too-low"), (first, "capacity-not-available")]
    assert "is not fulfilled and may need action: no room" in caplog.text
    assert place.server.calls("RunInstances") == []
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.over")
@pytest.mark.parametrize(
    ("status", "is_told"),
    [
        ("bad-parameters", True),
        ("constraint-not-fulfillable", True),
        ("limit-exceeded", True),
        ("instance-terminated-by-user", False),
    ],
)
async def test_an_ended_request_is_forgotten(
    place: SpotPlace, caplog: pytest.LogCaptureFixture, status: str, is_told: bool
) -> None:
    [request] = await requested(place)
    place.server.say(request, status, state="failed")
    with caplog.at_level(logging.ERROR):
        assert await listed(place.provider) == {}
        asked = len(place.server.calls("DescribeSpotInstanceRequests"))
        assert await listed(place.provider) == {}
    assert [r.status for r in caplog.records if hasattr(r, "status")] == [status] * is_told
    # The two listings of each look, and none for the request any more.
    assert len(place.server.calls("DescribeSpotInstanceRequests")) == asked + 2
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.orphans")
async def test_an_instance_whose_request_was_cancelled_too_late_is_ended(place: SpotPlace) -> None:
    [request] = await requested(place)
    instance = place.server.fulfil(request)
    await place.provider.terminate([request])
    assert await listed(place.provider) == {}
    assert place.server.instance(instance)._state.name == "terminated"
    await place.provider.close()


async def test_a_stale_request_to_take_back_does_not_end_the_instance_it_has_got(
    place: SpotPlace,
) -> None:
    """A new lead knows requests of the one before, which may have been granted meanwhile."""
    [request] = await requested(place)
    instance = place.server.fulfil(request)
    await until_listed(place.provider, {instance})
    await place.provider.terminate([request])
    await until_listed(place.provider, {instance})
    assert place.server.instance(instance)._state.name == "running"
    await place.provider.close()


async def test_more_machines_than_a_filter_takes_are_listed(
    place: SpotPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spot, "MAX_VALUES", 2)
    instances = {place.server.fulfil(request) for request in await requested(place, 3)}
    await until_listed(place.provider, instances)
    asked = [c for c in place.server.calls("DescribeInstances") if "Filter.1.Value.1" in c]
    assert len(asked) == 2
    assert all("Filter.1.Value.3" not in call for call in asked)
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.terminate")
async def test_requests_are_cancelled_and_instances_terminated(place: SpotPlace) -> None:
    first, second = await requested(place, 2)
    instance = place.server.fulfil(first)
    await until_listed(place.provider, {instance, second})
    await place.provider.terminate([instance, second, "sir-unknown"])
    assert await listed(place.provider) == {}
    assert place.server.spot_request(second).state == "cancelled"
    assert place.server.instance(instance)._state.name == "terminated"
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.tries")
async def test_a_beginning_that_aws_takes_for_past_is_moved(place: SpotPlace) -> None:
    place.server.spot_begins_after = clock.now() + timedelta(seconds=35)
    before = clock.now()
    await requested(place)
    await place.provider.close()
    begins = [
        datetime.fromisoformat(call["ValidFrom"])
        for call in place.server.calls("RequestSpotInstances")
    ]
    steps = [(begin - before).total_seconds() for begin in begins]
    assert 10 <= steps[0] < 20
    for earlier, later in pairwise(steps):
        assert 10 <= later - earlier < 20
    assert steps[-1] > 35


@covers("scheduling-and-provisioning c.8.tries")
async def test_after_six_tries_the_clock_is_to_blame(place: SpotPlace) -> None:
    place.server.spot_begins_after = clock.now() + timedelta(hours=1)
    with pytest.raises(LaunchFailed, match="correct the clock of the master's machine"):
        await requested(place)
    assert len(place.server.calls("RequestSpotInstances")) == 6
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.tries c.8.role")
async def test_another_refusal_ends_the_launch_with_its_remedy(place: SpotPlace) -> None:
    code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
    place.server.refusals["RequestSpotInstances"] = (code, "no role")
    with pytest.raises(LaunchFailed, match="create-service-linked-role --aws-service-name spot"):
        await requested(place)
    assert len(place.server.calls("RequestSpotInstances")) == 1
    await place.provider.close()


@covers("scheduling-and-provisioning c.8.skew")
async def test_a_clock_that_is_behind_begins_requests_by_the_clock_of_aws(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    ec2_server.spot_begins_after = clock.now()
    place = SpotPlace(ec2_server, aws_metadata_url)
    place.provider = place.make("gpus", now=lambda: clock.now() - timedelta(minutes=30))
    await requested(place)
    await place.provider.close()
    [call] = ec2_server.calls("RequestSpotInstances")
    ahead = datetime.fromisoformat(call["ValidFrom"]) - clock.now()
    assert timedelta(0) < ahead < timedelta(seconds=25)


NOW = datetime.fromisoformat("2026-03-01T12:00:00+00:00")


@covers("scheduling-and-provisioning c.8.skew c.8.skew_unknown")
@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("Sun, 01 Mar 2026 12:00:01 GMT", 10),
        ("Sun, 01 Mar 2026 12:00:10 GMT", 10),
        ("Sun, 01 Mar 2026 12:00:11 GMT", 20),
        ("Sun, 01 Mar 2026 12:00:00 GMT", 0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0),
        ("today", 0),
        ("", 0),
    ],
)
def test_the_skew_is_rounded_up_and_never_negative(date: str, seconds: int) -> None:
    answer = {"ResponseMetadata": {"HTTPHeaders": {"date": date} if date else {}}}
    assert skew_of(answer, NOW) == timedelta(seconds=seconds)

"""Machines of AWS at their usual price (scheduling-and-provisioning c.7)."""

from __future__ import annotations

import base64
import logging
from random import Random
from typing import Any

import pytest
from tests.backends.cloud.aws_place import AwsPlace, settings
from tests.backends.cloud.cloud_place import site
from tests.backends.cloud.ec2_server import Ec2Server
from tests.backends.cloud.metadata_server import ON_AWS, aws_metadata
from tests.backends.cloud.start_of_machine import Machine, unpacked
from tests.contracts.machine_provider_contract import (
    MachineProviderContract,
    ids,
    listed,
    token,
    until_listed,
)
from tests.covers import covers

from determined_master.backends.aws.ec2 import Ec2
from determined_master.backends.aws.provider import AwsMachines
from determined_master.backends.cloud.metadata import AwsMetadata
from determined_master.backends.cloud.start_script import Boot, start_script
from determined_master.ports.machines import LaunchFailed, ProviderFailed
from determined_master.settings.providers.aws import AwsNetworkInterface, AwsTag

pytestmark = pytest.mark.slow


@pytest.fixture
def place(ec2_server: Ec2Server, aws_metadata_url: str) -> AwsPlace:
    return AwsPlace(ec2_server, aws_metadata_url)


@covers("scheduling-and-provisioning c.7.once c.7.launch c.7.terminate")
class TestContract(MachineProviderContract):
    """Of all providers."""


async def launched(
    server: Ec2Server, metadata_url: str, count: int = 1, **changes: Any
) -> dict[str, str]:
    """The parameters of the call that started machines."""
    place = AwsPlace(server, metadata_url, **changes)
    await place.provider.open()
    await place.provider.launch(count, token())
    await place.provider.close()
    [call] = server.calls("RunInstances")
    return call


def tags_of(call: dict[str, str]) -> dict[str, str]:
    prefix = "TagSpecification.1.Tag."
    numbers = {name[len(prefix) :].split(".")[0] for name in call if name.startswith(prefix)}
    return {call[f"{prefix}{n}.Key"]: call[f"{prefix}{n}.Value"] for n in numbers}


@covers("scheduling-and-provisioning c.7.launch c.7.shutdown c.7.metadata c.7.volume")
async def test_machines_are_asked_for_by_one_call(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    call = await launched(ec2_server, aws_metadata_url, 3)
    assert (call["MinCount"], call["MaxCount"]) == ("1", "3")
    assert call["ImageId"] == settings().image_id
    assert call["InstanceType"] == "g4dn.xlarge"
    assert call["KeyName"] == "key"
    assert call["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert call["MetadataOptions.HttpTokens"] == "required"
    assert call["MetadataOptions.HttpPutResponseHopLimit"] == "2"
    disk = {n.split(".", 2)[2]: v for n, v in call.items() if n.startswith("BlockDeviceMapping.1")}
    assert disk == {
        "DeviceName": "/dev/xvda",
        "Ebs.VolumeSize": "200",
        "Ebs.VolumeType": "gp2",
        "Ebs.DeleteOnTermination": "true",
    }
    assert "BlockDeviceMapping.2.DeviceName" not in call
    script = unpacked(base64.b64decode(call["UserData"]).decode())
    assert script.startswith("#!/bin/bash\n")
    assert "--env DET_MASTER_HOST=det.example" in script
    assert "--env DET_SLOT_TYPE=cuda" in script
    assert "--env DET_MACHINE_CLOUD=aws" in script


@covers("scheduling-and-provisioning c.7.volume")
async def test_the_disk_has_the_type_and_iops_of_the_settings(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    call = await launched(
        ec2_server, aws_metadata_url, root_volume_type="gp3", root_volume_iops=6000
    )
    assert call["BlockDeviceMapping.1.Ebs.VolumeType"] == "gp3"
    assert call["BlockDeviceMapping.1.Ebs.Iops"] == "6000"


@covers("scheduling-and-provisioning c.7.tags c.7.name c.7.tag")
async def test_machines_are_tagged_and_custom_tags_take_no_place_of_ours(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    more = (AwsTag(key="team", value="vision"), AwsTag(key="managed_by", value="somebody"))
    call = await launched(ec2_server, aws_metadata_url, tag_value="", custom_tags=more)
    tags = tags_of(call)
    del tags["determined-launch"]
    assert tags == {
        "team": "vision",
        "Name": "determined-ai-agent",
        "managed_by": ON_AWS["instance-id"],
        "determined-resource-pool": "gpus",
        "determined-master-address": "http://det.example:8080",
    }


@covers("scheduling-and-provisioning c.7.tag")
async def test_a_master_elsewhere_has_a_tag_of_its_product(ec2_server: Ec2Server) -> None:
    with aws_metadata({}) as url:
        tags = tags_of(await launched(ec2_server, url, tag_value=""))
    assert tags["managed_by"] == "determined-ai-determined"


@covers("scheduling-and-provisioning c.7.interface c.7.profile c.7.logs")
async def test_network_profile_and_logs_are_as_set(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    net = AwsNetworkInterface(public_ip=False, security_group_id="sg-1", subnet_id="subnet-1")
    arn = "arn:aws:iam::123456789012:instance-profile/agents"
    ec2_server.refusals["RunInstances"] = ("InvalidSubnetID.NotFound", "no subnet-1")
    place = AwsPlace(
        ec2_server,
        aws_metadata_url,
        network_interface=net,
        iam_instance_profile_arn=arn,
        log_group="agents",
        log_stream="one",
    )
    await place.provider.open()
    with pytest.raises(LaunchFailed, match=r"InvalidSubnetID\.NotFound: no subnet-1"):
        await place.provider.launch(1, token())
    await place.provider.close()
    [call] = ec2_server.calls("RunInstances")
    assert call["IamInstanceProfile.Arn"] == arn
    # Tasks in containers get the profile's credentials.
    assert call["MetadataOptions.HttpPutResponseHopLimit"] == "2"
    interface = {n: v for n, v in call.items() if n.startswith("NetworkInterface.1.")}
    assert interface == {
        "NetworkInterface.1.DeviceIndex": "0",
        "NetworkInterface.1.AssociatePublicIpAddress": "false",
        "NetworkInterface.1.DeleteOnTermination": "true",
        "NetworkInterface.1.SubnetId": "subnet-1",
        "NetworkInterface.1.SecurityGroupId.1": "sg-1",
    }
    script = unpacked(base64.b64decode(call["UserData"]).decode())
    logs = "awslogs-region=us-west-2 --log-opt awslogs-group=agents --log-opt awslogs-stream=one"
    assert f"--log-driver awslogs --log-opt {logs}" in script


async def test_without_an_image_the_journal_goes_to_the_group_in_the_region(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    call = await launched(ec2_server, aws_metadata_url, log_group="agents", agent_docker_image="")
    script = unpacked(base64.b64decode(call["UserData"]).decode())
    assert "awslogs" not in script
    assert 'cloudwatch --group agents --stream "$agent_id" --region us-west-2' in script


@covers("scheduling-and-provisioning c.7.interface")
async def test_machines_have_a_public_address_unless_said(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    call = await launched(ec2_server, aws_metadata_url)
    assert call["NetworkInterface.1.AssociatePublicIpAddress"] == "true"
    assert "NetworkInterface.1.SubnetId" not in call


@covers("scheduling-and-provisioning c.7.found")
async def test_only_what_runs_starts_or_was_stopped_is_listed(place: AwsPlace) -> None:
    await place.provider.open()
    launch = sorted(ids(await place.provider.launch(3, token())))
    await until_listed(place.provider, set(launch))
    place.server.instance(launch[0]).stop()
    place.server.instance(launch[1]).terminate()
    found = {m.id: m.state for m in await place.provider.list_machines()}
    assert found == {launch[0]: "stopped", launch[2]: "running"}
    await place.provider.close()


@covers("scheduling-and-provisioning c.7.found")
async def test_machines_of_another_master_are_not_listed(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    places = [AwsPlace(ec2_server, aws_metadata_url, tag_value=name) for name in ("a1", "b1")]
    for one in places:
        await one.provider.open()
    mine = await places[0].provider.launch(1, token())
    await until_listed(places[0].provider, ids(mine))
    assert await listed(places[1].provider) == {}
    for one in places:
        await one.provider.close()


@covers("scheduling-and-provisioning c.7.terminate")
async def test_one_that_is_unknown_does_not_keep_the_others(place: AwsPlace) -> None:
    await place.provider.open()
    [machine] = ids(await place.provider.launch(1, token()))
    await place.provider.terminate(["i-0123456789abcdef0", machine])
    await until_listed(place.provider, set())
    await place.provider.close()


@covers("scheduling-and-provisioning c.7.capacity")
async def test_no_room_is_a_launch_that_failed_with_a_warning(
    place: AwsPlace, caplog: pytest.LogCaptureFixture
) -> None:
    await place.provider.open()
    await place.refuse_launches()
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(LaunchFailed, match=r"InsufficientInstanceCapacity.*another zone"),
    ):
        await place.provider.launch(2, token())
    assert "AWS has no room for machines" in caplog.text
    await place.provider.close()


@covers("scheduling-and-provisioning c.7.errors")
@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("VcpuLimitExceeded", "ask AWS for a higher quota, or lower max_instances"),
        ("UnauthorizedOperation", "permissions of docs/provisioning.md"),
        ("InvalidKeyPair.NotFound", "set provider.ssh_key_name"),
    ],
)
async def test_a_refusal_has_its_code_and_remedy(place: AwsPlace, code: str, remedy: str) -> None:
    await place.provider.open()
    text = "You may not. Encoded authorization failure message: abcdef"
    place.server.refusals["RunInstances"] = (code, text)
    with pytest.raises(LaunchFailed) as caught:
        await place.provider.launch(1, token())
    await place.provider.close()
    assert f"AWS: run_instances failed, {code}: You may not." in str(caught.value)
    assert remedy in str(caught.value)
    assert ("abcdef" in str(caught.value)) == (code != "UnauthorizedOperation")


@covers("scheduling-and-provisioning c.7.errors")
@pytest.mark.parametrize(
    "code",
    ["RequestLimitExceeded", "Throttling", "IdempotentParameterMismatch", "RequestExpired"],
)
async def test_an_ambiguous_answer_of_aws_stays_open(place: AwsPlace, code: str) -> None:
    await place.provider.open()
    place.server.refusals["RunInstances"] = (code, "slow down")
    with pytest.raises(ProviderFailed, match="slow down") as caught:
        await place.provider.launch(1, token())
    assert not isinstance(caught.value, LaunchFailed)
    await place.provider.close()


def provider(url: str, server: Ec2Server, **changes: Any) -> AwsMachines:
    return AwsMachines(
        settings(**changes),
        site(),
        metadata=AwsMetadata(url),
        make_client=lambda region: Ec2(region, server.url),
    )


@covers("scheduling-and-provisioning c.7.region")
async def test_the_region_is_the_masters_own_else_that_of_the_environment(
    ec2_server: Ec2Server, aws_metadata_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    machines = provider(aws_metadata_url, ec2_server, region="")
    assert machines.type.location == ""
    await machines.open()
    assert machines.type.location == "us-west-2"
    await machines.close()
    with aws_metadata({}) as nothing:
        machines = provider(nothing, ec2_server, region="")
        await machines.open()
        assert machines.type.location == "eu-central-1"
        await machines.close()
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        machines = provider(nothing, ec2_server, region="")
        with pytest.raises(ProviderFailed, match=r"the region is not known.*set provider.region"):
            await machines.open()
        await machines.close()


@covers("scheduling-and-provisioning c.7.host")
@pytest.mark.parametrize("alias", ["", *(n for n in ON_AWS if n.endswith(("ipv4", "hostname")))])
async def test_the_masters_host_is_what_the_cloud_says(
    ec2_server: Ec2Server, aws_metadata_url: str, alias: str
) -> None:
    url = f"https://{alias}:8443" if alias else ""
    call = await launched(ec2_server, aws_metadata_url, master_url=url)
    host = ON_AWS[alias or "local-ipv4"]
    expected = f"https://{host}:8443" if alias else f"http://{host}:8080"
    assert tags_of(call)["determined-master-address"] == expected
    script = unpacked(base64.b64decode(call["UserData"]).decode())
    assert f"--env DET_MASTER_HOST={host} " in script
    assert ("--env DET_SECURITY_TLS_ENABLED=true" in script) == bool(alias)


async def test_a_master_that_leads_again_knows_its_machines_though_the_cloud_is_silent(
    ec2_server: Ec2Server,
) -> None:
    items = {**ON_AWS, "instance-id": f"i-{token()}"}
    with aws_metadata(items) as url:
        machines = provider(url, ec2_server, tag_value="")
        await machines.open()
        launched = await machines.launch(1, token())
        items.clear()
        await machines.open()
        assert [m.id for m in await machines.list_machines()] == [m.id for m in launched]
        await machines.terminate([m.id for m in launched])
        await machines.close()


@covers("scheduling-and-provisioning c.7.host")
async def test_a_host_unknown_to_every_cloud_is_an_error(ec2_server: Ec2Server) -> None:
    with aws_metadata({}) as nothing:
        machines = provider(nothing, ec2_server, master_url="")
        with pytest.raises(ProviderFailed, match=r"local-ipv4 .* set provider.master_url"):
            await machines.open()
        await machines.close()


@covers("scheduling-and-provisioning c.7.image")
async def test_an_image_that_is_not_there_is_an_error(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    machines = provider(aws_metadata_url, ec2_server, image_id="ami-00000000")
    with pytest.raises(ProviderFailed, match=r"set provider\.image_id"):
        await machines.open()
    await machines.close()


@pytest.mark.parametrize("kind", ["m7g.large", "g5g.xlarge"])
async def test_an_image_of_other_processors_is_an_error(
    ec2_server: Ec2Server, aws_metadata_url: str, kind: str
) -> None:
    machines = provider(aws_metadata_url, ec2_server, instance_type=kind, instance_slots=0)
    text = rf"is for x86_64, and {kind} has processors of arm64: set provider.image_id to an image"
    with pytest.raises(ProviderFailed, match=text):
        await machines.open()
    await machines.close()
    assert ec2_server.calls("RunInstances") == []


async def test_a_master_that_may_not_look_at_images_takes_the_usual_disk(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    ec2_server.refusals["DescribeImages"] = ("UnauthorizedOperation", "no")
    call = await launched(ec2_server, aws_metadata_url)
    assert call["BlockDeviceMapping.1.DeviceName"] == "/dev/sda1"


@covers("scheduling-and-provisioning c.7.user_data")
async def test_a_script_that_is_too_long_is_an_error(
    ec2_server: Ec2Server, aws_metadata_url: str
) -> None:
    random_text = Random(1).randbytes(16_000).hex()
    machines = provider(aws_metadata_url, ec2_server, startup_script=random_text)
    with pytest.raises(LaunchFailed, match=r"AWS takes 16384: shorten provider.startup_script"):
        await machines.open()
    await machines.close()


async def test_a_provider_that_was_not_opened_says_so(place: AwsPlace) -> None:
    with pytest.raises(ProviderFailed, match="not opened"):
        await place.provider.list_machines()
    await place.provider.close()


@covers("scheduling-and-provisioning c.4.identity")
async def test_a_machine_reads_its_identity_with_a_token(tmp_path: Any) -> None:
    with aws_metadata({**ON_AWS, "instance-id": "i-77"}) as url:
        told = Boot(
            resource_pool="gpus", image="i", master_host="m", master_port=1,
            identity=AwsMetadata(url).identity(),
        )  # fmt: skip
        machine = Machine(tmp_path)
        (machine.stubs / "curl").unlink()
        done = machine.run(start_script(told))
    assert done.returncode == 0, done.stderr
    assert machine.container().variables["DET_AGENT_ID"] == "i-77"
    assert machine.container().variables["DET_ADVERTISED_ADDRESS"] == "10.0.0.5"


def test_the_masters_own_way_to_the_metadata_is_not_that_of_machines(
    aws_metadata_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", aws_metadata_url)
    metadata = AwsMetadata()
    assert metadata.find("instance-id") == "i-master"
    assert aws_metadata_url not in metadata.identity().agent_id
    assert "http://169.254.169.254/latest/meta-data/instance-id" in metadata.identity().agent_id

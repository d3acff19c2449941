"""Parameters of requests to AWS, and values from its answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from determined_master.backends.cloud.start_script import SlotType
from determined_master.domain.machines.aws_instances import (
    accelerator,
    gpus_of,
    price_per_hour,
)
from determined_master.domain.machines.scaling import Machine, MachineState, MachineType
from determined_master.settings.aws import LAUNCH_TAG, ON_DEMAND_PRICE, POOL_TAG, AwsProvider

MASTER_TAG = "determined-master-address"
DEFAULT_TAG_VALUE = "determined-ai-determined"
DEFAULT_ROOT_DEVICE = "/dev/sda1"
MAX_USER_DATA_BYTES = 16 * 1024
LISTED_STATES = ("running", "pending", "stopped")
STATES: Mapping[str, MachineState] = {
    "pending": "starting",
    "running": "running",
    "stopped": "stopped",
    "stopping": "stopping",
    "shutting-down": "terminating",
}


class Ec2Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a pool, with all looked-up values."""

    aws: AwsProvider
    pool: str
    region: str
    tag_value: str
    master_address: str
    script: str
    root_device: str = DEFAULT_ROOT_DEVICE


def machine_type(aws: AwsProvider, region: str) -> MachineType:
    gpus = gpus_of(aws.instance_type, aws.instance_slots) or 0
    kind = slot_type(aws)
    return MachineType(
        slots=gpus or (1 if kind == "cpu" else 0),
        device_type="" if kind == "none" else kind,
        instance_type=aws.instance_type,
        image=aws.image_id,
        accelerator=accelerator(aws.instance_type, gpus),
        location=region,
        is_preemptible=aws.spot,
        price_per_hour=(
            aws.price_per_hour
            if aws.price_per_hour is not None
            else price_per_hour(aws.instance_type, is_spot=aws.spot)
        ),
    )


def slot_type(aws: AwsProvider) -> SlotType:
    """The slots: GPUs where there are any, else all processors where that is enabled."""
    if gpus_of(aws.instance_type, aws.instance_slots):
        return "cuda"
    return "cpu" if aws.cpu_slots_allowed else "none"


def log_options(aws: AwsProvider, region: str) -> tuple[str, ...]:
    """Arguments of `docker run` that send the agent's output to CloudWatch, if configured."""
    if not aws.log_group:
        return ()
    options = [f"awslogs-region={region}", f"awslogs-group={aws.log_group}"]
    if aws.log_stream:
        options.append(f"awslogs-stream={aws.log_stream}")
    return ("--log-driver", "awslogs", *(part for o in options for part in ("--log-opt", o)))


def tags(terms: Ec2Terms, token: str = "") -> list[dict[str, str]]:
    """Tags of every instance; custom tags cannot replace those that identify it."""
    found = {tag.key: tag.value for tag in terms.aws.custom_tags}
    found |= {
        "Name": terms.aws.instance_name,
        MASTER_TAG: terms.master_address,
        POOL_TAG: terms.pool,
        terms.aws.tag_key: terms.tag_value,
    }
    if token:
        found[LAUNCH_TAG] = token
    return [{"Key": key, "Value": value} for key, value in found.items()]


def own_filters(terms: Ec2Terms, **more: Iterable[str]) -> list[dict[str, Any]]:
    """The instances of this pool and master; `more` by filter, with `_` for `-`."""
    filters: list[dict[str, Any]] = [
        {"Name": f"tag:{terms.aws.tag_key}", "Values": [terms.tag_value]},
        {"Name": f"tag:{POOL_TAG}", "Values": [terms.pool]},
    ]
    for name, values in more.items():
        filters.append({"Name": name.replace("_", "-"), "Values": list(values)})
    return filters


def launch_filter(token: str) -> dict[str, Any]:
    """Matches the machines of one launch."""
    return {"Name": f"tag:{LAUNCH_TAG}", "Values": [token]}


def run_instances(terms: Ec2Terms, count: int, token: str) -> dict[str, Any]:
    """Parameters of RunInstances: one instance at least, `count` at most."""
    return {
        **_machine(terms),
        **_market(terms.aws),
        "MinCount": 1,
        "MaxCount": count,
        "ClientToken": token,
        "UserData": terms.script,
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 2,
        },
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": tags(terms, token)} for kind in _tagged(terms.aws)
        ],
    }


def _tagged(aws: AwsProvider) -> Iterable[str]:
    """What a launch makes: tags find who pays for a disk, too."""
    return ("instance", "volume", *(("spot-instances-request",) if aws.spot else ()))


def _market(aws: AwsProvider) -> dict[str, Any]:
    """Spot instances are bought like others: AWS refuses at once where it has none to sell."""
    if not aws.spot:
        return {}
    price = aws.spot_max_price
    options = {
        "SpotInstanceType": "one-time",
        "InstanceInterruptionBehavior": "terminate",
        **({} if price == ON_DEMAND_PRICE else {"MaxPrice": price}),
    }
    return {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": options}}


def machine_of(instance: Mapping[str, Any]) -> Machine:
    return Machine(
        id=instance["InstanceId"],
        agent_name=instance["InstanceId"],
        state=STATES.get(instance["State"]["Name"], "unknown"),
        launched_at=instance["LaunchTime"],
        is_spot=instance.get("InstanceLifecycle") == "spot",
    )


def _machine(terms: Ec2Terms) -> dict[str, Any]:
    aws, net = terms.aws, terms.aws.network_interface
    interface: dict[str, Any] = {
        "DeviceIndex": 0,
        "AssociatePublicIpAddress": net.public_ip,
        "DeleteOnTermination": True,
    }
    if net.subnet_id:
        interface["SubnetId"] = net.subnet_id
    if net.security_group_id:
        interface["Groups"] = [net.security_group_id]
    disk = {
        "VolumeSize": aws.root_volume_size,
        "VolumeType": aws.root_volume_type,
        "DeleteOnTermination": True,
        **({"Iops": aws.root_volume_iops} if aws.root_volume_iops is not None else {}),
    }
    found: dict[str, Any] = {
        "ImageId": aws.image_id,
        "InstanceType": aws.instance_type,
        "KeyName": aws.ssh_key_name,
        "NetworkInterfaces": [interface],
        "BlockDeviceMappings": [{"DeviceName": terms.root_device, "Ebs": disk}],
    }
    if aws.iam_instance_profile_arn:
        found["IamInstanceProfile"] = {"Arn": aws.iam_instance_profile_arn}
    return found

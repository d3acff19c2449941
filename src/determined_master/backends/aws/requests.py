"""Parameters of requests to AWS, and values from its answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from determined_master.backends.cloud.machine_journal import JournalTarget, cloudwatch
from determined_master.backends.cloud.start_script import SlotType
from determined_master.domain.machines.offers import Offer
from determined_master.domain.machines.scaling import Machine, MachineState, MachineType
from determined_master.domain.machines.types.aws_instances import (
    accelerator,
    gpus_of,
)
from determined_master.domain.machines.types.aws_rules import architecture_of
from determined_master.settings.providers.aws import (
    LAUNCH_TAG,
    ON_DEMAND_PRICE,
    POOL_TAG,
    AwsProvider,
)

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
    gpus = gpus_of(aws.types[0], aws.instance_slots) or 0
    kind = slot_type(aws)
    kinds = dict.fromkeys(accelerator(name, gpus) for name in aws.types)
    return MachineType(
        slots=gpus or (1 if kind == "cpu" else 0),
        device_type="" if kind == "none" else kind,
        instance_type=", ".join(aws.types),
        image=aws.image_id,
        accelerator=", ".join(name for name in kinds if name),
        location=region,
        is_preemptible=aws.spot != "never",
        price_per_hour=aws.offers[0].price_per_hour,
    )


def slot_type(aws: AwsProvider) -> SlotType:
    """The slots: GPUs where there are any, else all processors where that is enabled."""
    if gpus_of(aws.types[0], aws.instance_slots):
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


def journal_target(aws: AwsProvider, region: str) -> JournalTarget | None:
    """Where machines send their journals; None for nowhere."""
    if not aws.log_group:
        return None
    return cloudwatch(aws.log_group, aws.log_stream, region)


def image_problem(aws: AwsProvider, image: Mapping[str, Any]) -> str:
    """Why machines of the pool do not boot an image, as AWS describes it; empty if they do."""
    kind, given = aws.types[0], str(image.get("Architecture", ""))
    needed = architecture_of(kind)
    if given in ("", needed):
        return ""
    return (
        f"AWS: the image {aws.image_id} is for {given}, and {kind} has processors of {needed}: "
        f"set provider.image_id to an image for {needed}, or choose another instance type"
    )


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


def run_instances(terms: Ec2Terms, offer: Offer, count: int, token: str) -> dict[str, Any]:
    """Parameters of RunInstances: one instance at least, `count` at most."""
    is_spot = offer.market == "spot"
    # Tags find who pays for a disk, too.
    tagged = ("instance", "volume", *(("spot-instances-request",) if is_spot else ()))
    return {
        **machine(terms, offer.place),
        **(_market(terms.aws) if is_spot else {}),
        "InstanceType": offer.machine_type,
        "MinCount": 1,
        "MaxCount": count,
        "ClientToken": token,
        "UserData": terms.script,
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": tags(terms, token)} for kind in tagged
        ],
    }


def _market(aws: AwsProvider) -> dict[str, Any]:
    """Spot instances are bought like others: AWS refuses at once where it has none to sell."""
    price = max_spot_price(aws)
    options = {
        "SpotInstanceType": "one-time",
        "InstanceInterruptionBehavior": "terminate",
        **({} if price is None else {"MaxPrice": price}),
    }
    return {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": options}}


def max_spot_price(aws: AwsProvider) -> str | None:
    """The lower of `spot_max_price` and `max_price`; None for the on-demand price."""
    given = [] if aws.spot_max_price == ON_DEMAND_PRICE else [aws.spot_max_price]
    if aws.max_price is not None:
        given.append(f"{aws.max_price:.4f}".rstrip("0").rstrip("."))
    return min(given, key=float, default=None)


def machine_of(instance: Mapping[str, Any], aws: AwsProvider) -> Machine:
    is_spot = instance.get("InstanceLifecycle") == "spot"
    kind = str(instance.get("InstanceType", ""))
    return Machine(
        id=instance["InstanceId"],
        agent_name=instance["InstanceId"],
        state=STATES.get(instance["State"]["Name"], "unknown"),
        launched_at=instance["LaunchTime"],
        is_spot=is_spot,
        instance_type=kind,
        price_per_hour=aws.price_of(kind, is_spot=is_spot),
    )


def metadata_hops(aws: AwsProvider) -> int:
    """How far the answers of the metadata service go: 1 to the machine, 2 to its containers.

    Tasks get the credentials of the machine's profile there, by which they reach their storage.
    An agent in a network of Docker asks there for the announced end of its machine. Where neither
    needs it, code in a container cannot read the user data.
    """
    is_agent_inside = bool(aws.agent_docker_image) and aws.agent_docker_network != "host"
    return 2 if aws.iam_instance_profile_arn or is_agent_inside else 1


def machine(terms: Ec2Terms, subnet: str) -> dict[str, Any]:
    """The part that all machines of a pool have in common, in one subnet."""
    aws, net = terms.aws, terms.aws.network_interface
    interface: dict[str, Any] = {
        "DeviceIndex": 0,
        "AssociatePublicIpAddress": net.public_ip,
        "DeleteOnTermination": True,
    }
    if subnet:
        interface["SubnetId"] = subnet
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
        "KeyName": aws.ssh_key_name,
        "NetworkInterfaces": [interface],
        "BlockDeviceMappings": [{"DeviceName": terms.root_device, "Ebs": disk}],
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": metadata_hops(aws),
        },
    }
    if aws.iam_instance_profile_arn:
        found["IamInstanceProfile"] = {"Arn": aws.iam_instance_profile_arn}
    return found

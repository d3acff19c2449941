"""Settings of a pool whose machines come from AWS: `resource_pools[].provider`, type aws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.machines.offers import Offer, OfferKind, offers_of
from determined_master.domain.machines.types.aws_instances import TYPES, gpus_of, price_per_hour
from determined_master.domain.machines.types.aws_rules import architecture_of
from determined_master.settings.providers.offers import (
    KindOfType,
    check_kinds,
    check_names,
    check_number,
    check_priced,
)
from determined_master.settings.providers.provider import Provider

Struct = msgspec.Struct
ON_DEMAND_PRICE = "OnDemand"
DEFAULT_TYPE = "g4dn.metal"
POOL_TAG = "determined-resource-pool"
LAUNCH_TAG = "determined-launch"
"""The launch token of an instance or request."""
Count = Annotated[int, Meta(ge=0)]


class AwsNetworkInterface(Struct, frozen=True, kw_only=True):
    public_ip: Annotated[bool, Meta(description="Whether machines get a public address.")] = True
    security_group_id: Annotated[str, Meta(description="Default: that of the VPC.")] = ""
    subnet_id: Annotated[str, Meta(description="Default: one of the default VPC.")] = ""


class AwsTag(Struct, frozen=True, kw_only=True):
    key: str
    value: str = ""


class AwsProvider(Provider, frozen=True, kw_only=True):
    """The requests to AWS."""

    region: Annotated[
        str, Meta(description="Default: the master's own, else AWS_DEFAULT_REGION.")
    ] = ""
    image_id: Annotated[
        str,
        Meta(
            description="Required. Image that machines boot: one with curl and, for "
            "GPUs, NVIDIA's driver, with agent_docker_image also its container toolkit."
        ),
    ] = ""
    instance_type: Annotated[str, Meta(description="Instance type.")] = DEFAULT_TYPE
    instance_types: Annotated[
        tuple[str, ...],
        Meta(
            description="Instance types in place of instance_type, all with one number of slots: "
            "if AWS has none of one, the next is tried."
        ),
    ] = ()
    instance_slots: Annotated[
        Count | None,
        Meta(description="GPUs of each instance type; needed for one that is not known."),
    ] = None
    subnet_ids: Annotated[
        tuple[str, ...],
        Meta(description="Subnets in place of network_interface.subnet_id, such as one a zone."),
    ] = ()
    cpu_slots_allowed: Annotated[
        bool, Meta(description="Whether a machine without GPUs is one slot.")
    ] = False
    root_volume_size: Annotated[int, Meta(ge=100, description="GB of the disk.")] = 200
    root_volume_type: Annotated[
        Literal["gp2", "gp3", "io1", "io2"], Meta(description="Type of the disk.")
    ] = "gp2"
    root_volume_iops: Annotated[
        int | None,
        Meta(description="IOPS of the disk; required for io1 and io2, possible for gp3."),
    ] = None
    ssh_key_name: Annotated[str, Meta(description="Required. Key pair for ssh.")] = ""
    instance_name: Annotated[str, Meta(description="Tag Name of machines.")] = (
        "determined-ai-agent"
    )
    tag_key: Annotated[str, Meta(description="Tag that identifies the master's machines.")] = (
        "managed_by"
    )
    tag_value: Annotated[
        str,
        Meta(
            description="Its value, unique to this master. Default: the master's instance id, "
            "else determined-ai-determined."
        ),
    ] = ""
    custom_tags: Annotated[
        tuple[AwsTag, ...], Meta(description="More tags, as a list of key and value.")
    ] = ()
    network_interface: AwsNetworkInterface = AwsNetworkInterface()
    iam_instance_profile_arn: Annotated[
        str, Meta(description="Instance profile, for example for tasks' access to S3.")
    ] = ""
    log_group: Annotated[
        str,
        Meta(
            description="CloudWatch group of the machine's journal, beside metrics of its load; "
            "with agent_docker_image, also of the output of the agent's container."
        ),
    ] = ""
    log_stream: Annotated[
        str,
        Meta(
            description="CloudWatch stream there. Default: the id of the machine, and one for "
            "each container."
        ),
    ] = ""
    spot_max_price: Annotated[
        str,
        Meta(
            description="Maximum price of spot instances in dollars an hour, as text. OnDemand: "
            "the on-demand price."
        ),
    ] = ON_DEMAND_PRICE

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Each instance type in each subnet on each market, in order."""
        kinds = [
            OfferKind(
                machine_type=name,
                on_demand=self.price_of(name, is_spot=False),
                spot=self.price_of(name, is_spot=True),
            )
            for name in self.types
        ]
        return offers_of(kinds, self.subnets, self.spot, self.offer_order)

    def price_of(self, instance_type: str, *, is_spot: bool) -> float | None:
        """Dollars an hour: the given price, else that of the table; None if unknown."""
        price = self.given_price(instance_type, is_spot=is_spot)
        if price is not None:
            return price
        return price_per_hour(instance_type, is_spot=is_spot)

    @property
    def types(self) -> tuple[str, ...]:
        """All instance types, in order."""
        return self.instance_types or (self.instance_type,)

    @property
    def subnets(self) -> tuple[str, ...]:
        """All subnets, in order; empty for one of the default VPC."""
        one = self.network_interface.subnet_id
        return self.subnet_ids or ((one,) if one else ())


def check_aws(aws: AwsProvider, at: str, report: ProblemReport) -> None:
    """Report values that AWS would refuse, or that leave the machines' type unknown."""
    if not aws.image_id:
        text = (
            "is required: name an image of the region, as ami-0abc…; Amazon's Deep Learning Base "
            "images have Docker, and NVIDIA's driver"
        )
        report.problem(f"{at}.image_id", text)
    if aws.log_stream and not aws.log_group:
        text = "has no effect without log_group: name the group, or remove this"
        report.warn(f"{at}.log_stream", text)
    if not aws.ssh_key_name:
        text = "is required: name a key pair of the region"
        report.problem(f"{at}.ssh_key_name", text)
    if not aws.tag_key:
        text = "must not be empty: the master knows its machines by this tag"
        report.problem(f"{at}.tag_key", text)
    elif aws.tag_key in (POOL_TAG, LAUNCH_TAG) or aws.tag_key.lower().startswith("aws:"):
        text = (
            f'"{aws.tag_key}" is taken: the master and AWS have tags of that name, and no machine '
            "would be found again; use another, as managed_by"
        )
        report.problem(f"{at}.tag_key", text)
    _check_offers(aws, at, report)
    if problem := iops_problem(aws):
        report.problem(f"{at}.root_volume_iops", problem)
    for i, tag in enumerate(aws.custom_tags):
        if not tag.key or tag.key.lower().startswith("aws:"):
            text = f'"{tag.key}" is no key of a tag: it must not be empty or begin with aws:'
            report.problem(f"{at}.custom_tags[{i}].key", text)
    if aws.spot != "never" and (problem := price_problem(aws.spot_max_price)):
        report.problem(f"{at}.spot_max_price", problem)


def _check_offers(aws: AwsProvider, at: str, report: ProblemReport) -> None:
    unknown = [name for name in aws.types if name not in TYPES]
    if unknown and aws.instance_slots is None:
        path = "instance_types" if aws.instance_types else "instance_type"
        text = (
            f'"{unknown[0]}" is not known: set instance_slots to the number of its GPUs, '
            f"or use one of {', '.join(sorted(TYPES))}"
        )
        report.problem(f"{at}.{path}", text)
    if aws.instance_types and aws.instance_type != DEFAULT_TYPE:
        text = f'"{aws.instance_type}" has no effect beside instance_types: add it there'
        report.problem(f"{at}.instance_type", text)
    if aws.subnet_ids and aws.network_interface.subnet_id:
        text = "has no effect beside subnet_ids: add it there, and remove it here"
        report.problem(f"{at}.network_interface.subnet_id", text)
    if aws.price_per_hour is not None and len(aws.types) > 1:
        text = "is the price of one instance type, and there are several: give prices instead"
        report.problem(f"{at}.price_per_hour", text)
    check_priced(aws.prices, aws.types, f"{at}.prices", report)
    check_names(aws.instance_types, f"{at}.instance_types", report)
    check_names(aws.subnet_ids, f"{at}.subnet_ids", report)
    check_number(len(aws.types), len(aws.subnets), aws.spot, f"{at}.instance_types", report)
    if not unknown or aws.instance_slots is not None:
        check_kinds([_kind(aws, name) for name in aws.types], f"{at}.instance_types", report)


def _kind(aws: AwsProvider, name: str) -> KindOfType:
    gpus = gpus_of(name, aws.instance_slots) or 0
    slots, device = (gpus, "cuda") if gpus else (int(aws.cpu_slots_allowed), "cpu")
    return KindOfType(name, slots, device, architecture_of(name))


class IopsBounds(NamedTuple):
    """What AWS takes for a type of disk."""

    least: int
    most: int
    per_gb: int


IOPS: Mapping[str, IopsBounds] = {
    "gp3": IopsBounds(3000, 80000, 500),
    "io1": IopsBounds(100, 64000, 50),
    "io2": IopsBounds(100, 256000, 1000),
}


def iops_problem(aws: AwsProvider) -> str:
    """Why the IOPS of the disk are invalid; empty for valid ones."""
    kind, iops = aws.root_volume_type, aws.root_volume_iops
    bounds = IOPS.get(kind)
    if iops is None:
        if kind not in ("io1", "io2"):
            return ""
        return f"is required with root_volume_type {kind}: give a number of IOPS, or use gp3"
    if bounds is None:
        return f"has no effect on {kind}: remove it, or set root_volume_type to gp3, io1 or io2"
    # AWS never demands more than the least number of a type.
    most = max(bounds.least, min(bounds.most, bounds.per_gb * aws.root_volume_size))
    if bounds.least <= iops <= most:
        return ""
    return (
        f"must be from {bounds.least} to {most} for {kind} of {aws.root_volume_size} GB but found "
        f"{iops}"
    )


def price_problem(price: str) -> str:
    """Why a price is invalid; empty for a valid one."""
    if price == ON_DEMAND_PRICE:
        return ""
    remedy = "give dollars an hour as digits with at most one point, as 1.25, or leave it out"
    if price.count(".") > 1:
        return f'"{price}" has {price.count(".")} points: {remedy}'
    wrong = next((char for char in price if not (char in "." or "0" <= char <= "9")), None)
    if wrong is not None:
        return f'"{price}" has the character {wrong!r}: {remedy}'
    return "" if price.strip(".") else f'"{price}" has no digits: {remedy}'

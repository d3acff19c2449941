"""Settings of a pool whose machines come from GCP: `resource_pools[].provider`, type gcp."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import type_name
from determined_master.domain.machines.offers import Offer, OfferKind, SpotUse, offers_of
from determined_master.domain.machines.types.gcp_machines import (
    accelerator,
    built_in_gpus,
    gpu_problem,
    machine_type_problem,
    price_per_hour,
    spec_of,
)
from determined_master.domain.machines.types.gcp_series import series_of
from determined_master.settings.providers.gcp_disks import check_disks
from determined_master.settings.providers.offers import (
    KindOfType,
    check_kinds,
    check_names,
    check_number,
    check_priced,
)
from determined_master.settings.providers.provider import Provider
from determined_master.settings.reader import Seconds

Struct = msgspec.Struct
POOL_LABEL = "determined-resource-pool"
LAUNCH_LABEL = "determined-launch"
"""The launch token of an instance."""
_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_NAME_PREFIX = re.compile(r"[a-z][a-z0-9-]*")


class GcpNetworkInterface(Struct, frozen=True, kw_only=True):
    """The network of machines; network and subnetwork must both be set, or neither."""

    network: Annotated[str, Meta(description="Form: projects/P/global/networks/N.")] = ""
    subnetwork: Annotated[str, Meta(description="Form: projects/P/regions/R/subnetworks/S.")] = ""
    external_ip: Annotated[bool, Meta(description="Whether machines get an external address.")] = (
        False
    )


class GcpServiceAccount(Struct, frozen=True, kw_only=True):
    email: Annotated[str, Meta(description="Email of the service account; empty for none.")] = ""
    scopes: Annotated[
        tuple[str, ...], Meta(description="Default with an email: the whole cloud platform.")
    ] = ()


class GcpInstanceType(Struct, frozen=True, kw_only=True):
    machine_type: Annotated[
        str, Meta(description="Required. For example n1-standard-8 or custom-8-16384.")
    ] = ""
    gpu_type: Annotated[str, Meta(description="For example nvidia-tesla-t4; empty for none.")] = (
        "nvidia-tesla-t4"
    )
    gpu_num: Annotated[int, Meta(ge=0, description="Number of GPUs; each is a slot.")] = 4
    preemptible: Annotated[
        bool,
        Meta(
            description="Whether GCP may reclaim machines, after a day at the latest; as spot: "
            "only."
        ),
    ] = False


class GcpMachineChoice(Struct, frozen=True, kw_only=True):
    """One of several machine types."""

    machine_type: Annotated[str, Meta(description="Required. For example g2-standard-8.")] = ""
    gpu_type: Annotated[
        str, Meta(description="GPU to attach; not needed for types that come with GPUs.")
    ] = ""
    gpu_num: Annotated[int, Meta(ge=0, description="Number of GPUs to attach.")] = 0


class GcpProvider(Provider, frozen=True, kw_only=True):
    """The requests to GCP."""

    base_config: Annotated[
        dict[str, Any],
        Meta(description="Instance resource of GCP's REST API; the other options override it."),
    ] = msgspec.field(default_factory=dict)
    project: Annotated[str, Meta(description="Default: the master's own.")] = ""
    zone: Annotated[str, Meta(description="Default: the master's own.")] = ""
    zones: Annotated[
        tuple[str, ...],
        Meta(
            description="Zones of one region, in place of zone: if one has no room, the next is "
            "tried."
        ),
    ] = ()
    boot_disk_size: Annotated[int, Meta(ge=100, description="GB of the disk.")] = 200
    boot_disk_source_image: Annotated[
        str,
        Meta(
            description="Required. Image that machines boot: one with curl and, for "
            "GPUs, NVIDIA's driver, with agent_docker_image also its container toolkit."
        ),
    ] = ""
    boot_disk_type: Annotated[
        str,
        Meta(
            description="Only its last part matters. Default: pd-standard, or the first of "
            "pd-balanced and hyperdisk-balanced that the machine type takes."
        ),
    ] = ""
    boot_disk_iops: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="IOPS of the disk; only for pd-extreme and hyperdisks."),
    ] = None
    labels: Annotated[dict[str, Any], Meta(description="Custom labels.")] = msgspec.field(
        default_factory=dict
    )
    label_key: Annotated[str, Meta(description="Label that identifies the master's machines.")] = (
        "managed-by"
    )
    label_value: Annotated[
        str,
        Meta(
            description="Its value, unique to this master. Default: the name of the master's "
            "instance, else determined-ai-determined."
        ),
    ] = ""
    name_prefix: Annotated[
        str, Meta(description="Start of machines' names. Default: label_value and a dash.")
    ] = ""
    network_interface: GcpNetworkInterface = GcpNetworkInterface()
    network_tags: Annotated[tuple[str, ...], Meta(description="For firewall rules.")] = ()
    service_account: GcpServiceAccount = GcpServiceAccount()
    instance_type: GcpInstanceType = GcpInstanceType()
    instance_types: Annotated[
        tuple[GcpMachineChoice, ...],
        Meta(
            description="Machine types in place of instance_type, each as machine_type, gpu_type "
            "and gpu_num, all with one number of slots: if GCP has none of one, the next is tried."
        ),
    ] = ()
    instance_slots: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="GPUs that a machine_type comes with, where the master does not know the "
            "type; gpu_type and gpu_num are then not used."
        ),
    ] = None
    cpu_slots_allowed: Annotated[
        bool, Meta(description="Whether a machine without GPUs is one slot.")
    ] = False
    operation_timeout_period_s: Annotated[
        Seconds, Meta(description="How long the master follows an operation of GCP.")
    ] = msgspec.field(default=300.0, name="operation_timeout_period")
    use_cloud_logging: Annotated[
        bool,
        Meta(
            description="Whether the machine's journal and metrics of its load go to Cloud "
            "Logging; with agent_docker_image, also the output of the agent's container."
        ),
    ] = False

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Each machine type in each zone on each market, in order."""
        kinds = [
            OfferKind(
                machine_type=kind.machine_type,
                accelerator=self.attached_to(kind),
                on_demand=self.price_of(kind, is_spot=False),
                spot=self.price_of(kind, is_spot=True),
            )
            for kind in self.types
        ]
        zones = self.zones or ((self.zone,) if self.zone else ())
        return offers_of(kinds, zones, self.spot_use, self.offer_order)

    def attached_to(self, kind: GcpInstanceType) -> str:
        """The GPUs that are attached to a machine type; empty for those that it comes with."""
        if self.has_own_slots(kind) or built_in_gpus(kind.machine_type):
            return ""
        return accelerator(kind.gpu_type, kind.gpu_num)

    def price_of(self, kind: GcpInstanceType, *, is_spot: bool) -> float | None:
        """Dollars an hour: the given price, else that of the table; None if unknown."""
        price = self.given_price(kind.machine_type, is_spot=is_spot)
        if price is not None:
            return price
        return price_per_hour(kind.machine_type, kind.gpu_type, kind.gpu_num, is_spot=is_spot)

    @property
    def types(self) -> tuple[GcpInstanceType, ...]:
        """All machine types with their GPUs, in order."""
        if not self.instance_types:
            return (self.instance_type,)
        return tuple(_with_gpus(choice) for choice in self.instance_types)

    def boot_disk_of(self, machine_type: str) -> str:
        """The type of the disk that machines of a type boot from."""
        return self.boot_disk_type.rpartition("/")[2] or series_of(machine_type).disk

    @property
    def spot_use(self) -> SpotUse:
        """The markets, by `spot` or by the original's `instance_type.preemptible`."""
        return "only" if self.instance_type.preemptible else self.spot

    def has_own_slots(self, kind: GcpInstanceType) -> bool:
        """Whether `instance_slots` describes a type that the master does not know."""
        return self.instance_slots is not None and spec_of(kind.machine_type) is None

    def gpus_of(self, kind: GcpInstanceType) -> int:
        """GPUs of a machine of a type."""
        own = self.instance_slots if self.has_own_slots(kind) else None
        return kind.gpu_num if own is None else own

    @property
    def gpus(self) -> int:
        """GPUs of a machine."""
        return self.gpus_of(self.types[0])


def _with_gpus(choice: GcpMachineChoice) -> GcpInstanceType:
    gpu_type, gpu_num = choice.gpu_type, choice.gpu_num
    own = built_in_gpus(choice.machine_type)
    if own is not None and not gpu_type and not gpu_num:
        gpu_type, gpu_num = own
    return GcpInstanceType(machine_type=choice.machine_type, gpu_type=gpu_type, gpu_num=gpu_num)


def check_gcp(gcp: GcpProvider, at: str, report: ProblemReport) -> None:
    """Report values that GCP would refuse."""
    if not gcp.boot_disk_source_image:
        text = (
            "is required: name an image that has Docker and, for GPUs, NVIDIA's driver, as "
            "projects/PROJECT/global/images/IMAGE; Google's deep learning images have both"
        )
        report.problem(f"{at}.boot_disk_source_image", text)
    _check_types(gcp, at, report)
    _check_places(gcp, at, report)
    check_disks(gcp, at, report)
    net = gcp.network_interface
    if bool(net.network) != bool(net.subnetwork):
        missing = "subnetwork" if net.network else "network"
        text = "must be set too: network and subnetwork go together"
        report.problem(f"{at}.network_interface.{missing}", text)
    elif net.external_ip and not net.network and gcp.base_config.get("networkInterfaces"):
        text = "has no effect beside base_config.networkInterfaces: give accessConfigs there"
        report.warn(f"{at}.network_interface.external_ip", text)
    if gcp.operation_timeout_period_s <= 0:
        text = f"must be more than 0 s but found {gcp.operation_timeout_period_s:g}s"
        report.problem(f"{at}.operation_timeout_period", text)
    _check_names(gcp, at, report)
    _check_base(gcp.base_config, f"{at}.base_config", report)


def _check_types(gcp: GcpProvider, at: str, report: ProblemReport) -> None:
    for index, kind in enumerate(gcp.types):
        where = f"instance_types[{index}]" if gcp.instance_types else "instance_type"
        _check_type(gcp, kind, f"{at}.{where}", report)
    if gcp.instance_slots is not None and all(spec_of(k.machine_type) for k in gcp.types):
        text = f"is for types that are not known, and {gcp.types[0].machine_type} is: remove it"
        report.problem(f"{at}.instance_slots", text)
    if gcp.instance_types and gcp.instance_type != GcpInstanceType():
        text = "has no effect beside instance_types: add it there, and set spot for preemptible"
        report.problem(f"{at}.instance_type", text)
    if not any(
        report.has_problem_at(f"{at}.{key}") for key in ("instance_type", "instance_types")
    ):
        kinds = [_kind(gcp, kind) for kind in gcp.types]
        check_kinds(kinds, f"{at}.instance_types", report)


def _check_type(gcp: GcpProvider, kind: GcpInstanceType, at: str, report: ProblemReport) -> None:
    if not kind.machine_type:
        text = (
            "is required: name a machine type, as n1-standard-8, and its GPUs (gpu_type and "
            f"gpu_num; they are {kind.gpu_num} x {kind.gpu_type or 'none'} now)"
        )
        report.problem(f"{at}.machine_type", text)
    elif gcp.has_own_slots(kind):
        pass  # a newer type than the master knows
    elif problem := machine_type_problem(kind.machine_type):
        report.problem(f"{at}.machine_type", problem)
    else:
        key, problem = gpu_problem(kind.machine_type, kind.gpu_type, kind.gpu_num)
        if problem:
            report.problem(f"{at}.{key}", problem)


def _kind(gcp: GcpProvider, kind: GcpInstanceType) -> KindOfType:
    name, gpus = kind.machine_type, gcp.gpus_of(kind)
    slots, device = (gpus, "cuda") if gpus else (int(gcp.cpu_slots_allowed), "cpu")
    return KindOfType(name, slots, device, series_of(name).architecture)


def _check_places(gcp: GcpProvider, at: str, report: ProblemReport) -> None:
    types = [kind.machine_type for kind in gcp.types]
    check_priced(gcp.prices, types, f"{at}.prices", report)
    check_names(gcp.zones, f"{at}.zones", report)
    if gcp.zones and gcp.zone:
        text = f'"{gcp.zone}" has no effect beside zones: add it there, and remove it here'
        report.problem(f"{at}.zone", text)
    regions = {zone.rpartition("-")[0]: zone for zone in gcp.zones}
    if len(regions) > 1:
        first, other, *_ = regions.values()
        text = (
            f"must be of one region, and {first} and {other} are of two: machines of a pool share "
            "a subnetwork; make a pool of each region"
        )
        report.problem(f"{at}.zones", text)
    names = [f"{k.machine_type} {k.gpu_type} {k.gpu_num}" for k in gcp.types]
    for index, name in enumerate(names):
        if name in names[:index]:
            report.problem(f"{at}.instance_types[{index}]", "is listed twice: remove one")
    if gcp.instance_type.preemptible and gcp.spot == "prefer":
        text = 'contradicts spot "prefer", as it means only: set it to false, or remove spot'
        report.problem(f"{at}.instance_type.preemptible", text)
    if gcp.price_per_hour is not None and len(gcp.types) > 1:
        text = "is the price of one machine type, and there are several: give prices instead"
        report.problem(f"{at}.price_per_hour", text)
    check_number(len(gcp.types), len(gcp.zones), gcp.spot_use, f"{at}.instance_types", report)


_BASE_SHAPES = {
    "labels": (dict, "object"),
    "metadata": (dict, "object"),
    "scheduling": (dict, "object"),
    "disks": (list, "array"),
    "networkInterfaces": (list, "array"),
}
"""The object below the options."""
OWN_ITEMS = {
    "startup-script": "give provider.startup_script, which runs first",
    "determined-master-address": "leave it out",
}
"""Metadata keys that the master sets on each machine; GCP refuses duplicate keys."""


def _check_base(base: dict[str, Any], at: str, report: ProblemReport) -> None:
    for key, (shape, name) in _BASE_SHAPES.items():
        if key in base and not isinstance(base[key], shape):
            text = f"expected {name}, but got {type_name(base[key])}"
            report.problem(f"{at}.{key}", text)
            return
    items = base.get("metadata", {}).get("items", [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        report.problem(f"{at}.metadata.items", "expected a list of objects with key and value")
        return
    for i, item in enumerate(items):
        if remedy := OWN_ITEMS.get(str(item.get("key", ""))):
            text = f'"{item["key"]}" is the master\'s own: {remedy}'
            report.problem(f"{at}.metadata.items[{i}].key", text)


_LABEL_RULE = "use at most 63 lower-case letters, digits, dashes and underscores"


def _check_names(gcp: GcpProvider, at: str, report: ProblemReport) -> None:
    keys = {"label_key": gcp.label_key, **{f"labels.{key}": key for key in gcp.labels}}
    for where, key in keys.items():
        if not _LABEL_KEY.fullmatch(key):
            text = f'"{key}" is no key of a label: {_LABEL_RULE}, a letter first'
            report.problem(f"{at}.{where}", text)
    if gcp.label_key in (POOL_LABEL, LAUNCH_LABEL):
        text = (
            f'"{gcp.label_key}" is taken: the master has a label of that name and could not tell '
            "its machines from others; use another, as managed-by"
        )
        report.problem(f"{at}.label_key", text)
    values = {"label_value": gcp.label_value}
    values |= {f"labels.{key}": value for key, value in gcp.labels.items()}
    for where, value in values.items():
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            report.problem(f"{at}.{where}", f'"{value}" is no value of a label: {_LABEL_RULE}')
    if gcp.name_prefix and not _NAME_PREFIX.fullmatch(gcp.name_prefix):
        text = (
            f'"{gcp.name_prefix}" cannot begin a name: use lower-case letters, digits and dashes, '
            "a letter first"
        )
        report.problem(f"{at}.name_prefix", text)

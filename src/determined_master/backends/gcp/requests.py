"""Bodies of requests to GCP, and values from its answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.backends.cloud.machine_journal import CLOUD_LOGGING, JournalTarget
from determined_master.backends.cloud.start_script import SlotType
from determined_master.domain.machines.gcp_names import label_value
from determined_master.domain.machines.offers import Offer
from determined_master.domain.machines.scaling import Machine, MachineState, MachineType
from determined_master.domain.machines.types.gcp_machines import (
    accelerator,
    min_cpu_platform,
)
from determined_master.ports.machines import MachineSite
from determined_master.settings.providers.gcp import (
    LAUNCH_LABEL,
    POOL_LABEL,
    GcpInstanceType,
    GcpProvider,
)
from determined_wire import google_rest

DEFAULT_LABEL_VALUE = "determined-ai-determined"
MAX_DEFAULT = 30
DEFAULT_NETWORK = "global/networks/default"
STATES: Mapping[str, MachineState] = {
    "PROVISIONING": "starting",
    "STAGING": "starting",
    "RUNNING": "running",
    "STOPPING": "stopping",
    "SUSPENDING": "stopping",
    "STOPPED": "stopped",
    "SUSPENDED": "stopped",
    "TERMINATED": "stopped",
}


class ComputeTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a pool, with all looked-up values."""

    gcp: GcpProvider
    site: MachineSite
    project: str
    zone: str
    label_value: str
    name_prefix: str
    master_host: str
    master_port: int
    master_address: str
    script: str


def machine_type(gcp: GcpProvider, zone: str) -> MachineType:
    slots = slot_type(gcp)
    gpus = dict.fromkeys(
        "" if gcp.has_own_slots(kind) else accelerator(kind.gpu_type, kind.gpu_num)
        for kind in gcp.types
    )
    return MachineType(
        slots=gcp.gpus or (1 if slots == "cpu" else 0),
        device_type="" if slots == "none" else slots,
        instance_type=", ".join(dict.fromkeys(kind.machine_type for kind in gcp.types)),
        image=gcp.boot_disk_source_image,
        accelerator=", ".join(name for name in gpus if name),
        location=", ".join(gcp.zones) or zone,
        is_preemptible=gcp.spot_use != "never",
        price_per_hour=gcp.offers[0].price_per_hour,
    )


def slot_type(gcp: GcpProvider) -> SlotType:
    """The slots: GPUs where there are any, else all processors where that is enabled."""
    if gcp.gpus:
        return "cuda"
    return "cpu" if gcp.cpu_slots_allowed else "none"


def log_options(gcp: GcpProvider) -> tuple[str, ...]:
    """Arguments of `docker run` that send the agent's output to Cloud Logging, if configured."""
    return ("--log-driver", "gcplogs") if gcp.use_cloud_logging else ()


def journal_target(gcp: GcpProvider) -> JournalTarget | None:
    """Where machines send their journals; None for nowhere."""
    if not gcp.use_cloud_logging:
        return None
    return CLOUD_LOGGING


def default_name(instance_name: str) -> str:
    """The default of label_value, and of name_prefix without its dash: the master's instance."""
    return (instance_name or DEFAULT_LABEL_VALUE)[:MAX_DEFAULT].rstrip("-")


def own_labels(terms: ComputeTerms) -> dict[str, str]:
    """The labels that identify the machines of this pool of this master."""
    return {
        terms.gcp.label_key: terms.label_value,
        POOL_LABEL: label_value(terms.site.pool),
    }


def insert(terms: ComputeTerms, offer: Offer, names: Sequence[str], token: str) -> dict[str, Any]:
    """Body of instances.bulkInsert: one instance at least, at most one for each name."""
    return {
        "count": str(len(names)),
        "minCount": "1",
        "perInstanceProperties": {name: {} for name in names},
        "instanceProperties": properties(terms, offer, token),
    }


def properties(terms: ComputeTerms, offer: Offer, token: str) -> dict[str, Any]:
    """The common part of all machines of one launch: the settings over `base_config`."""
    gcp, base = terms.gcp, terms.gcp.base_config
    kind, is_spot = _kind_of(gcp, offer), offer.market == "spot"
    labels = {
        **base.get("labels", {}),
        **gcp.labels,
        "determined-master-host": label_value(terms.master_host.replace(".", "-")),
        "determined-master-port": str(terms.master_port),
        **own_labels(terms),
        LAUNCH_LABEL: token,
    }
    items = [
        {"key": "startup-script", "value": terms.script},
        {"key": "determined-master-address", "value": terms.master_address},
    ]
    metadata, platform = base.get("metadata", {}), min_cpu_platform(kind.machine_type)
    found: dict[str, Any] = {
        **base,
        "machineType": kind.machine_type,
        "labels": labels,
        "metadata": {**metadata, "items": [*items, *metadata.get("items", ())]},
        "disks": [_boot_disk(gcp, kind.machine_type, labels), *base.get("disks", ())],
        **({"minCpuPlatform": platform} if platform else {}),
        "scheduling": {
            **base.get("scheduling", {}),
            "onHostMaintenance": "TERMINATE",
            "preemptible": is_spot,
        },
    }
    if is_spot:  # GCP accepts nothing else with it
        found["scheduling"]["automaticRestart"] = False
    if is_spot and not gcp.instance_type.preemptible:
        # Unlike a preemptible machine it may run for longer than a day.
        found["scheduling"]["provisioningModel"] = "SPOT"
    if kind.gpu_num and not gcp.has_own_slots(kind):
        gpus = {"acceleratorType": kind.gpu_type, "acceleratorCount": kind.gpu_num}
        found["guestAccelerators"] = [gpus]
    if gcp.network_tags:
        found["tags"] = {"items": list(gcp.network_tags)}
    if gcp.service_account.email:
        scopes = list(gcp.service_account.scopes) or [google_rest.SCOPE]
        found["serviceAccounts"] = [{"email": gcp.service_account.email, "scopes": scopes}]
    if interface := _interface(gcp):
        found["networkInterfaces"] = [interface]
    return found


def _kind_of(gcp: GcpProvider, offer: Offer) -> GcpInstanceType:
    wanted = offer.machine_type, offer.accelerator
    return next(k for k in gcp.types if (k.machine_type, gcp.attached_to(k)) == wanted)


def zone_of(instance: Mapping[str, Any]) -> str:
    """The zone of an instance; empty where GCP does not name it."""
    return str(instance.get("zone", "")).rpartition("/")[2]


def machine_of(instance: Mapping[str, Any], gcp: GcpProvider) -> Machine:
    is_spot = bool(instance.get("scheduling", {}).get("preemptible"))
    kind = _listed_kind(instance)
    return Machine(
        id=instance["name"],
        agent_name=instance["name"],
        state=STATES.get(instance["status"], "unknown"),
        launched_at=datetime.fromisoformat(instance["creationTimestamp"]),
        is_spot=is_spot,
        instance_type=kind.machine_type,
        price_per_hour=gcp.price_of(kind, is_spot=is_spot),
    )


def expected(name: str, offer: Offer, now: datetime) -> Machine:
    """A machine that GCP has accepted and does not list yet."""
    return Machine(
        id=name,
        agent_name=name,
        state="starting",
        launched_at=now,
        is_spot=offer.market == "spot",
        instance_type=offer.machine_type,
        price_per_hour=offer.price_per_hour,
    )


def _listed_kind(instance: Mapping[str, Any]) -> GcpInstanceType:
    gpus: Sequence[Mapping[str, Any]] = instance.get("guestAccelerators") or ({},)
    return GcpInstanceType(
        machine_type=str(instance.get("machineType", "")).rpartition("/")[2],
        gpu_type=str(gpus[0].get("acceleratorType", "")).rpartition("/")[2],
        gpu_num=int(gpus[0].get("acceleratorCount", 0)),
    )


def _boot_disk(gcp: GcpProvider, machine_type: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The disk has the machine's labels: they find who pays for a disk, too."""
    parameters: dict[str, Any] = {
        "sourceImage": gcp.boot_disk_source_image,
        "diskSizeGb": str(gcp.boot_disk_size),
        "diskType": gcp.boot_disk_of(machine_type),
        "labels": dict(labels),
    }
    if gcp.boot_disk_iops is not None:
        parameters["provisionedIops"] = str(gcp.boot_disk_iops)
    return {"boot": True, "autoDelete": True, "initializeParams": parameters}


def _interface(gcp: GcpProvider) -> dict[str, Any]:
    """The network interface of the settings; the default network without one."""
    net = gcp.network_interface
    if not net.network and gcp.base_config.get("networkInterfaces"):
        return {}
    found: dict[str, Any] = {"network": net.network or DEFAULT_NETWORK}
    if net.subnetwork:
        found["subnetwork"] = net.subnetwork
    if net.external_ip:
        found["accessConfigs"] = [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]
    return found

"""Bodies of requests to GCP, and values from its answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.backends.cloud.start_script import SlotType
from determined_master.domain.machines.gcp_machines import (
    accelerator,
    min_cpu_platform,
    price_per_hour,
)
from determined_master.domain.machines.gcp_names import label_value
from determined_master.domain.machines.scaling import Machine, MachineState, MachineType
from determined_master.ports import MachineSite
from determined_master.settings.gcp import LAUNCH_LABEL, POOL_LABEL, GcpProvider

DEFAULT_LABEL_VALUE = "determined-ai-determined"
MAX_DEFAULT = 30
CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
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
    kind = gcp.instance_type
    slots = slot_type(gcp)
    return MachineType(
        slots=gcp.gpus or (1 if slots == "cpu" else 0),
        device_type="" if slots == "none" else slots,
        instance_type=kind.machine_type,
        image=gcp.boot_disk_source_image,
        accelerator="" if gcp.has_own_slots else accelerator(kind.gpu_type, kind.gpu_num),
        location=zone,
        is_preemptible=kind.preemptible,
        price_per_hour=_price(gcp),
    )


def _price(gcp: GcpProvider) -> float | None:
    if gcp.price_per_hour is not None:
        return gcp.price_per_hour
    kind = gcp.instance_type
    return price_per_hour(kind.machine_type, kind.gpu_type, kind.gpu_num, is_spot=kind.preemptible)


def slot_type(gcp: GcpProvider) -> SlotType:
    """The slots: GPUs where there are any, else all processors where that is enabled."""
    if gcp.gpus:
        return "cuda"
    return "cpu" if gcp.cpu_slots_allowed else "none"


def log_options(gcp: GcpProvider) -> tuple[str, ...]:
    """Arguments of `docker run` that send the agent's output to Cloud Logging, if configured."""
    return ("--log-driver", "gcplogs") if gcp.use_cloud_logging else ()


def default_name(instance_name: str) -> str:
    """The default of label_value, and of name_prefix without its dash: the master's instance."""
    return (instance_name or DEFAULT_LABEL_VALUE)[:MAX_DEFAULT].rstrip("-")


def own_labels(terms: ComputeTerms) -> dict[str, str]:
    """The labels that identify the machines of this pool of this master."""
    return {
        terms.gcp.label_key: terms.label_value,
        POOL_LABEL: label_value(terms.site.pool),
    }


def insert(terms: ComputeTerms, names: Sequence[str], token: str) -> dict[str, Any]:
    """Body of instances.bulkInsert: one instance at least, at most one for each name."""
    return {
        "count": str(len(names)),
        "minCount": "1",
        "perInstanceProperties": {name: {} for name in names},
        "instanceProperties": properties(terms, token),
    }


def properties(terms: ComputeTerms, token: str) -> dict[str, Any]:
    """The common part of all machines of one launch: the settings over `base_config`."""
    gcp, kind, base = terms.gcp, terms.gcp.instance_type, terms.gcp.base_config
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
        "disks": [_boot_disk(gcp, labels), *base.get("disks", ())],
        **({"minCpuPlatform": platform} if platform else {}),
        "scheduling": {
            **base.get("scheduling", {}),
            "onHostMaintenance": "TERMINATE",
            "preemptible": kind.preemptible,
        },
    }
    if kind.preemptible:  # GCP accepts nothing else with it
        found["scheduling"]["automaticRestart"] = False
    if kind.gpu_num and not gcp.has_own_slots:
        gpus = {"acceleratorType": kind.gpu_type, "acceleratorCount": kind.gpu_num}
        found["guestAccelerators"] = [gpus]
    if gcp.network_tags:
        found["tags"] = {"items": list(gcp.network_tags)}
    if gcp.service_account.email:
        scopes = list(gcp.service_account.scopes) or [CLOUD_PLATFORM]
        found["serviceAccounts"] = [{"email": gcp.service_account.email, "scopes": scopes}]
    if interface := _interface(gcp):
        found["networkInterfaces"] = [interface]
    return found


def machine_of(instance: Mapping[str, Any]) -> Machine:
    return Machine(
        id=instance["name"],
        agent_name=instance["name"],
        state=STATES.get(instance["status"], "unknown"),
        launched_at=datetime.fromisoformat(instance["creationTimestamp"]),
        is_spot=bool(instance.get("scheduling", {}).get("preemptible")),
    )


def _boot_disk(gcp: GcpProvider, labels: Mapping[str, str]) -> dict[str, Any]:
    """The disk has the machine's labels: they find who pays for a disk, too."""
    parameters: dict[str, Any] = {
        "sourceImage": gcp.boot_disk_source_image,
        "diskSizeGb": str(gcp.boot_disk_size),
        "diskType": gcp.boot_disk_type.rpartition("/")[2],
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

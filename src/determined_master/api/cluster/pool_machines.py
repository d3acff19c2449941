"""The list's entry for a pool whose machines start on demand.

Scripts and the options of agents are not among it: they may hold secrets.
"""

from __future__ import annotations

from typing import Any

from determined_master.api.cluster.machine_details import machine_details
from determined_master.services.cluster.pools import PoolMachines
from determined_wire.rest.types.device import DeviceType
from determined_wire.rest.types.resourcepool import ResourcePoolDetail, ResourcePoolType

_TYPES = {
    "aws": ResourcePoolType.RESOURCE_POOL_TYPE_AWS,
    "gcp": ResourcePoolType.RESOURCE_POOL_TYPE_GCP,
}


def machine_fields(machines: PoolMachines, details: ResourcePoolDetail) -> dict[str, Any]:
    """The fields of `ResourcePool` that a pool of other agents has not, or has otherwise.

    Args:
        machines: of the pool.
        details: without those of the provider.
    """
    type, settings = machines.type, machines.settings
    return {
        "type": _TYPES.get(settings.type, ResourcePoolType.RESOURCE_POOL_TYPE_UNSPECIFIED),
        "preemptible": type.is_preemptible,
        "min_agents": settings.min_instances,
        "max_agents": settings.max_machines,
        "slots_per_agent": type.slots,
        "location": type.location,
        "image_id": type.image,
        "instance_type": type.instance_type,
        "accelerator": type.accelerator,
        "master_url": settings.master_url,
        "master_cert_name": settings.master_cert_name,
        "agent_docker_network": settings.agent_docker_network,
        "agent_docker_runtime": settings.agent_docker_runtime,
        "agent_docker_image": settings.agent_docker_image,
        "agent_fluent_image": settings.agent_fluent_image,
        "max_idle_agent_period": settings.max_idle_agent_period_s,
        "max_agent_starting_period": settings.max_agent_starting_period_s,
        "details": machine_details(settings, details),
    }


def device_type(machines: PoolMachines) -> DeviceType:
    """The slots of machines that have not joined yet."""
    name = machines.type.device_type
    return DeviceType[f"TYPE_{name.upper()}"] if name else DeviceType.TYPE_UNSPECIFIED

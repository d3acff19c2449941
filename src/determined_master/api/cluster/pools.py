"""Routes of resource pools."""

from __future__ import annotations

from determined_master.api.cluster.pool_machines import device_type, machine_fields
from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.protojson import encode, ready
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import cut
from determined_master.services.cluster.pool_bindings import PoolBindings
from determined_master.services.cluster.pools import PoolFacts, Pools
from determined_master.settings.pools import Scheduler
from determined_wire import own
from determined_wire.rest import resource_pools as wire
from determined_wire.rest.types.device import DeviceType
from determined_wire.rest.types.job import QueueStats
from determined_wire.rest.types.resourcepool import (
    FittingPolicy,
    ResourcePool,
    ResourcePoolDetail,
    ResourcePoolPrioritySchedulerDetail,
    ResourcePoolType,
    SchedulerType,
)

MIXED_OR_UNKNOWN = -1


@route("GET", "/api/v1/resource-pools", access=SIGNED_IN, in_task=READS)
async def get_resource_pools(
    call: Call, request: wire.GetResourcePoolsRequest, pools: Pools, pool_bindings: PoolBindings
) -> wire.GetResourcePoolsResponse:
    """The pools; with `unbound` those that serve every workspace."""
    listed = pools.list_all(call.caller)
    if request.unbound:
        bound = await pool_bindings.bound()
        listed = [pool for pool in listed if pool.name not in bound]
    page, pagination = cut(listed, request.offset, request.limit)
    return wire.GetResourcePoolsResponse(
        resource_pools=[_pool(pool) for pool in page], pagination=pagination
    )


def _pool(pool: PoolFacts) -> ResourcePool:
    scheduler, is_static = pool.scheduler, pool.kind == "agent"
    kind = "STATIC" if is_static else "K8S"
    fitting = scheduler.fitting_policy.upper() if is_static else "KUBERNETES"
    types = [DeviceType[f"TYPE_{name.upper()}"] for name in pool.device_types]
    if not types and pool.machines is not None:
        types = [device_type(pool.machines)]
    details = ResourcePoolDetail(priority_scheduler=_priority(scheduler))
    shown = ResourcePool(
        name=pool.name,
        description=pool.description,
        type=ResourcePoolType[f"RESOURCE_POOL_TYPE_{kind}"],
        num_agents=pool.agents,
        slots_available=pool.slots,
        slots_used=pool.used_slots,
        slot_type=types[0] if len(types) == 1 else DeviceType.TYPE_UNSPECIFIED,
        aux_container_capacity=pool.agents * pool.max_tasks_without_slots_per_agent,
        aux_containers_running=pool.tasks_without_slots,
        default_compute_pool=pool.is_default_compute,
        default_aux_pool=pool.is_default_aux,
        slots_per_agent=MIXED_OR_UNKNOWN,
        aux_container_capacity_per_agent=pool.max_tasks_without_slots_per_agent,
        scheduler_type=SchedulerType[f"SCHEDULER_TYPE_{scheduler.type.upper()}"],
        scheduler_fitting_policy=FittingPolicy[f"FITTING_POLICY_{fitting}"],
        location="on-prem" if is_static else "kubernetes",
        details=details,
        stats=QueueStats(queued_count=pool.queued, scheduled_count=pool.scheduled),
        resource_manager_metadata=pool.metadata,
        cluster_name=pool.cluster_name,
    )
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    if pool.trouble is not None:
        troubled = own.TroubledResourcePool(
            **fields, trouble=pool.trouble.text, trouble_since=pool.trouble.since
        )
        return ready(ResourcePool, encode(troubled))
    if pool.machines is None:
        return shown
    fields |= machine_fields(pool.machines, details)
    priced = own.PricedResourcePool(
        **fields,
        price_per_hour=pool.machines.type.price_per_hour,
        cost_per_hour=pool.machines.cost_per_hour,
        max_cost_per_hour=pool.machines.settings.max_cost_per_hour,
    )
    # Written here, since a list of ResourcePool has no fields for prices.
    return ready(ResourcePool, encode(priced))


def _priority(scheduler: Scheduler) -> ResourcePoolPrioritySchedulerDetail | None:
    if scheduler.type not in ("priority", "kubernetes"):
        return None
    return ResourcePoolPrioritySchedulerDetail(
        preemption=scheduler.preemption, default_priority=scheduler.default_priority or 0
    )

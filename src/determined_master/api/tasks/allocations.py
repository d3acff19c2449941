"""Routes that running tasks call about their own allocation."""

from __future__ import annotations

from functools import partial

import msgspec

from determined_master.api.http.access import of_task, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import REPORTS
from determined_master.api.tasks.tasks import allocation
from determined_master.services.tasks.allocations import Allocations
from determined_wire.rest import allocations as wire
from determined_wire.rest.types.trial import RendezvousInfo


@route(
    "GET",
    "/api/v1/allocations/{allocation_id}",
    access=on("allocation", "allocation_id"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def get_allocation(
    call: Call, request: wire.GetAllocationRequest, allocations: Allocations
) -> wire.GetAllocationResponse:
    """One allocation."""
    row = await allocations.get(call.caller, request.allocation_id)
    return wire.GetAllocationResponse(allocation=allocation(row))


@route(
    "GET",
    "/api/v1/allocations/{allocation_id}/resources/{resources_id}/rendezvous",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def rendezvous(
    call: Call, request: wire.AllocationRendezvousInfoRequest, allocations: Allocations
) -> wire.AllocationRendezvousInfoResponse:
    """Where the containers are; waits until all of them run. Addresses are in rank order."""
    found = await allocations.rendezvous(call.caller, request.allocation_id, request.resources_id)
    info = RendezvousInfo(addresses=found.addresses, rank=found.rank, slots=found.slots)
    return wire.AllocationRendezvousInfoResponse(rendezvous_info=info)


_report_route = partial(
    pass_through,
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
preemption_signal = _report_route(
    "GET /api/v1/allocations/{allocation_id}/signals/preemption",
    "Whether the task should save its work and exit; waits for a yes up to the timeout.",
    Allocations.preemption_signal,
    takes=("timeout_seconds",),
    answer="preempt",
)
acknowledge_preemption = _report_route(
    "POST /api/v1/allocations/{allocation_id}/signals/ack_preemption",
    "The task has received the request to exit, and will exit.",
    Allocations.acknowledge_preemption,
)
pending_preemption = _report_route(
    "POST /api/v1/allocations/{allocation_id}/signals/pending_preemption",
    "An external request that the task exit.",
    Allocations.request_preemption,
)
ready = _report_route(
    "POST /api/v1/allocations/{allocation_id}/ready",
    "The task answers requests now.",
    Allocations.report_ready,
)
waiting = _report_route(
    "POST /api/v1/allocations/{allocation_id}/waiting",
    "The task waits for something of its own.",
    Allocations.report_waiting,
)
mark_daemon = _report_route(
    "POST /api/v1/allocations/{allocation_id}/resources/{resources_id}/daemon",
    "A container only serves the others.",
    Allocations.mark_daemon,
)


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/all_gather",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def all_gather(
    call: Call, request: wire.AllocationAllGatherRequest, allocations: Allocations
) -> wire.AllocationAllGatherResponse:
    """Wait for all peers and give each the data of all."""
    data = await allocations.all_gather(
        call.caller,
        request.allocation_id,
        request.request_uuid,
        request.num_peers,
        request.data or {},
    )
    return wire.AllocationAllGatherResponse(data=data)


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/acceleratorData",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def accelerators(
    call: Call, request: wire.PostAllocationAcceleratorDataRequest, allocations: Allocations
) -> wire.PostAllocationAcceleratorDataResponse:
    """Which devices a container has found."""
    data = msgspec.to_builtins(request.accelerator_data)
    await allocations.report_accelerators(call.caller, request.allocation_id, data or {})
    return wire.PostAllocationAcceleratorDataResponse()


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/proxy_address",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def proxy_address(
    call: Call, request: wire.PostAllocationProxyAddressRequest, allocations: Allocations
) -> wire.PostAllocationProxyAddressResponse:
    """Where a task says that it is reached; its agent knows, so it is not kept.

    A caller who could name any address would make the master call it.
    """
    await allocations.get(call.caller, request.allocation_id)
    return wire.PostAllocationProxyAddressResponse()


notify_container_running = _report_route(
    "POST /api/v1/allocations/{allocation_id}/notify_container_running",
    "A container runs; agents report that themselves, so there is nothing to do.",
    Allocations.get,
)

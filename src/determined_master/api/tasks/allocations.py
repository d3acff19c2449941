"""Routes that running tasks call about their own allocation."""

from __future__ import annotations

import msgspec

from determined_master.api.http.access import of_task, on
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


@route(
    "GET",
    "/api/v1/allocations/{allocation_id}/signals/preemption",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def preemption_signal(
    call: Call, request: wire.AllocationPreemptionSignalRequest, allocations: Allocations
) -> wire.AllocationPreemptionSignalResponse:
    """Whether the task should save its work and exit; waits for a yes up to the timeout."""
    preempt = await allocations.preemption_signal(
        call.caller, request.allocation_id, request.timeout_seconds
    )
    return wire.AllocationPreemptionSignalResponse(preempt=preempt)


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/signals/ack_preemption",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def acknowledge_preemption(
    call: Call, request: wire.AckAllocationPreemptionSignalRequest, allocations: Allocations
) -> wire.AckAllocationPreemptionSignalResponse:
    """The task has received the request to exit, and will exit."""
    await allocations.acknowledge_preemption(call.caller, request.allocation_id)
    return wire.AckAllocationPreemptionSignalResponse()


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/signals/pending_preemption",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def pending_preemption(
    call: Call, request: wire.AllocationPendingPreemptionSignalRequest, allocations: Allocations
) -> wire.AllocationPendingPreemptionSignalResponse:
    """An external request that the task exit."""
    await allocations.request_preemption(call.caller, request.allocation_id)
    return wire.AllocationPendingPreemptionSignalResponse()


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/ready",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def ready(
    call: Call, request: wire.AllocationReadyRequest, allocations: Allocations
) -> wire.AllocationReadyResponse:
    """The task answers requests now."""
    await allocations.report_ready(call.caller, request.allocation_id)
    return wire.AllocationReadyResponse()


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/waiting",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def waiting(
    call: Call, request: wire.AllocationWaitingRequest, allocations: Allocations
) -> wire.AllocationWaitingResponse:
    """The task waits for something of its own."""
    await allocations.report_waiting(call.caller, request.allocation_id)
    return wire.AllocationWaitingResponse()


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/resources/{resources_id}/daemon",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def mark_daemon(
    call: Call, request: wire.MarkAllocationResourcesDaemonRequest, allocations: Allocations
) -> wire.MarkAllocationResourcesDaemonResponse:
    """A container only serves the others."""
    await allocations.mark_daemon(call.caller, request.allocation_id, request.resources_id)
    return wire.MarkAllocationResourcesDaemonResponse()


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


@route(
    "POST",
    "/api/v1/allocations/{allocation_id}/notify_container_running",
    access=on("allocation", "allocation_id", "report", "allocation"),
    task=of_task("allocation_id"),
    in_task=REPORTS,
)
async def notify_container_running(
    call: Call, request: wire.NotifyContainerRunningRequest, allocations: Allocations
) -> wire.NotifyContainerRunningResponse:
    """A container runs; agents report that themselves, so there is nothing to do."""
    await allocations.get(call.caller, request.allocation_id)
    return wire.NotifyContainerRunningResponse()

"""Routes of tensorboards."""

from __future__ import annotations

from typing import Any

from determined_master.api.experiment_bulk import bulk_filter
from determined_master.api.interactive import (
    launch_of,
    list_of,
    shown,
    shown_config,
    warnings_of,
)
from determined_master.api.routes import Call, route
from determined_master.services.tensorboards import Shown
from determined_master.store.interactive_tasks import InteractiveRow, ListedTask
from determined_wire.rest import tensorboards as wire
from determined_wire.rest.types.tensorboard import Tensorboard


@route("POST", "/api/v1/tensorboards")
async def launch_tensorboard(
    call: Call, request: wire.LaunchTensorboardRequest
) -> wire.LaunchTensorboardResponse:
    """Start TensorBoard on the events of experiments and trials."""
    new = launch_of("TENSORBOARD", request)
    filters = request.filters
    wanted = Shown(
        experiment_ids=request.experiment_ids,
        trial_ids=request.trial_ids,
        filter=None if filters is None else bulk_filter(filters),
    )
    launched = await call.services.tensorboards.launch(call.caller, new, wanted)
    return wire.LaunchTensorboardResponse(
        tensorboard=await _tensorboard(call, launched.row),
        config=shown_config(launched.row),
        warnings=warnings_of(exceeds_slots=launched.exceeds_slots),
    )


@route("GET", "/api/v1/tensorboards")
async def get_tensorboards(
    call: Call, request: wire.GetTensorboardsRequest
) -> wire.GetTensorboardsResponse:
    """Tensorboards that are not over, or not for longer than a day; a page of them."""
    found, page = await list_of(call, "TENSORBOARD", request)
    return wire.GetTensorboardsResponse(
        tensorboards=[_with_sources(row, fields) for row, fields in found], pagination=page
    )


@route("GET", "/api/v1/tensorboards/{tensorboard_id}")
async def get_tensorboard(
    call: Call, request: wire.GetTensorboardRequest
) -> wire.GetTensorboardResponse:
    """One tensorboard with its configuration."""
    row = await call.services.interactive_tasks.get(
        call.caller, "TENSORBOARD", request.tensorboard_id
    )
    return wire.GetTensorboardResponse(
        tensorboard=await _tensorboard(call, row), config=shown_config(row)
    )


@route("POST", "/api/v1/tensorboards/{tensorboard_id}/kill")
async def kill_tensorboard(
    call: Call, request: wire.KillTensorboardRequest
) -> wire.KillTensorboardResponse:
    """End a tensorboard at once; one that is over stays what it is."""
    row = await call.services.interactive_tasks.kill(
        call.caller, "TENSORBOARD", request.tensorboard_id
    )
    return wire.KillTensorboardResponse(tensorboard=await _tensorboard(call, row))


@route("POST", "/api/v1/tensorboards/{tensorboard_id}/set_priority")
async def set_tensorboard_priority(
    call: Call, request: wire.SetTensorboardPriorityRequest
) -> wire.SetTensorboardPriorityResponse:
    """Give a tensorboard another priority in its queue, from 1 (the most urgent) to 99."""
    row = await call.services.interactive_tasks.set_priority(
        call.caller, "TENSORBOARD", request.tensorboard_id, request.priority
    )
    return wire.SetTensorboardPriorityResponse(tensorboard=await _tensorboard(call, row))


async def _tensorboard(call: Call, row: InteractiveRow) -> Tensorboard:
    return _with_sources(row, await shown(call, row))


def _with_sources(row: ListedTask, fields: dict[str, Any]) -> Tensorboard:
    return Tensorboard(
        **fields,
        service_address=f"/proxy/{row.id}/",
        experiment_ids=row.experiment_ids,
        trial_ids=row.trial_ids,
    )

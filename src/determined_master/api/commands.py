"""Routes of commands."""

from __future__ import annotations

from determined_master.api.interactive import (
    launch_of,
    list_of,
    shown,
    shown_config,
    warnings_of,
)
from determined_master.api.routes import Call, route
from determined_master.store.interactive_tasks import InteractiveRow
from determined_wire.rest import commands as wire
from determined_wire.rest.types.command import Command


@route("POST", "/api/v1/commands")
async def launch_command(
    call: Call, request: wire.LaunchCommandRequest
) -> wire.LaunchCommandResponse:
    """Start a program on its own: it runs once."""
    new = launch_of("COMMAND", request)
    launched = await call.services.interactive_tasks.launch(call.caller, new)
    return wire.LaunchCommandResponse(
        command=await _command(call, launched.row),
        config=shown_config(launched.row),
        warnings=warnings_of(exceeds_slots=launched.exceeds_slots),
    )


@route("GET", "/api/v1/commands")
async def get_commands(call: Call, request: wire.GetCommandsRequest) -> wire.GetCommandsResponse:
    """Commands that are not over, or not for longer than a day; a page of them."""
    found, page = await list_of(call, "COMMAND", request)
    return wire.GetCommandsResponse(
        commands=[Command(**fields) for row, fields in found], pagination=page
    )


@route("GET", "/api/v1/commands/{command_id}")
async def get_command(call: Call, request: wire.GetCommandRequest) -> wire.GetCommandResponse:
    """One command with its configuration."""
    row = await call.services.interactive_tasks.get(call.caller, "COMMAND", request.command_id)
    return wire.GetCommandResponse(command=await _command(call, row), config=shown_config(row))


@route("POST", "/api/v1/commands/{command_id}/kill")
async def kill_command(call: Call, request: wire.KillCommandRequest) -> wire.KillCommandResponse:
    """End a command at once; one that is over stays what it is."""
    row = await call.services.interactive_tasks.kill(call.caller, "COMMAND", request.command_id)
    return wire.KillCommandResponse(command=await _command(call, row))


@route("POST", "/api/v1/commands/{command_id}/set_priority")
async def set_command_priority(
    call: Call, request: wire.SetCommandPriorityRequest
) -> wire.SetCommandPriorityResponse:
    """Give a command another priority in its queue, from 1 (the most urgent) to 99."""
    row = await call.services.interactive_tasks.set_priority(
        call.caller, "COMMAND", request.command_id, request.priority
    )
    return wire.SetCommandPriorityResponse(command=await _command(call, row))


async def _command(call: Call, row: InteractiveRow) -> Command:
    return Command(**await shown(call, row))

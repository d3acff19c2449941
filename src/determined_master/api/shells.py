"""Routes of shells."""

from __future__ import annotations

from determined_master.api.interactive import (
    addresses_of,
    launch_of,
    list_of,
    shown,
    shown_config,
    warnings_of,
)
from determined_master.api.routes import Call, route
from determined_master.store.interactive_tasks import InteractiveRow
from determined_wire.rest import shells as wire
from determined_wire.rest.types.shell import Shell


@route("POST", "/api/v1/shells")
async def launch_shell(call: Call, request: wire.LaunchShellRequest) -> wire.LaunchShellResponse:
    """Start a shell; the answer has the key that lets its user in."""
    new = launch_of("SHELL", request)
    launched = await call.services.interactive_tasks.launch(call.caller, new)
    return wire.LaunchShellResponse(
        shell=await _shell(call, launched.row),
        config=shown_config(launched.row),
        warnings=warnings_of(exceeds_slots=launched.exceeds_slots),
    )


@route("GET", "/api/v1/shells")
async def get_shells(call: Call, request: wire.GetShellsRequest) -> wire.GetShellsResponse:
    """Shells that are not over, or not for longer than a day; a page of them, without keys."""
    found, page = await list_of(call, "SHELL", request)
    return wire.GetShellsResponse(
        shells=[Shell(**fields) for row, fields in found], pagination=page
    )


@route("GET", "/api/v1/shells/{shell_id}")
async def get_shell(call: Call, request: wire.GetShellRequest) -> wire.GetShellResponse:
    """One shell with its configuration."""
    row = await call.services.interactive_tasks.get(call.caller, "SHELL", request.shell_id)
    return wire.GetShellResponse(shell=await _shell(call, row), config=shown_config(row))


@route("POST", "/api/v1/shells/{shell_id}/kill")
async def kill_shell(call: Call, request: wire.KillShellRequest) -> wire.KillShellResponse:
    """End a shell at once; one that is over stays what it is."""
    row = await call.services.interactive_tasks.kill(call.caller, "SHELL", request.shell_id)
    return wire.KillShellResponse(shell=await _shell(call, row))


@route("POST", "/api/v1/shells/{shell_id}/set_priority")
async def set_shell_priority(
    call: Call, request: wire.SetShellPriorityRequest
) -> wire.SetShellPriorityResponse:
    """Give a shell another priority in its queue, from 1 (the most urgent) to 99."""
    row = await call.services.interactive_tasks.set_priority(
        call.caller, "SHELL", request.shell_id, request.priority
    )
    return wire.SetShellPriorityResponse(shell=await _shell(call, row))


async def _shell(call: Call, row: InteractiveRow) -> Shell:
    tasks = call.services.interactive_tasks
    keys, user = await tasks.secrets.ssh_keys(row.id), await tasks.agent_user(row)
    return Shell(
        **await shown(call, row),
        private_key=keys.private.decode() if tasks.may_enter(call.caller, row) else "",
        public_key=keys.public.decode(),
        addresses=addresses_of(call, row),
        agent_user_group={
            "id": 0,
            "user_id": row.user_id,
            "user": user.user,
            "uid": user.uid,
            "group": user.group,
            "gid": user.gid,
        },
    )

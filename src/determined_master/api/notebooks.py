"""Routes of notebooks."""

from __future__ import annotations

from typing import Any

from determined_master.api.interactive import (
    launch_of,
    list_of,
    shown,
    shown_config,
    warnings_of,
)
from determined_master.api.routes import Call, route
from determined_master.domain.config.shown_task import shown_task_config
from determined_master.store.interactive_tasks import InteractiveRow, ListedTask
from determined_wire.rest import notebooks as wire
from determined_wire.rest.types.notebook import Notebook


@route("POST", "/api/v1/notebooks")
async def launch_notebook(
    call: Call, request: wire.LaunchNotebookRequest
) -> wire.LaunchNotebookResponse:
    """Start JupyterLab; with `preview` only tell the configuration that it would run by."""
    new = launch_of("NOTEBOOK", request)
    if request.preview:
        prepared = await call.services.interactive_tasks.preview(call.caller, new)
        return wire.LaunchNotebookResponse(
            notebook=Notebook(),
            config=shown_task_config(prepared.built.config),
            warnings=warnings_of(exceeds_slots=prepared.exceeds_slots),
        )
    launched = await call.services.interactive_tasks.launch(call.caller, new)
    return wire.LaunchNotebookResponse(
        notebook=await _notebook(call, launched.row),
        config=shown_config(launched.row),
        warnings=warnings_of(exceeds_slots=launched.exceeds_slots),
    )


@route("GET", "/api/v1/notebooks")
async def get_notebooks(
    call: Call, request: wire.GetNotebooksRequest
) -> wire.GetNotebooksResponse:
    """Notebooks that are not over, or not for longer than a day; a page of them."""
    found, page = await list_of(call, "NOTEBOOK", request)
    return wire.GetNotebooksResponse(
        notebooks=[_with_address(call, row, fields) for row, fields in found], pagination=page
    )


@route("GET", "/api/v1/notebooks/{notebook_id}")
async def get_notebook(call: Call, request: wire.GetNotebookRequest) -> wire.GetNotebookResponse:
    """One notebook with its configuration."""
    row = await call.services.interactive_tasks.get(call.caller, "NOTEBOOK", request.notebook_id)
    return wire.GetNotebookResponse(notebook=await _notebook(call, row), config=shown_config(row))


@route("POST", "/api/v1/notebooks/{notebook_id}/kill")
async def kill_notebook(
    call: Call, request: wire.KillNotebookRequest
) -> wire.KillNotebookResponse:
    """End a notebook at once; one that is over stays what it is."""
    row = await call.services.interactive_tasks.kill(call.caller, "NOTEBOOK", request.notebook_id)
    return wire.KillNotebookResponse(notebook=await _notebook(call, row))


@route("POST", "/api/v1/notebooks/{notebook_id}/set_priority")
async def set_notebook_priority(
    call: Call, request: wire.SetNotebookPriorityRequest
) -> wire.SetNotebookPriorityResponse:
    """Give a notebook another priority in its queue, from 1 (the most urgent) to 99."""
    row = await call.services.interactive_tasks.set_priority(
        call.caller, "NOTEBOOK", request.notebook_id, request.priority
    )
    return wire.SetNotebookPriorityResponse(notebook=await _notebook(call, row))


@route("PUT", "/api/v1/notebooks/{notebook_id}/report_idle")
async def report_idle(call: Call, request: wire.IdleNotebookRequest) -> wire.IdleNotebookResponse:
    """Said by a notebook's own program: whether anybody uses it now."""
    if not request.idle:
        await call.services.interactive_tasks.report_use(call.caller, request.notebook_id)
    return wire.IdleNotebookResponse()


async def _notebook(call: Call, row: InteractiveRow) -> Notebook:
    return _with_address(call, row, await shown(call, row))


def _with_address(call: Call, row: ListedTask, fields: dict[str, Any]) -> Notebook:
    tasks = call.services.interactive_tasks
    address = f"/proxy/{row.id}/"
    if tasks.may_enter(call.caller, row):
        address += f"?token={tasks.secrets.notebook_token(row.id)}"
    return Notebook(**fields, service_address=address)

"""Routes of notebooks."""

from __future__ import annotations

from typing import Any

from determined_master.api.http.access import of_task, on
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import REPORTS
from determined_master.api.tasks.interactive import launch_of
from determined_master.api.tasks.interactive_routes import InteractiveTaskKind, routes_of_kind
from determined_master.domain.access.rules import is_owner
from determined_master.pools.live import LiveAllocations
from determined_master.records.tasks import InteractiveRow, ListedTask
from determined_master.services.cluster.agents import Agents
from determined_master.services.tasks.interactive_configs import PreparedTask
from determined_master.services.tasks.interactive_tasks import InteractiveTasks, Launched
from determined_wire.rest import notebooks as wire
from determined_wire.rest.types.notebook import Notebook


@route(
    "PUT",
    "/api/v1/notebooks/{notebook_id}/report_idle",
    access=on("notebook", "notebook_id", "report", "allocation"),
    task=of_task("notebook_id", "task_id"),
    in_task=REPORTS,
)
async def report_idle(
    call: Call, request: wire.IdleNotebookRequest, tasks: InteractiveTasks
) -> wire.IdleNotebookResponse:
    """Said by a notebook's own program: whether anybody uses it now."""
    if not request.idle:
        await tasks.report_use(call.caller, request.notebook_id)
    return wire.IdleNotebookResponse()


async def _start(
    call: Call, request: wire.LaunchNotebookRequest, tasks: InteractiveTasks
) -> Launched | PreparedTask:
    new = launch_of("NOTEBOOK", request)
    if request.preview:
        return await tasks.preview(call.caller, new)
    return await tasks.launch(call.caller, new)


def _address(call: Call, row: ListedTask, tasks: InteractiveTasks) -> dict[str, Any]:
    """In lists only the owner gets the token; a look-up for each task would cost too much."""
    return _with_token(row, tasks, may_enter=is_owner(call.caller, row))


async def _address_alone(
    call: Call,
    row: InteractiveRow,
    tasks: InteractiveTasks,
    agents: Agents,
    live: LiveAllocations,
) -> dict[str, Any]:
    return _with_token(row, tasks, may_enter=await tasks.may_enter(call.caller, row))


def _with_token(row: ListedTask, tasks: InteractiveTasks, *, may_enter: bool) -> dict[str, Any]:
    address = f"/proxy/{row.id}/"
    if may_enter:
        address += f"?token={tasks.secrets.notebook_token(row.id)}"
    return {"service_address": address}


(
    launch_notebook,
    get_notebooks,
    get_notebook,
    kill_notebook,
    set_notebook_priority,
) = routes_of_kind(
    InteractiveTaskKind(
        kind="NOTEBOOK",
        word="notebook",
        message=Notebook,
        starts="Start JupyterLab; `preview` only returns its configuration.",
        start=_start,
        more=_address,
        more_alone=_address_alone,
    )
)

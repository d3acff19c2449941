"""Routes of lists of generic tasks, which the public API lacks."""

from __future__ import annotations

from collections.abc import Mapping

from determined_master.api.http.access import FILTERED, on
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.records.tasks import ListedGenericTask
from determined_master.services.tasks.generic_lists import GenericLists
from determined_wire.ui import generic_tasks as wire

_ALLOCATION_STATES: Mapping[str | None, str] = {
    None: "QUEUED",
    "PENDING": "QUEUED",
    "ASSIGNED": "QUEUED",
    "TERMINATED": "QUEUED",
}
"""The shown state of an active task by the state of its last run, where they differ."""


@route("GET", "/api/ui/v1/generic-tasks", access=FILTERED)
async def get_generic_tasks(
    call: Call, request: wire.GetGenericTasksRequest, tasks: GenericLists
) -> wire.GetGenericTasksResponse:
    """The newest generic tasks that the caller sees."""
    found = await tasks.list_newest(call.caller, request.limit)
    return wire.GetGenericTasksResponse(tasks=[_listed(row) for row in found])


@route("GET", "/api/ui/v1/tasks/{task_id}/tree", access=on("task", "task_id"))
async def get_task_tree(
    call: Call, request: wire.GetTaskTreeRequest, tasks: GenericLists
) -> wire.GetGenericTasksResponse:
    """A generic task with all tasks above it and below those, as far as the caller sees them."""
    found = await tasks.tree(call.caller, request.task_id)
    return wire.GetGenericTasksResponse(tasks=[_listed(row) for row in found])


def _listed(row: ListedGenericTask) -> wire.ListedGenericTask:
    return struct_of(
        wire.ListedGenericTask,
        row,
        state=_state(row),
        workspace_id=row.workspace_id or 0,
        project_id=row.project_id or 0,
        parent_id=row.parent_id or "",
        forked_from=row.forked_from or "",
        can_pause=not row.no_pause,
        start_time=row.started_at,
        end_time=row.ended_at,
    )


def _state(row: ListedGenericTask) -> str:
    if row.state != "ACTIVE":
        return row.state
    known = row.allocation_state
    return _ALLOCATION_STATES.get(known, known or "QUEUED")

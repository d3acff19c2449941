"""Routes of generic tasks."""

from __future__ import annotations

from functools import partial

from determined_master.api.http.access import maybe, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import WORKS
from determined_master.domain.experiment.model_definition import ModelFile
from determined_master.services.tasks.generic_tasks import GenericLaunch, GenericTasks
from determined_wire.rest import tasks as wire
from determined_wire.rest.types.shared import LaunchWarning


@route(
    "POST",
    "/api/v1/generic-tasks",
    large_body=True,
    submission=True,
    starts_work=True,
    access=(
        maybe("task", "parent_id", "control", "task"),
        maybe("task", "forked_from"),
    ),
    in_task=WORKS,
)
async def create_generic_task(
    call: Call, request: wire.CreateGenericTaskRequest, generic_tasks: GenericTasks
) -> wire.CreateGenericTaskResponse:
    """Start a program as a task, or start an earlier task again unchanged."""
    files = [
        ModelFile(path=f.path, type=f.type, content=f.content, mode=f.mode, mtime_s=int(f.mtime))
        for f in request.context_directory
    ]
    new = GenericLaunch(
        config=request.config,
        files=files,
        project_id=request.project_id or 0,
        parent_id=request.parent_id or "",
        inherits_context=bool(request.inherit_context),
        forked_from=request.forked_from or "",
        no_pause=request.no_pause,
    )
    task_id, exceeds_slots = await generic_tasks.create(call.caller, new)
    too_large = LaunchWarning.LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED
    return wire.CreateGenericTaskResponse(
        task_id=task_id, warnings=[too_large] if exceeds_slots else []
    )


_control_route = partial(
    pass_through, access=on("task", "task_id", "control", "task"), in_task=WORKS
)
pause_generic_task = _control_route(
    "POST /api/v1/tasks/{task_id}/pause",
    "Release the slots of a generic task and of the tasks below it.",
    GenericTasks.pause,
)
unpause_generic_task = _control_route(
    "POST /api/v1/tasks/{task_id}/unpause",
    "Let a paused generic task continue, and the paused tasks below it.",
    GenericTasks.unpause,
)

"""Routes of tasks and of the runs that they prepare."""

from __future__ import annotations

import base64

import msgspec

from determined_master.api.http.access import FILTERED, IN_SERVICE, of_task, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS, REPORTS, WORKS
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.pools.live import LiveAllocations
from determined_master.records.tasks import AllocationRow
from determined_master.services.checkpoints.service import Checkpoints
from determined_master.services.experiments.trials import Trials
from determined_master.services.logs.retention import LogRetention
from determined_master.services.tasks.allocations import Allocations
from determined_master.services.tasks.control import TaskControl
from determined_master.services.tasks.generic_tasks import GenericTasks
from determined_master.services.tasks.service import Tasks
from determined_wire.rest import runs as run_wire
from determined_wire.rest import tasks as wire
from determined_wire.rest.types.shared import AcceleratorData
from determined_wire.rest.types.task import Allocation, GenericTaskState, Task, TaskState, TaskType

SHOWN_STATES = {"PENDING": "QUEUED", "ASSIGNED": "QUEUED"}


@route(
    "GET",
    "/api/v1/tasks/{task_id}",
    access=on("task", "task_id"),
    task=of_task("task_id"),
    in_task=READS,
)
async def get_task(
    call: Call,
    request: wire.GetTaskRequest,
    tasks: Tasks,
    allocations: Allocations,
    generic_tasks: GenericTasks,
) -> wire.GetTaskResponse:
    """One task with its allocations, newest first."""
    task = await tasks.get(call.caller, request.task_id)
    rows = await allocations.list_of(call.caller, request.task_id)
    shown = Task(
        task_id=task.id,
        task_type=TaskType[f"TASK_TYPE_{task.type}"],
        allocations=[allocation(row) for row in rows],
        start_time=task.started_at,
        end_time=task.ended_at,
    )
    if TASK_KINDS[task.type].group == "generic":
        row = await generic_tasks.get(call.caller, request.task_id)
        shown = msgspec.structs.replace(
            shown,
            end_time=row.ended_at,  # of the same instant as the state
            task_state=GenericTaskState[f"GENERIC_TASK_STATE_{row.state}"],
            parent_id=row.parent_id,
            forked_from=row.forked_from,
            no_pause=row.no_pause,
        )
    return wire.GetTaskResponse(task=shown)


@route("GET", "/api/v1/tasks/count", access=FILTERED, in_task=READS)
async def get_active_tasks_count(
    call: Call,
    request: wire.GetActiveTasksCountRequest,
    task_control: TaskControl,
    live: LiveAllocations,
) -> wire.GetActiveTasksCountResponse:
    """The number of open interactive tasks of each type that the caller sees."""
    allocations = list(live.values())
    counts = await task_control.count_active(call.caller, allocations)
    return wire.GetActiveTasksCountResponse(
        **{f"{k.word}s": counts[k.type] for k in TASK_KINDS.values() if k.group == "interactive"}
    )


@route("GET", "/api/v1/tasks/{task_id}/config", access=on("task", "task_id"), in_task=READS)
async def get_task_config(
    call: Call, request: wire.GetGenericTaskConfigRequest, task_control: TaskControl
) -> wire.GetGenericTaskConfigResponse:
    """The configuration that a task runs by, as the text of a JSON object."""
    config = await task_control.config(call.caller, request.task_id)
    return wire.GetGenericTaskConfigResponse(config=msgspec.json.encode(config).decode())


@route(
    "POST",
    "/api/v1/tasks/{task_id}/kill",
    access=on("task", "task_id", "control", "task"),
    in_task=WORKS,
)
async def kill_task(
    call: Call, request: wire.KillGenericTaskRequest, task_control: TaskControl
) -> wire.KillGenericTaskResponse:
    """End a task at once, with those below it."""
    await task_control.kill(call.caller, request.task_id, from_root=request.kill_from_root)
    return wire.KillGenericTaskResponse()


@route("POST", "/api/v1/cleanup_logs", access=IN_SERVICE)
async def clean_up_logs(
    call: Call, request: wire.CleanupLogsRequest, log_retention: LogRetention
) -> wire.CleanupLogsResponse:
    """Remove now the lines of ended tasks that are kept no longer; for admins."""
    removed = await log_retention.clean_up(call.caller)
    return wire.CleanupLogsResponse(removed_count=removed)


@route(
    "GET",
    "/api/v1/tasks/{task_id}/acceleratorData",
    access=on("task", "task_id"),
    task=of_task("task_id"),
    in_task=READS,
)
async def get_accelerators(
    call: Call, request: wire.GetTaskAcceleratorDataRequest, allocations: Allocations
) -> wire.GetTaskAcceleratorDataResponse:
    """Which devices the containers of a task have found."""
    found = await allocations.accelerators(call.caller, request.task_id)
    return wire.GetTaskAcceleratorDataResponse(
        accelerator_data=[msgspec.convert(data, AcceleratorData, strict=False) for data in found]
    )


@route(
    "GET",
    "/api/v1/tasks/{task_id}/context_directory",
    access=on("task", "task_id", "read", "checkpoint"),
    task=of_task("task_id"),
    in_task=READS,
)
async def get_context_directory(
    call: Call, request: wire.GetTaskContextDirectoryRequest, tasks: Tasks
) -> wire.GetTaskContextDirectoryResponse:
    """The directory that the task starts in, as tar.gz."""
    tgz = await tasks.context_directory(call.caller, request.task_id)
    return wire.GetTaskContextDirectoryResponse(b64_tgz=base64.b64encode(tgz).decode())


@route(
    "POST",
    "/api/v1/runs/start",
    access=on("trial", "run_id", "report", "task"),
    task=of_task("run_id", "trial_id"),
    in_task=REPORTS,
)
async def start_run(
    call: Call,
    request: run_wire.RunPrepareForReportingRequest,
    trials: Trials,
    checkpoints: Checkpoints,
) -> run_wire.RunPrepareForReportingResponse:
    """Return the id of the run's checkpoint storage."""
    storage_id = None
    await trials.get(call.caller, request.run_id)
    if request.checkpoint_storage is not None:
        storage_id = await checkpoints.storage_id(
            call.caller, request.run_id, request.checkpoint_storage
        )
    return run_wire.RunPrepareForReportingResponse(storage_id=storage_id)


get_run_metadata = pass_through(
    "GET /api/v1/runs/{run_id}/metadata",
    "The metadata that users have set on a run.",
    Trials.metadata,
    answer="metadata",
    access=on("trial", "run_id"),
    task=of_task("run_id", "trial_id"),
    in_task=READS,
)


@route(
    "POST",
    "/api/v1/runs/{run_id}/metadata",
    access=on("trial", "run_id", "report", "task"),
    task=of_task("run_id", "trial_id"),
    in_task=REPORTS,
)
async def post_run_metadata(
    call: Call, request: run_wire.PostRunMetadataRequest, trials: Trials
) -> run_wire.PostRunMetadataResponse:
    """Replace the metadata of a run."""
    metadata = await trials.replace_metadata(call.caller, request.run_id, request.metadata or {})
    return run_wire.PostRunMetadataResponse(metadata=metadata)


def allocation(row: AllocationRow) -> Allocation:
    """An allocation as tasks show it; instants are RFC 3339."""
    state = SHOWN_STATES.get(row.state, row.state)
    return Allocation(
        task_id=row.task_id,
        state=TaskState[f"STATE_{state}"],
        is_ready=row.is_ready or None,
        start_time=_text(row.started_at),
        end_time=_text(row.ended_at),
        allocation_id=row.id,
        slots=row.slots,
        exit_reason=row.exit_reason,
        status_code=row.status_code,
    )


def _text(at: object) -> str | None:
    return None if at is None else str(at).replace(" ", "T").replace("+00:00", "Z")

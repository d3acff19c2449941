"""Routes that delete checkpoints, or list which would be deleted."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import parse_qs

from determined_master.api.http.access import on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, plain_route
from determined_master.api.http.task_use import MODELS, READS
from determined_master.domain.checkpoints.gc import SavePolicy
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.records.checkpoints import CheckpointRow
from determined_master.services.checkpoints.gc import CheckpointGc

MAX_INT32 = 2**31 - 1


_delete_route = partial(
    pass_through,
    access=on("checkpoint", "checkpoint_uuids", "delete", "checkpoint"),
    in_task=MODELS,
)
delete_checkpoints = _delete_route(
    "DELETE /api/v1/checkpoints",
    "Delete all files of checkpoints; tasks do that after the answer.",
    CheckpointGc.delete,
    takes=("checkpoint_uuids",),
)
remove_files = _delete_route(
    "POST /api/v1/checkpoints/rm",
    "Delete those files of checkpoints that match a pattern.",
    CheckpointGc.remove_files,
    takes=("checkpoint_uuids", "checkpoint_globs"),
)
delete_tensorboard_files = pass_through(
    "DELETE /api/v1/experiments/{experiment_id}/tensorboard-files",
    "Delete the TensorBoard files of an ended experiment; answered when a task has done it.",
    CheckpointGc.remove_tensorboard,
    access=on("experiment", "experiment_id", "control", "experiment"),
    in_task=MODELS,
)


@plain_route(
    "GET",
    "/experiments/{experiment_id}/preview_gc",
    access=on("experiment", "experiment_id", "read", "checkpoint"),
    in_task=READS,
)
async def preview_gc(call: Call, checkpoint_gc: CheckpointGc) -> dict[str, Any]:
    """Which checkpoints a policy would delete now; empty when there are none.

    Names within are those that clients read here, and only here.
    """
    given = parse_qs(call.http.query, keep_blank_values=True)
    policy = SavePolicy(
        experiment_best=_count(given, "save_experiment_best"),
        trial_best=_count(given, "save_trial_best"),
        trial_latest=_count(given, "save_trial_latest"),
    )
    experiment_id = _number(call.parameters["experiment_id"])
    if experiment_id > MAX_INT32:
        raise NotFound(f"experiment '{experiment_id}' not found")
    found, metric = await checkpoint_gc.preview(call.caller, experiment_id, policy)
    return {"checkpoints": [_doomed(row) for row in found], "metric_name": metric}


def _doomed(row: CheckpointRow) -> dict[str, Any]:
    return {
        "UUID": row.uuid,
        "TaskID": row.task_id,
        "AllocationID": row.allocation_id,
        "TrialID": row.trial_id,
        "ExperimentID": row.experiment_id,
        "ReportTime": row.reported_at,
        "State": row.state,
        "StepsCompleted": row.steps,
        "Resources": row.resources,
        "Metadata": row.metadata,
        "Size": row.size,
        "SearcherMetric": row.searcher_metric,
        "ValidationMetrics": row.validation_metrics,
    }


def _count(given: dict[str, list[str]], name: str) -> int:
    if name not in given:
        raise InvalidArgument(f"missing parameter: {name}")
    count = _number(given[name][0])
    if not 0 <= count <= MAX_INT32:
        raise InvalidArgument(f"{name} is {count}: it must be 0 or more")
    return count


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(
            f'unable to parse to int: {text}: strconv.Atoi: parsing "{text}": invalid syntax'
        ) from None

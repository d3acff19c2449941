"""Routes of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.api.http.access import of_task, on
from determined_master.api.http.long_lists import written
from determined_master.api.http.routes import Call, Reply, plain_route, route
from determined_master.api.http.task_use import MODELS, READS, REPORTS
from determined_master.api.shapes import checkpoint, cut
from determined_master.domain.errors import InvalidArgument
from determined_master.services.archives import Form
from determined_master.services.checkpoints.files import CheckpointFiles
from determined_master.services.checkpoints.service import CheckpointReport, Checkpoints
from determined_wire.rest import checkpoints as wire
from determined_wire.rest import experiments as experiment_wire
from determined_wire.rest import trials as trial_wire
from determined_wire.rest.types.checkpoint import Checkpoint, SortBy
from determined_wire.rest.types.shared import OrderBy, Pagination

SORTS = {
    SortBy.SORT_BY_UUID: "uuid",
    SortBy.SORT_BY_TRIAL_ID: "trial_id",
    SortBy.SORT_BY_BATCH_NUMBER: "steps",
    SortBy.SORT_BY_END_TIME: "reported_at",
    SortBy.SORT_BY_STATE: "state",
    SortBy.SORT_BY_SEARCHER_METRIC: "searcher_metric",
}
AT_ONCE = 25
"""With 20 files and a usual configuration each takes 70 µs; one may have thousands of files."""
ARCHIVES: dict[str, Form] = {
    "application/gzip": "tar.gz",
    "application/zip": "zip",
    "application/x-tar": "tar",
}


@route(
    "POST",
    "/api/v1/checkpoints",
    large_body=True,
    access=on("task", "checkpoint.task_id", "report", "task"),
    task=of_task("checkpoint.task_id", "task_id"),
    in_task=REPORTS,
)
async def report_checkpoint(
    call: Call, request: wire.ReportCheckpointRequest, checkpoints: Checkpoints
) -> wire.ReportCheckpointResponse:
    """A task has stored a checkpoint."""
    given = request.checkpoint
    if given is None:
        raise InvalidArgument("the report has no checkpoint")
    report = CheckpointReport(
        uuid=given.uuid,
        task_id=given.task_id,
        allocation_id=given.allocation_id or None,
        state=given.state.removeprefix("STATE_"),
        reported_at=given.report_time,
        resources=given.resources,
        metadata=given.metadata or {},
        storage_id=given.storage_id,
    )
    await checkpoints.report(call.caller, report)
    return wire.ReportCheckpointResponse()


@route(
    "GET",
    "/api/v1/checkpoints/{checkpoint_uuid}",
    access=on("checkpoint", "checkpoint_uuid"),
    task=of_task(),
    in_task=READS,
)
async def get_checkpoint(
    call: Call, request: wire.GetCheckpointRequest, checkpoints: Checkpoints
) -> wire.GetCheckpointResponse:
    """One checkpoint with its training metrics."""
    row = await checkpoints.get(call.caller, request.checkpoint_uuid)
    return wire.GetCheckpointResponse(checkpoint=checkpoint(call.caller, row))


@plain_route(
    "GET",
    "/checkpoints/{uuid}",
    access=on("checkpoint", "uuid", "read", "checkpoint"),
    in_task=READS,
)
async def download_checkpoint(call: Call, checkpoint_files: CheckpointFiles) -> Reply:
    """The files of a checkpoint, as the archive that `Accept` names first; else as tar."""
    accepted = [part.partition(";")[0].strip() for part in call.http.header("accept").split(",")]
    kind = next((name for name in accepted if name in ARCHIVES), "application/x-tar")
    pieces = await checkpoint_files.archive(call.caller, call.parameters["uuid"], ARCHIVES[kind])
    return Reply(pieces, content_type=kind)


@plain_route(
    "GET",
    "/checkpoints/{uuid}/manifest",
    access=on("checkpoint", "uuid", "read", "checkpoint"),
    in_task=READS,
)
async def checkpoint_manifest(call: Call, checkpoint_files: CheckpointFiles) -> Reply:
    """Sizes and hashes of a checkpoint's files, as they were when they were stored."""
    content = await checkpoint_files.manifest(call.caller, call.parameters["uuid"])
    return Reply(content, content_type="application/json")


@route(
    "POST",
    "/api/v1/checkpoints/{checkpoint.uuid}/metadata",
    access=on("checkpoint", "checkpoint.uuid", "edit", "experiment"),
    in_task=MODELS,
)
async def post_metadata(
    call: Call, request: wire.PostCheckpointMetadataRequest, checkpoints: Checkpoints
) -> wire.PostCheckpointMetadataResponse:
    """Replace a checkpoint's metadata."""
    given = request.checkpoint
    if given is None:
        raise InvalidArgument("the request has no checkpoint")
    row = await checkpoints.replace_metadata(call.caller, given.uuid, given.metadata or {})
    return wire.PostCheckpointMetadataResponse(checkpoint=checkpoint(call.caller, row))


@route(
    "PATCH",
    "/api/v1/checkpoints",
    large_body=True,
    access=on("checkpoint", "checkpoints.uuid", "delete", "checkpoint"),
    task=of_task(),
    in_task=MODELS,
)
async def patch_checkpoints(
    call: Call, request: wire.PatchCheckpointsRequest, checkpoints: Checkpoints
) -> wire.PatchCheckpointsResponse:
    """Record the remaining files of checkpoints after a deletion."""
    left = {c.uuid: c.resources.resources for c in request.checkpoints if c.resources is not None}
    await checkpoints.patch(call.caller, left)
    return wire.PatchCheckpointsResponse()


@route("GET", "/api/v1/experiments/{id}/checkpoints", access=on("experiment", "id"), in_task=READS)
async def get_experiment_checkpoints(
    call: Call, request: experiment_wire.GetExperimentCheckpointsRequest, checkpoints: Checkpoints
) -> experiment_wire.GetExperimentCheckpointsResponse:
    """The checkpoints of an experiment, a page of them."""
    found, pagination = await _page(
        call, request, SortBy.SORT_BY_UUID, checkpoints, experiment_id=request.id
    )
    return experiment_wire.GetExperimentCheckpointsResponse(
        checkpoints=found, pagination=pagination
    )


@route("GET", "/api/v1/trials/{id}/checkpoints", access=on("trial", "id"), in_task=READS)
async def get_trial_checkpoints(
    call: Call, request: trial_wire.GetTrialCheckpointsRequest, checkpoints: Checkpoints
) -> trial_wire.GetTrialCheckpointsResponse:
    """The checkpoints of a trial, a page of them."""
    found, pagination = await _page(
        call, request, SortBy.SORT_BY_BATCH_NUMBER, checkpoints, trial_id=request.id
    )
    return trial_wire.GetTrialCheckpointsResponse(checkpoints=found, pagination=pagination)


async def _page(
    call: Call,
    request: experiment_wire.GetExperimentCheckpointsRequest
    | trial_wire.GetTrialCheckpointsRequest,
    sort: SortBy,
    checkpoints: Checkpoints,
    **owner: int,
) -> tuple[list[Checkpoint], Pagination]:
    """Those of an owner, by `sort` if the request names no order."""
    uuids = await checkpoints.uuids_of(
        call.caller,
        **owner,
        states=[s.removeprefix("STATE_") for s in request.states],
        sort=SORTS.get(request.sort_by_attr or sort, SORTS[sort]),
        metric=request.sort_by_metric,
        newest_first=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    page, pagination = cut(uuids, request.offset, request.limit)

    async def items(some: Sequence[str]) -> list[Checkpoint]:
        found = await checkpoints.list_some(some)
        return [checkpoint(call.caller, row) for row in found]

    return await written(Checkpoint, page, AT_ONCE, items), pagination

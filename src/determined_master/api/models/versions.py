"""Routes of versions of models, and of trials that use checkpoints."""

from __future__ import annotations

from determined_master.api.experiments.trial_shapes import metrics_report
from determined_master.api.http.access import maybe, of_task, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import MODELS, READS, REPORTS
from determined_master.api.models.shapes import model_message, version_message
from determined_master.api.shapes import cut, struct_of
from determined_master.domain.errors import InvalidArgument
from determined_master.records.models import TrialSource
from determined_master.services.experiments.trial_sources import TrialSources
from determined_master.services.models.versions import (
    ModelVersions,
    VersionChanges,
    VersionRequest,
)
from determined_wire.rest import checkpoints as checkpoint_wire
from determined_wire.rest import models as wire
from determined_wire.rest import trials as trial_wire
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.trial import TrialSourceInfoType

TYPE = "TRIAL_SOURCE_INFO_TYPE_"


@route(
    "GET", "/api/v1/models/{model_name}/versions", access=on("model", "model_name"), in_task=READS
)
async def get_model_versions(
    call: Call, request: wire.GetModelVersionsRequest, model_versions: ModelVersions
) -> wire.GetModelVersionsResponse:
    """The versions of a model, a page of them."""
    sort = request.sort_by.removeprefix("SORT_BY_").lower()
    model, found = await model_versions.list_of(
        call.caller,
        request.model_name,
        sort="version" if sort == "unspecified" else sort,
        descending=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    shown, bounds = cut(found, request.offset, request.limit)
    return wire.GetModelVersionsResponse(
        model=model_message(model),
        model_versions=[version_message(call.caller, version) for version in shown],
        pagination=bounds,
    )


@route(
    "POST",
    "/api/v1/models/{model_name}/versions",
    access=(
        on("model", "model_name", "edit", "model"),
        on("checkpoint", "checkpoint_uuid", "read", "checkpoint"),
    ),
    in_task=MODELS,
)
async def post_model_version(
    call: Call, request: wire.PostModelVersionRequest, model_versions: ModelVersions
) -> wire.PostModelVersionResponse:
    """Register a checkpoint as the next version."""
    registration = struct_of(VersionRequest, request, metadata=request.metadata or {})
    version = await model_versions.register(call.caller, request.model_name, registration)
    return wire.PostModelVersionResponse(model_version=version_message(call.caller, version))


@route(
    "GET",
    "/api/v1/models/{model_name}/versions/{model_version_num}",
    access=on("model", "model_name"),
    in_task=READS,
)
async def get_model_version(
    call: Call, request: wire.GetModelVersionRequest, model_versions: ModelVersions
) -> wire.GetModelVersionResponse:
    """One version."""
    version = await model_versions.get(call.caller, request.model_name, request.model_version_num)
    return wire.GetModelVersionResponse(model_version=version_message(call.caller, version))


@route(
    "PATCH",
    "/api/v1/models/{model_name}/versions/{model_version_num}",
    access=on("model", "model_name", "edit", "model"),
    in_task=MODELS,
)
async def patch_model_version(
    call: Call, request: wire.PatchModelVersionRequest, model_versions: ModelVersions
) -> wire.PatchModelVersionResponse:
    """Change the description of a version."""
    given = request.model_version
    changes = VersionChanges()
    if given is not None:
        changes = VersionChanges(
            name=given.name,
            comment=given.comment,
            metadata=given.metadata,
            labels=None if given.labels is None else [str(label) for label in given.labels],
            notes=given.notes,
        )
    version = await model_versions.change(
        call.caller, request.model_name, request.model_version_num, changes
    )
    return wire.PatchModelVersionResponse(model_version=version_message(call.caller, version))


delete_model_version = pass_through(
    "DELETE /api/v1/models/{model_name}/versions/{model_version_num}",
    "Forget a version; its checkpoint stays.",
    ModelVersions.delete,
    access=on("model", "model_name", "delete", "model"),
    in_task=MODELS,
)


@route(
    "GET",
    "/api/v1/models/{model_name}/versions/{model_version_num}/metrics",
    access=on("model", "model_name"),
    in_task=READS,
)
async def get_version_metrics(
    call: Call, request: wire.GetTrialMetricsByModelVersionRequest, trial_sources: TrialSources
) -> wire.GetTrialMetricsByModelVersionResponse:
    """Metrics reported by the trials that use a version."""
    found = await trial_sources.of_version(
        call.caller,
        (request.model_name, request.model_version_num),
        _type_name(request.trial_source_info_type),
        request.metric_group,
    )
    return wire.GetTrialMetricsByModelVersionResponse(metrics=[metrics_report(r) for r in found])


@route(
    "GET",
    "/api/v1/checkpoints/{checkpoint_uuid}/metrics",
    access=on("checkpoint", "checkpoint_uuid"),
    in_task=READS,
)
async def get_checkpoint_metrics(
    call: Call,
    request: checkpoint_wire.GetTrialMetricsByCheckpointRequest,
    trial_sources: TrialSources,
) -> checkpoint_wire.GetTrialMetricsByCheckpointResponse:
    """Metrics reported by the trials that use a checkpoint."""
    found = await trial_sources.of_checkpoint(
        call.caller,
        request.checkpoint_uuid,
        _type_name(request.trial_source_info_type),
        request.metric_group,
    )
    return checkpoint_wire.GetTrialMetricsByCheckpointResponse(
        metrics=[metrics_report(r) for r in found]
    )


@route(
    "POST",
    "/api/v1/trial-source-info",
    access=(
        on("trial", "trial_source_info.trial_id", "report", "task"),
        maybe("checkpoint", "trial_source_info.checkpoint_uuid", "read", "checkpoint"),
    ),
    task=of_task("trial_source_info.trial_id", "trial_id"),
    in_task=REPORTS,
)
async def report_trial_source(
    call: Call, request: trial_wire.ReportTrialSourceInfoRequest, trial_sources: TrialSources
) -> trial_wire.ReportTrialSourceInfoResponse:
    """A trial's code says that it uses a checkpoint."""
    given = request.trial_source_info
    type_ = _type_name(given.trial_source_info_type) if given is not None else None
    if given is None or type_ is None:
        raise InvalidArgument(
            "must specify trialSourceInfo with a trialSourceInfoType of "
            f"{TYPE}INFERENCE or {TYPE}FINE_TUNING"
        )
    source = TrialSource(
        trial_id=given.trial_id,
        checkpoint=given.checkpoint_uuid,
        type=type_,
        model_id=given.model_id,
        model_version=given.model_version,
    )
    await trial_sources.report(call.caller, source)
    return trial_wire.ReportTrialSourceInfoResponse(
        trial_id=given.trial_id, checkpoint_uuid=given.checkpoint_uuid
    )


def _type_name(given: TrialSourceInfoType | None) -> str | None:
    name = "UNSPECIFIED" if given is None else given.removeprefix(TYPE)
    return None if name == "UNSPECIFIED" else name

"""Routes of what trials work from."""

from __future__ import annotations

from determined_master.api.routes import Call, route
from determined_master.api.shapes_trials import metrics_report
from determined_master.domain.errors import InvalidArgument
from determined_master.store.trial_sources import TrialSource
from determined_wire.rest import checkpoints as checkpoint_wire
from determined_wire.rest import trials as wire
from determined_wire.rest.types.trial import TrialSourceInfoType

PREFIX = "TRIAL_SOURCE_INFO_TYPE_"


@route("POST", "/api/v1/trial-source-info")
async def report_trial_source(
    call: Call, request: wire.ReportTrialSourceInfoRequest
) -> wire.ReportTrialSourceInfoResponse:
    """A trial says that it evaluates a checkpoint, or starts from it."""
    info = request.trial_source_info
    if info is None:
        raise InvalidArgument("the request has no trialSourceInfo")
    source = TrialSource(
        trial_id=info.trial_id,
        checkpoint_uuid=info.checkpoint_uuid,
        type=info.trial_source_info_type.removeprefix(PREFIX),
        model_id=info.model_id,
        model_version=info.model_version,
    )
    await call.services.trial_sources.report(call.caller, source)
    return wire.ReportTrialSourceInfoResponse(
        trial_id=info.trial_id, checkpoint_uuid=info.checkpoint_uuid
    )


@route("GET", "/api/v1/checkpoints/{checkpoint_uuid}/metrics")
async def get_checkpoint_metrics(
    call: Call, request: checkpoint_wire.GetTrialMetricsByCheckpointRequest
) -> checkpoint_wire.GetTrialMetricsByCheckpointResponse:
    """What all trials that work from a checkpoint have reported."""
    asked = request.trial_source_info_type
    is_any = asked in (None, TrialSourceInfoType.TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED)
    found = await call.services.trial_sources.metrics_of(
        call.caller,
        request.checkpoint_uuid,
        type_=None if is_any or asked is None else asked.removeprefix(PREFIX),
        group=request.metric_group or None,
    )
    return checkpoint_wire.GetTrialMetricsByCheckpointResponse(
        metrics=[metrics_report(row) for row in found]
    )

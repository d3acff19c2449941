"""Routes that let ended experiments go on, and act on many experiments at once."""

from __future__ import annotations

from determined_master.api.experiments import full_experiment
from determined_master.api.routes import Call, route
from determined_wire.rest import experiments as wire


@route("POST", "/api/v1/experiments/continue")
async def continue_experiment(
    call: Call, request: wire.ContinueExperimentRequest
) -> wire.ContinueExperimentResponse:
    """Let an ended experiment go on from its trials' checkpoints."""
    await call.services.continuations.go_on(call.caller, request.id, request.override_config)
    return wire.ContinueExperimentResponse(experiment=await full_experiment(call, request.id))

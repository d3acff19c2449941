"""Routes that change experiments after they were created, or let ended ones continue."""

from __future__ import annotations

from determined_master.api.experiments.experiments import full_experiment
from determined_master.api.http.access import on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import WORKS
from determined_master.pools.live import LiveAllocations
from determined_master.services.experiments.continuations import Continuations
from determined_master.services.experiments.edits import ExperimentEdits
from determined_master.services.experiments.service import Experiments
from determined_wire.rest import experiments as wire


@route(
    "POST",
    "/api/v1/experiments/continue",
    submission=True,
    starts_work=True,
    access=on("experiment", "id", "control", "experiment"),
    in_task=WORKS,
)
async def continue_experiment(
    call: Call,
    request: wire.ContinueExperimentRequest,
    continuations: Continuations,
    experiments: Experiments,
    live: LiveAllocations,
) -> wire.ContinueExperimentResponse:
    """Let an ended experiment continue from its trials' checkpoints."""
    await continuations.continue_experiment(call.caller, request.id, request.override_config)
    return wire.ContinueExperimentResponse(
        experiment=await full_experiment(call, request.id, experiments, live)
    )


@route(
    "PUT",
    "/api/v1/experiments/{experiment_id}/retain_logs",
    access=on("experiment", "experiment_id", "control", "experiment"),
    in_task=WORKS,
)
async def retain_logs(
    call: Call, request: wire.PutExperimentRetainLogsRequest, experiment_edits: ExperimentEdits
) -> wire.PutExperimentRetainLogsResponse:
    """Say for how many days the logs of an experiment are kept; -1 is forever."""
    await experiment_edits.retain_logs(call.caller, request.experiment_id, days=request.num_days)
    return wire.PutExperimentRetainLogsResponse()


delete_experiment = pass_through(
    "DELETE /api/v1/experiments/{experiment_id}",
    "Delete an ended experiment with all its results; that continues after the answer.",
    Experiments.delete,
    access=on("experiment", "experiment_id", "delete", "experiment"),
    in_task=WORKS,
)

"""Routes of detached experiments and trials, which programs outside the cluster run.

On the wire they are called unmanaged.
"""

from __future__ import annotations

from determined_master.api.experiments.experiments import full_experiment, submission_of
from determined_master.api.experiments.trial_shapes import trial_message
from determined_master.api.http.access import maybe, on, upsert
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS, REPORTS
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.trial.messages import DetachedState
from determined_master.pools.live import LiveAllocations
from determined_master.services.experiments.detached import Detached
from determined_master.services.experiments.service import Experiments
from determined_master.services.experiments.trials import Trials
from determined_wire.rest import experiments as experiment_wire
from determined_wire.rest import trials as wire
from determined_wire.rest.types.trial import Trial, TrialState

REPORTED: dict[TrialState, DetachedState] = {
    TrialState.STATE_ACTIVE: "RUNNING",
    TrialState.STATE_RUNNING: "RUNNING",
    TrialState.STATE_PAUSED: "PAUSED",
    TrialState.STATE_COMPLETED: "COMPLETED",
    TrialState.STATE_CANCELED: "CANCELED",
    TrialState.STATE_ERROR: "ERROR",
}


@route(
    "PUT",
    "/api/v1/experiments/by-external-id/{external_experiment_id}",
    large_body=True,
    submission=True,
    starts_work=True,
    access=(
        upsert("external_experiment", "external_experiment_id", "create", "experiment"),
        maybe("project", "create_experiment_request.project_id", "create", "experiment"),
        maybe("experiment", "create_experiment_request.parent_id", "read", "checkpoint"),
        maybe("template", "create_experiment_request.template"),
    ),
    in_task=REPORTS,
)
async def put_experiment(
    call: Call,
    request: experiment_wire.PutExperimentRequest,
    experiments: Experiments,
    live: LiveAllocations,
) -> experiment_wire.PutExperimentResponse:
    """Make a detached experiment, or find the one that was so named before."""
    submitted = request.create_experiment_request
    if submitted is None or not submitted.unmanaged:
        raise InvalidArgument(
            "only unmanaged experiments have external ids: set unmanaged to true"
        )
    submission = submission_of(call, submitted, external_id=request.external_experiment_id)
    experiment_id, _ = await experiments.create(call.caller, submission)
    if experiment_id is None:
        return experiment_wire.PutExperimentResponse()
    experiment = await full_experiment(call, experiment_id, experiments, live)
    return experiment_wire.PutExperimentResponse(experiment=experiment, config=experiment.config)


@route(
    "POST",
    "/api/v1/trials",
    access=on("experiment", "experiment_id", "create", "trial"),
    in_task=REPORTS,
)
async def create_trial(
    call: Call, request: wire.CreateTrialRequest, detached: Detached, trials: Trials
) -> wire.CreateTrialResponse:
    """Make a trial of a detached experiment."""
    return wire.CreateTrialResponse(trial=await _create(call, request, detached, trials))


@route(
    "PUT",
    "/api/v1/trials",
    access=on("experiment", "create_trial_request.experiment_id", "create", "trial"),
    in_task=REPORTS,
)
async def put_trial(
    call: Call, request: wire.PutTrialRequest, detached: Detached, trials: Trials
) -> wire.PutTrialResponse:
    """The same, or find the one that was so named before."""
    if request.create_trial_request is None:
        raise InvalidArgument("must specify createTrialRequest")
    trial = await _create(
        call, request.create_trial_request, detached, trials, request.external_trial_id
    )
    return wire.PutTrialResponse(trial=trial)


@route(
    "GET",
    "/api/v1/trials/by-external-id/{external_experiment_id}/{external_trial_id}",
    access=on("external_experiment", "external_experiment_id"),
    in_task=READS,
)
async def get_trial_by_external_id(
    call: Call, request: wire.GetTrialByExternalIDRequest, detached: Detached, trials: Trials
) -> wire.GetTrialByExternalIDResponse:
    """A detached trial by the names that its program gave."""
    trial_id = await detached.find_by_name(
        call.caller, request.external_experiment_id, request.external_trial_id
    )
    return wire.GetTrialByExternalIDResponse(trial=await _trial(call, trial_id, trials))


@route(
    "POST",
    "/api/v1/trials/{trial_id}/start",
    access=on("trial", "trial_id", "report", "task"),
    in_task=REPORTS,
)
async def start_trial(
    call: Call, request: wire.StartTrialRequest, detached: Detached
) -> wire.StartTrialResponse:
    """Begin the next run of a detached trial, from its latest checkpoint or from the start."""
    start = await detached.start(call.caller, request.trial_id, resumes=request.resume)
    return wire.StartTrialResponse(
        trial_run_id=start.run_id,
        latest_checkpoint=start.latest_checkpoint,
        steps_completed=start.steps_completed,
    )


@route(
    "PATCH",
    "/api/v1/trials/{trial_id}",
    access=on("trial", "trial_id", "report", "task"),
    in_task=REPORTS,
)
async def patch_trial(
    call: Call, request: wire.PatchTrialRequest, detached: Detached, trials: Trials
) -> wire.PatchTrialResponse:
    """The report of a detached trial's program; without a state it is a sign of life."""
    state = None
    if request.state is not None:
        state = REPORTED.get(request.state)
        if state is None:
            raise InvalidArgument(
                f"an unmanaged trial cannot be set to {request.state}: use one of "
                + ", ".join(REPORTED)
            )
    await detached.report(call.caller, request.trial_id, state)
    return wire.PatchTrialResponse(trial=await _trial(call, request.trial_id, trials))


async def _create(
    call: Call,
    request: wire.CreateTrialRequest,
    detached: Detached,
    trials: Trials,
    external_id: str | None = None,
) -> Trial:
    if not request.unmanaged:
        raise InvalidArgument(
            "only unmanaged trials can be made so: set unmanaged to true, or let the search of "
            "an experiment make trials"
        )
    trial_id = await detached.create_trial(
        call.caller, request.experiment_id, request.hparams or {}, external_id
    )
    return await _trial(call, trial_id, trials)


async def _trial(call: Call, trial_id: int, trials: Trials) -> Trial:
    return trial_message(await trials.get(call.caller, trial_id))

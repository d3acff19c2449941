"""Routes of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from determined_master.api.http.access import FILTERED, maybe, of_task, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.protojson import raw_json, ready, to_json
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS, WORKS
from determined_master.api.shapes import (
    add_config_warnings,
    pagination,
    seconds_between,
    struct_of,
)
from determined_master.domain.config.masking import mask_config
from determined_master.domain.experiment.model_definition import ModelFile
from determined_master.domain.states import shown_state
from determined_master.pools.live import LiveAllocations
from determined_master.records.experiments import ExperimentQuery, ExperimentRow, ListItem
from determined_master.services.broken_rows import naming_broken_row
from determined_master.services.experiments.edits import ExperimentChanges, ExperimentEdits
from determined_master.services.experiments.listing.lists import ExperimentLists, Rendered
from determined_master.services.experiments.listing.pages import ExperimentPage, ExperimentPages
from determined_master.services.experiments.service import Experiments, Submission
from determined_master.services.queue.job_queue import JobQueue
from determined_master.services.workspaces.projects import Projects
from determined_wire.rest import experiments as wire
from determined_wire.rest.types.experiment import Experiment, ExperimentState
from determined_wire.rest.types.job import JobState, JobSummary
from determined_wire.rest.types.shared import LaunchWarning, OrderBy

MAX_ID = 2**31 - 1


@route(
    "POST",
    "/api/v1/experiments",
    large_body=True,
    submission=True,
    starts_work=True,
    access=(
        maybe("project", "project_id", "create", "experiment"),
        maybe("experiment", "parent_id", "read", "checkpoint"),
        maybe("template", "template"),
    ),
    in_task=WORKS,
)
async def create_experiment(
    call: Call,
    request: wire.CreateExperimentRequest,
    experiments: Experiments,
    live: LiveAllocations,
) -> wire.CreateExperimentResponse:
    """Check a configuration and make the experiment.

    A client may send an `Idempotency-Key` header: the same key again gives the same experiment.
    """
    submission = submission_of(call, request)
    experiment_id, prepared = await experiments.create(call.caller, submission)
    too_large = LaunchWarning.LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED
    warnings = [too_large] if prepared.exceeds_slots else []
    add_config_warnings(call.http, prepared.warnings)
    if experiment_id is None:
        return wire.CreateExperimentResponse(
            experiment=Experiment(), config=None, warnings=warnings
        )
    return wire.CreateExperimentResponse(
        experiment=await full_experiment(call, experiment_id, experiments, live),
        config=mask_config(prepared.built.config),
        warnings=warnings,
    )


@route(
    "GET",
    "/api/v1/experiments/{experiment_id}",
    access=on("experiment", "experiment_id"),
    in_task=READS,
)
async def get_experiment(
    call: Call,
    request: wire.GetExperimentRequest,
    job_queue: JobQueue,
    experiments: Experiments,
    pages: ExperimentPages,
    live: LiveAllocations,
) -> wire.GetExperimentResponse:
    """One experiment with its configuration, and its place in the queue while it has one."""
    experiment_id = request.experiment_id

    async def render() -> ExperimentPage:
        members = to_json(await full_experiment(call, experiment_id, experiments, live))
        del members["state"]
        config = msgspec.json.encode(members["config"])
        return ExperimentPage(msgspec.json.encode(members)[:-1], config)

    with naming_broken_row(f"experiment {experiment_id}"):
        row, page = await pages.find(call.caller, experiment_id, render)
    place = job_queue.summary(row.job_id)
    state = _shown(experiment_id, row.state, live)
    return wire.GetExperimentResponse(
        experiment=ready(Experiment, b'%s,"state":"%s"}' % (page.members, state.encode())),
        job_summary=None
        if place is None
        else JobSummary(state=JobState[f"STATE_{place.state}"], jobs_ahead=place.jobs_ahead),
        config=raw_json(page.config),
    )


@route("GET", "/api/v1/experiments", access=FILTERED, in_task=READS)
async def get_experiments(
    call: Call,
    request: wire.GetExperimentsRequest,
    experiment_lists: ExperimentLists,
    live: LiveAllocations,
) -> wire.GetExperimentsResponse:
    """Experiments that match the filters, a page of them."""
    ids = request.experiment_id_filter
    sort = request.sort_by.removeprefix("SORT_BY_").lower()
    wanted = struct_of(
        ExperimentQuery,
        request,
        states=[s.removeprefix("STATE_") for s in request.states],
        ids=ids.incl if ids else (),
        not_ids=ids.not_in if ids else (),
        id_from=_lowest(ids.gte, ids.gt) if ids else None,
        id_to=_highest(ids.lte, ids.lt) if ids else None,
        sort="id" if sort == "unspecified" else sort,
        descending=request.order_by is OrderBy.ORDER_BY_DESC,
    )
    found = await experiment_lists.find(call.caller, wanted, render_listed)
    return wire.GetExperimentsResponse(
        experiments=[in_list(*item, request.show_trial_data, live) for item in found.items],
        pagination=pagination(found.page),
    )


_control_route = partial(
    pass_through, access=on("experiment", "id", "control", "experiment"), in_task=WORKS
)
activate_experiment = _control_route(
    "POST /api/v1/experiments/{id}/activate", "Let a paused experiment run.", Experiments.activate
)
pause_experiment = _control_route(
    "POST /api/v1/experiments/{id}/pause",
    "Ask every trial to checkpoint and give its slots back.",
    Experiments.pause,
)
cancel_experiment = _control_route(
    "POST /api/v1/experiments/{id}/cancel",
    "End an experiment; its trials may save their work first.",
    Experiments.cancel,
)
kill_experiment = _control_route(
    "POST /api/v1/experiments/{id}/kill", "End an experiment at once.", Experiments.kill
)
archive_experiment = _control_route(
    "POST /api/v1/experiments/{id}/archive",
    "Hide an ended experiment from lists.",
    Experiments.archive,
    fixed={"archived": True},
)
unarchive_experiment = _control_route(
    "POST /api/v1/experiments/{id}/unarchive",
    "Show an archived experiment again.",
    Experiments.archive,
    fixed={"archived": False},
)
move_experiment = pass_through(
    "POST /api/v1/experiments/{experiment_id}/move",
    "Put an experiment into another project.",
    Projects.move_experiment,
    takes=("destination_project_id",),
    access=(
        on("experiment", "experiment_id", "control", "experiment"),
        on("project", "destination_project_id", "create", "experiment"),
    ),
    in_task=WORKS,
)


@route(
    "PATCH",
    "/api/v1/experiments/{experiment.id}",
    access=on("experiment", "experiment.id", "edit", "experiment"),
    in_task=WORKS,
)
async def patch_experiment(
    call: Call,
    request: wire.PatchExperimentRequest,
    experiment_edits: ExperimentEdits,
    experiments: Experiments,
    live: LiveAllocations,
) -> wire.PatchExperimentResponse:
    """Change name, description, labels, notes, resources or which checkpoints are kept."""
    patch = request.experiment
    if patch is None:
        return wire.PatchExperimentResponse()
    resources, storage = patch.resources, patch.checkpoint_storage
    changes = ExperimentChanges(
        name=patch.name,
        description=patch.description,
        notes=patch.notes,
        labels=None if patch.labels is None else [str(label) for label in patch.labels],
        resources=None if resources is None else _present(msgspec.structs.asdict(resources)),
        checkpoint_storage=None if storage is None else msgspec.structs.asdict(storage),
    )
    await experiment_edits.edit(call.caller, patch.id, changes)
    return wire.PatchExperimentResponse(
        experiment=await full_experiment(call, patch.id, experiments, live)
    )


@route("GET", "/api/v1/experiment/labels", access=FILTERED, in_task=READS)
async def get_labels(
    call: Call, request: wire.GetExperimentLabelsRequest, experiments: Experiments
) -> wire.GetExperimentLabelsResponse:
    """Labels of a project's experiments, or of all; the most used first."""
    labels = await experiments.labels(call.caller, request.project_id)
    return wire.GetExperimentLabelsResponse(labels=labels)


_edit_route = partial(
    pass_through, access=on("experiment", "experiment_id", "edit", "experiment"), in_task=WORKS
)
put_label = _edit_route(
    "PUT /api/v1/experiments/{experiment_id}/labels/{label}",
    "Give an experiment a label.",
    ExperimentEdits.label,
    fixed={"is_present": True},
    answer="labels",
)
delete_label = _edit_route(
    "DELETE /api/v1/experiments/{experiment_id}/labels/{label}",
    "Take a label away.",
    ExperimentEdits.label,
    fixed={"is_present": False},
    answer="labels",
)
get_best_metric = pass_through(
    "GET /api/v1/experiments/{experiment_id}/searcher/best_searcher_validation_metric",
    "The best value of the searcher's metric so far.",
    Experiments.best_metric,
    answer="metric",
    access=on("experiment", "experiment_id"),
    task=of_task("experiment_id"),
    in_task=READS,
)


def submission_of(
    call: Call, request: wire.CreateExperimentRequest, external_id: str | None = None
) -> Submission:
    """Create an experiment."""
    files = [
        ModelFile(path=f.path, type=f.type, content=f.content, mode=f.mode, mtime_s=int(f.mtime))
        for f in request.model_definition
    ]
    return struct_of(
        Submission,
        request,
        files=files,
        idempotency_key=call.http.header("idempotency-key") or None,
        is_detached=bool(request.unmanaged),
        external_id=external_id,
    )


async def full_experiment(
    call: Call, experiment_id: int, experiments: Experiments, live: LiveAllocations
) -> Experiment:
    """One experiment as its own page shows it."""
    row = await experiments.get(call.caller, experiment_id)
    return _experiment(
        row,
        state=_shown(row.id, row.state, live),
        trial_ids=await experiments.trial_ids(call.caller, experiment_id),
        original_config=await experiments.original_config(call.caller, experiment_id),
        model_definition_size=row.model_definition_size,
    )


def live_text(row: ExperimentRow, live: LiveAllocations) -> bytes:
    """The JSON of an experiment without what never changes, or depends on who reads it."""
    state = _shown(row.id, row.state, live)
    size = row.model_definition_size
    members = to_json(_experiment(row, state=state, model_definition_size=size))
    for name in ("config", "originalConfig", "hyperparameters", "trialIds"):
        members.pop(name, None)
    return msgspec.json.encode(members)


def in_list(
    listed: ListItem, rendered: Rendered, with_best: bool, live: LiveAllocations
) -> Experiment:
    """An item of a list; with its best metric for those who ask for it."""
    members = rendered.always + (rendered.best_metric if with_best else b"")
    return ready(Experiment, listed_text(listed, members, live))


def listed_text(listed: ListItem, members: bytes, live: LiveAllocations) -> bytes:
    """An item from its cached part and the rest: its state and duration."""
    state = shown_state(listed.state, live.states_of_experiment(listed.id))
    duration_s = int(seconds_between(listed.started_at, listed.ended_at))
    return b'%s,"state":"STATE_%s","duration":%d}' % (members, state.encode(), duration_s)


def render_listed(row: ExperimentRow) -> Rendered:
    """The JSON of a listed experiment but for what changes while its row does not."""
    metric = row.best_metric
    if metric is not None and not row.smaller_is_better:
        metric = -metric
    members = to_json(_experiment(row, best_trial_searcher_metric=metric))
    del members["state"]
    best = members.pop("bestTrialSearcherMetric", None)
    return Rendered(
        always=msgspec.json.encode(members)[:-1],
        best_metric=b""
        if best is None
        else b',"bestTrialSearcherMetric":' + msgspec.json.encode(best),
    )


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _shown(experiment_id: int, stored: str, live: LiveAllocations) -> ExperimentState:
    states = live.states_of_experiment(experiment_id)
    return ExperimentState[f"STATE_{shown_state(stored, states)}"]


def _experiment(row: ExperimentRow, **more: Any) -> Experiment:
    return Experiment(
        id=row.id,
        description=row.description,
        labels=row.labels,
        start_time=row.started_at,
        end_time=row.ended_at,
        archived=row.archived,
        num_trials=row.num_trials,
        display_name=row.display_name,
        user_id=row.user_id,
        username=row.username,
        resource_pool=row.resource_pool,
        searcher_type=row.searcher_type,
        searcher_metric=row.searcher_metric,
        hyperparameters=row.config["hyperparameters"],
        name=row.name,
        notes=row.notes,
        job_id=row.job_id,
        forked_from=row.forked_from,
        progress=row.progress,
        project_id=row.project_id,
        project_name=row.project_name,
        workspace_id=row.workspace_id,
        workspace_name=row.workspace_name,
        parent_archived=row.parent_archived,
        config=mask_config(row.config),
        project_owner_id=row.project_owner_id,
        checkpoint_size=row.checkpoint_size,
        checkpoint_count=row.checkpoint_count,
        unmanaged=row.unmanaged,
        external_experiment_id=row.external_id,
        **more,
    )


def _lowest(at_least: int | None, above: int | None) -> int | None:
    beyond = None if above is None else min(above, MAX_ID - 1) + 1
    bounds: Sequence[int] = [b for b in (at_least, beyond) if b is not None]
    return max(bounds) if bounds else None


def _highest(at_most: int | None, below: int | None) -> int | None:
    beneath = None if below is None else max(below, 1) - 1
    bounds = [b for b in (at_most, beneath) if b is not None]
    return min(bounds) if bounds else None

"""Routes that act on many experiments of a project, or of all projects (-1), at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from determined_master.api.http.access import ALL, on, on_any
from determined_master.api.http.routes import Call, route
from determined_master.domain.errors import InvalidArgument
from determined_master.records.experiments import ExperimentQuery
from determined_master.services.experiments.bulk import Act, ExperimentBulk, Selection
from determined_master.services.experiments.edits import ExperimentEdits
from determined_master.services.experiments.service import Experiments
from determined_master.services.workspaces.projects import Projects
from determined_wire.rest import projects as wire
from determined_wire.rest.types.shared import BulkExperimentFilters


class ExperimentSelector(Protocol):
    """The common part of the requests of these routes."""

    @property
    def experiment_ids(self) -> Sequence[int]: ...
    @property
    def filters(self) -> BulkExperimentFilters | None: ...
    @property
    def project_id(self) -> int: ...


@route(
    "POST",
    "/api/v1/projects/{project_id}/experiments/activate",
    access=on_any("project", "project_id", "control", "experiment"),
)
async def activate_experiments(
    call: Call,
    request: wire.ActivateExperimentsRequest,
    experiments: Experiments,
    experiment_bulk: ExperimentBulk,
) -> wire.ActivateExperimentsResponse:
    """Let experiments run."""
    results = await _each(call, request, experiments.activate, experiment_bulk)
    return wire.ActivateExperimentsResponse(results=results)


@route(
    "POST",
    "/api/v1/projects/{project_id}/experiments/pause",
    access=on_any("project", "project_id", "control", "experiment"),
)
async def pause_experiments(
    call: Call,
    request: wire.PauseExperimentsRequest,
    experiments: Experiments,
    experiment_bulk: ExperimentBulk,
) -> wire.PauseExperimentsResponse:
    """Ask the trials of experiments to checkpoint and give their slots back."""
    results = await _each(call, request, experiments.pause, experiment_bulk)
    return wire.PauseExperimentsResponse(results=results)


@route(
    "POST",
    "/api/v1/projects/{project_id}/experiments/cancel",
    access=on_any("project", "project_id", "control", "experiment"),
)
async def cancel_experiments(
    call: Call,
    request: wire.CancelExperimentsRequest,
    experiments: Experiments,
    experiment_bulk: ExperimentBulk,
) -> wire.CancelExperimentsResponse:
    """End experiments; their trials may save their work first."""
    results = await _each(call, request, experiments.cancel, experiment_bulk)
    return wire.CancelExperimentsResponse(results=results)


@route(
    "POST",
    "/api/v1/projects/{project_id}/experiments/kill",
    access=on_any("project", "project_id", "control", "experiment"),
)
async def kill_experiments(
    call: Call,
    request: wire.KillExperimentsRequest,
    experiments: Experiments,
    experiment_bulk: ExperimentBulk,
) -> wire.KillExperimentsResponse:
    """End experiments at once."""
    results = await _each(call, request, experiments.kill, experiment_bulk)
    return wire.KillExperimentsResponse(results=results)


@route(
    "POST",
    "/api/v1/projects/{project_id}/experiments/archive",
    access=on_any("project", "project_id", "control", "experiment"),
)
async def archive_experiments(
    call: Call,
    request: wire.ArchiveExperimentsRequest,
    experiments: Experiments,
    experiment_bulk: ExperimentBulk,
) -> wire.ArchiveExperimentsResponse:
    """Hide ended experiments from lists."""
    results = await _each(
        call, request, partial(experiments.archive, archived=True), experiment_bulk
    )
    return wire.ArchiveExperimentsResponse(results=results)


@route(
    "POST",
    "/api/v1/projects/{project_id}/experiments/unarchive",
    access=on_any("project", "project_id", "control", "experiment"),
)
async def unarchive_experiments(
    call: Call,
    request: wire.UnarchiveExperimentsRequest,
    experiments: Experiments,
    experiment_bulk: ExperimentBulk,
) -> wire.UnarchiveExperimentsResponse:
    """Show archived experiments again."""
    results = await _each(
        call, request, partial(experiments.archive, archived=False), experiment_bulk
    )
    return wire.UnarchiveExperimentsResponse(results=results)


@route(
    "DELETE",
    "/api/v1/projects/{project_id}/experiments/delete",
    access=on_any("project", "project_id", "delete", "experiment"),
)
async def delete_experiments(
    call: Call,
    request: wire.DeleteExperimentsRequest,
    experiments: Experiments,
    experiment_bulk: ExperimentBulk,
) -> wire.DeleteExperimentsResponse:
    """Delete ended experiments with all their results; that continues after the answer."""
    results = await _each(call, request, experiments.delete, experiment_bulk)
    return wire.DeleteExperimentsResponse(results=results)


@route(
    "POST",
    "/api/v1/projects/{project_id}/experiments/move",
    access=(
        on_any("project", "project_id", "control", "experiment"),
        on("project", "destination_project_id", "create", "experiment"),
    ),
)
async def move_experiments(
    call: Call,
    request: wire.MoveExperimentsRequest,
    projects: Projects,
    experiment_bulk: ExperimentBulk,
) -> wire.MoveExperimentsResponse:
    """Put experiments into another project."""
    act = partial(projects.move_experiment, project_id=request.destination_project_id)
    results = await _each(call, request, act, experiment_bulk)
    return wire.MoveExperimentsResponse(results=results)


@route(
    "PUT",
    "/api/v1/projects/{project_id}/experiments/retain_logs",
    access=on_any("project", "project_id", "control", "experiment"),
)
async def retain_experiments_logs(
    call: Call,
    request: wire.PutExperimentsRetainLogsRequest,
    experiment_edits: ExperimentEdits,
    experiment_bulk: ExperimentBulk,
) -> wire.PutExperimentsRetainLogsResponse:
    """Say for how many days the logs of experiments are kept; -1 is forever."""
    act = partial(experiment_edits.retain_logs, days=request.num_days)
    results = await _each(call, request, act, experiment_bulk)
    return wire.PutExperimentsRetainLogsResponse(results=results)


async def _each(
    call: Call, request: ExperimentSelector, act: Act, experiment_bulk: ExperimentBulk
) -> list[wire.ExperimentActionResult]:
    if not request.project_id:
        raise InvalidArgument("the request names no project")
    filters = request.filters
    project_id = only_project(request.project_id)
    selection = Selection(
        project_id=project_id,
        ids=request.experiment_ids,
        filter=None if filters is None else bulk_filter(filters, project_id),
    )
    results = await experiment_bulk.each(call.caller, selection, act)
    return [wire.ExperimentActionResult(error=r.error, id=r.id) for r in results]


def bulk_filter(filters: BulkExperimentFilters, project_id: int = 0) -> ExperimentQuery:
    """The experiments that match; the given project applies unless the filters name one."""
    return ExperimentQuery(
        name=filters.name,
        description=filters.description,
        labels=filters.labels,
        archived=filters.archived,
        states=[s.removeprefix("STATE_") for s in filters.states],
        user_ids=filters.user_ids,
        project_id=only_project(filters.project_id) or project_id,
        not_ids=filters.excluded_experiment_ids,
    )


def only_project(project_id: int) -> int:
    """The project to which an action is limited; 0 for none."""
    return 0 if project_id == ALL else project_id

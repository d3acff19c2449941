"""Routes that act on many experiments of a project, or of all projects (-1), at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from determined_master.api.http.access import ALL, Need, on, on_any
from determined_master.api.http.endpoint_routes import endpoint_route
from determined_master.api.http.routes import Call, Route, route
from determined_master.api.shapes import struct_of
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.experiment.actions import ACTIONS, ActionId
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


class ExperimentServices(NamedTuple):
    """The services that act on one experiment."""

    experiments: Experiments
    edits: ExperimentEdits
    projects: Projects


ACTS: Mapping[ActionId, Callable[[ExperimentServices, Any], Act]] = {
    "pause": lambda services, request: services.experiments.pause,
    "resume": lambda services, request: services.experiments.activate,
    "cancel": lambda services, request: services.experiments.cancel,
    "kill": lambda services, request: services.experiments.kill,
    "archive": lambda services, request: partial(services.experiments.archive, archived=True),
    "unarchive": lambda services, request: partial(services.experiments.archive, archived=False),
    "move": lambda services, request: partial(
        services.projects.move_experiment, project_id=request.destination_project_id
    ),
    "delete": lambda services, request: services.experiments.delete,
}
"""By action of the catalogue: the function for one experiment."""
SERVICES = (Experiments, ExperimentEdits, Projects)


def _route(action_id: ActionId, about: str, *also: Need) -> Route:
    """The route of an action of the catalogue on many experiments; `also` is a further need."""
    action = ACTIONS[action_id]

    async def act_on_all(call: Call, request: Any, *services: Any) -> dict[str, Any]:
        act = ACTS[action_id](ExperimentServices(*services[:-1]), request)
        return {"results": await _each(call, request, act, services[-1])}

    return endpoint_route(
        (action.experiments.method, action.experiments.path),
        about,
        act_on_all,
        (*SERVICES, ExperimentBulk),
        access=(on_any("project", "project_id", action.access, "experiment"), *also),
    )


activate_experiments = _route("resume", "Let experiments run.")
pause_experiments = _route(
    "pause", "Ask the trials of experiments to checkpoint and give their slots back."
)
cancel_experiments = _route("cancel", "End experiments; their trials may save their work first.")
kill_experiments = _route("kill", "End experiments at once.")
archive_experiments = _route("archive", "Hide ended experiments from lists.")
unarchive_experiments = _route("unarchive", "Show archived experiments again.")
delete_experiments = _route(
    "delete", "Delete ended experiments with all their results; that continues after the answer."
)
move_experiments = _route(
    "move",
    "Put experiments into another project.",
    on("project", "destination_project_id", "create", "experiment"),
)


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
    return struct_of(
        ExperimentQuery,
        filters,
        states=[s.removeprefix("STATE_") for s in filters.states],
        project_id=only_project(filters.project_id) or project_id,
        not_ids=filters.excluded_experiment_ids,
    )


def only_project(project_id: int) -> int:
    """The project to which an action is limited; 0 for none."""
    return 0 if project_id == ALL else project_id

"""Routes that act on many runs at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from determined_master.api.experiments.bulk import ACTS, SERVICES, ExperimentServices
from determined_master.api.http.access import FILTERED, on
from determined_master.api.http.endpoint_routes import endpoint_route
from determined_master.api.http.routes import Call, Route, route
from determined_master.domain.experiment.actions import ACTIONS, ActionId
from determined_master.services.experiments.bulk import Result
from determined_master.services.experiments.run_bulk import RunBulk, RunSelection
from determined_master.services.experiments.trials import Trials
from determined_master.services.workspaces.projects import Projects
from determined_wire.rest import runs as wire


class RunSelector(Protocol):
    """The common part of the requests of nearly all these routes."""

    @property
    def run_ids(self) -> Sequence[int]: ...
    @property
    def project_id(self) -> int: ...
    @property
    def filter(self) -> str | None: ...


@route("POST", "/api/v1/runs/kill", access=FILTERED)
async def kill_runs(
    call: Call, request: wire.KillRunsRequest, run_bulk: RunBulk, trials: Trials
) -> wire.KillRunsResponse:
    """End runs at once."""
    results = await run_bulk.each(call.caller, _selection(request), trials.kill)
    return wire.KillRunsResponse(results=_results(results))


def _route(action_id: ActionId, about: str) -> Route:
    """The route of an action of the catalogue on many runs, by their experiments."""
    target = ACTIONS[action_id].trials
    assert target is not None

    async def act_on_all(call: Call, request: Any, *services: Any) -> dict[str, Any]:
        act = ACTS[action_id](ExperimentServices(*services[:-1]), request)
        bulk: RunBulk = services[-1]
        results = await bulk.each_search(call.caller, _selection(request), act, verb=action_id)
        return {"results": _results(results)}

    return endpoint_route(
        (target.method, target.path), about, act_on_all, (*SERVICES, RunBulk), access=FILTERED
    )


pause_runs = _route("pause", "Ask runs to save their work and give their slots back.")
resume_runs = _route("resume", "Let paused runs continue.")
archive_runs = _route("archive", "Hide ended runs from lists.")
unarchive_runs = _route("unarchive", "Show archived runs again.")
delete_runs = _route(
    "delete", "Delete ended runs with all their results; that continues after the answer."
)


@route(
    "POST",
    "/api/v1/runs/move",
    access=on("project", "destination_project_id", "create", "experiment"),
)
async def move_runs(
    call: Call, request: wire.MoveRunsRequest, projects: Projects, run_bulk: RunBulk
) -> wire.MoveRunsResponse:
    """Put runs, with their searches, into another project."""
    selection = RunSelection(
        project_id=request.source_project_id, ids=request.run_ids, filter=request.filter
    )
    act = partial(projects.move_experiment, project_id=request.destination_project_id)
    results = await run_bulk.move(
        call.caller, selection, act, skip_multitrial=request.skip_multitrial
    )
    return wire.MoveRunsResponse(results=_results(results))


def _selection(request: RunSelector) -> RunSelection:
    return RunSelection(project_id=request.project_id, ids=request.run_ids, filter=request.filter)


def _results(results: Sequence[Result]) -> list[wire.RunActionResult]:
    return [wire.RunActionResult(error=r.error, id=r.id) for r in results]

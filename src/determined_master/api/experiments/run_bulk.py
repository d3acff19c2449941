"""Routes that act on many runs at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from determined_master.api.http.access import FILTERED, on
from determined_master.api.http.routes import Call, route
from determined_master.services.experiments.bulk import Act, Result
from determined_master.services.experiments.run_bulk import RunBulk, RunSelection
from determined_master.services.experiments.service import Experiments
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


@route("POST", "/api/v1/runs/pause", access=FILTERED)
async def pause_runs(
    call: Call, request: wire.PauseRunsRequest, experiments: Experiments, run_bulk: RunBulk
) -> wire.PauseRunsResponse:
    """Ask runs to save their work and give their slots back."""
    results = await _each_search(call, request, experiments.pause, "pause", run_bulk)
    return wire.PauseRunsResponse(results=results)


@route("POST", "/api/v1/runs/resume", access=FILTERED)
async def resume_runs(
    call: Call, request: wire.ResumeRunsRequest, experiments: Experiments, run_bulk: RunBulk
) -> wire.ResumeRunsResponse:
    """Let paused runs continue."""
    results = await _each_search(call, request, experiments.activate, "resume", run_bulk)
    return wire.ResumeRunsResponse(results=results)


@route("POST", "/api/v1/runs/archive", access=FILTERED)
async def archive_runs(
    call: Call, request: wire.ArchiveRunsRequest, experiments: Experiments, run_bulk: RunBulk
) -> wire.ArchiveRunsResponse:
    """Hide ended runs from lists."""
    act = partial(experiments.archive, archived=True)
    results = await _each_search(call, request, act, "archive", run_bulk)
    return wire.ArchiveRunsResponse(results=results)


@route("POST", "/api/v1/runs/unarchive", access=FILTERED)
async def unarchive_runs(
    call: Call, request: wire.UnarchiveRunsRequest, experiments: Experiments, run_bulk: RunBulk
) -> wire.UnarchiveRunsResponse:
    """Show archived runs again."""
    act = partial(experiments.archive, archived=False)
    results = await _each_search(call, request, act, "unarchive", run_bulk)
    return wire.UnarchiveRunsResponse(results=results)


@route("POST", "/api/v1/runs/delete", access=FILTERED)
async def delete_runs(
    call: Call, request: wire.DeleteRunsRequest, experiments: Experiments, run_bulk: RunBulk
) -> wire.DeleteRunsResponse:
    """Delete ended runs with all their results; that continues after the answer."""
    results = await _each_search(call, request, experiments.delete, "delete", run_bulk)
    return wire.DeleteRunsResponse(results=results)


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


async def _each_search(
    call: Call, request: RunSelector, act: Act, verb: str, run_bulk: RunBulk
) -> list[wire.RunActionResult]:
    results = await run_bulk.each_search(call.caller, _selection(request), act, verb=verb)
    return _results(results)


def _selection(request: RunSelector) -> RunSelection:
    return RunSelection(project_id=request.project_id, ids=request.run_ids, filter=request.filter)


def _results(results: Sequence[Result]) -> list[wire.RunActionResult]:
    return [wire.RunActionResult(error=r.error, id=r.id) for r in results]

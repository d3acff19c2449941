"""Routes of projects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from determined_master.api.http.access import on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import PLACES, READS
from determined_master.api.shapes import cut, struct_of
from determined_master.api.workspaces.named_lists import matching, ordered
from determined_master.domain.errors import InvalidArgument
from determined_master.records.workspaces import ProjectRow
from determined_master.services.workspaces.projects import ProjectRequest, Projects
from determined_wire.rest import projects as wire
from determined_wire.rest import workspaces as workspace_wire
from determined_wire.rest.types.project import Note, Project
from determined_wire.rest.types.workspace import WorkspaceState


@route(
    "GET",
    "/api/v1/workspaces/{id}/projects",
    access=on("workspace", "id", "read", "project"),
    in_task=READS,
)
async def get_workspace_projects(
    call: Call, request: workspace_wire.GetWorkspaceProjectsRequest, projects: Projects
) -> workspace_wire.GetWorkspaceProjectsResponse:
    """The projects of a workspace by filter; `name` is the whole name in any case."""
    rows = await projects.of_workspace(call.caller, request.id)
    found = [
        row
        for row in matching(rows, request)
        if not request.name or row.name.lower() == request.name.lower()
    ]
    sorts: dict[str, Callable[[ProjectRow], Any]] = {
        "SORT_BY_NAME": lambda row: row.name.lower(),
        "SORT_BY_DESCRIPTION": lambda row: row.description.lower(),
        "SORT_BY_LAST_EXPERIMENT_START_TIME": lambda row: str(row.last_experiment_started_at),
    }
    if request.sort_by.name in sorts:
        found = ordered(found, request, sorts[request.sort_by.name])
    page, pagination = cut(found, request.offset, request.limit)
    return workspace_wire.GetWorkspaceProjectsResponse(
        projects=[project_message(row) for row in page], pagination=pagination
    )


@route(
    "POST",
    "/api/v1/workspaces/{workspace_id}/projects",
    access=on("workspace", "workspace_id", "create", "project"),
    in_task=PLACES,
)
async def post_project(
    call: Call, request: workspace_wire.PostProjectRequest, projects: Projects
) -> workspace_wire.PostProjectResponse:
    """Make a project; its key is made up unless one is given."""
    new = ProjectRequest(
        workspace_id=request.workspace_id,
        name=request.name,
        description=request.description,
        key=request.key,
    )
    row = await projects.create(call.caller, new)
    return workspace_wire.PostProjectResponse(project=project_message(row))


@route("GET", "/api/v1/projects/{id}", access=on("project", "id"), in_task=READS)
async def get_project(
    call: Call, request: wire.GetProjectRequest, projects: Projects
) -> wire.GetProjectResponse:
    """One project."""
    row = await projects.get(call.caller, request.id)
    return wire.GetProjectResponse(project=project_message(row))


@route("GET", "/api/v1/projects/key/{key}", access=on("project_key", "key"), in_task=READS)
async def get_project_by_key(
    call: Call, request: wire.GetProjectByKeyRequest, projects: Projects
) -> wire.GetProjectByKeyResponse:
    """The project of a key."""
    row = await projects.get_by_key(call.caller, request.key)
    return wire.GetProjectByKeyResponse(project=project_message(row))


@route(
    "PATCH", "/api/v1/projects/{id}", access=on("project", "id", "edit", "project"), in_task=PLACES
)
async def patch_project(
    call: Call, request: wire.PatchProjectRequest, projects: Projects
) -> wire.PatchProjectResponse:
    """Change the given fields of a project."""
    given = {} if request.project is None else msgspec.structs.asdict(request.project)
    changes = {name: value for name, value in given.items() if value is not None}
    row = await projects.change(call.caller, request.id, changes)
    return wire.PatchProjectResponse(project=project_message(row))


delete_project = pass_through(
    "DELETE /api/v1/projects/{id}",
    "Delete a project with all its experiments; whether that is done already.",
    Projects.delete,
    answer="completed",
    access=on("project", "id", "delete", "project"),
    in_task=PLACES,
)


_edit_route = partial(pass_through, access=on("project", "id", "edit", "project"), in_task=PLACES)


archive_project = _edit_route(
    "POST /api/v1/projects/{id}/archive",
    "Hide a project from lists.",
    Projects.archive,
    fixed={"archived": True},
)
unarchive_project = _edit_route(
    "POST /api/v1/projects/{id}/unarchive",
    "Show an archived project again.",
    Projects.archive,
    fixed={"archived": False},
)
move_project = pass_through(
    "POST /api/v1/projects/{project_id}/move",
    "Move a project with its experiments to another workspace.",
    Projects.move,
    takes=("destination_workspace_id",),
    access=(
        on("project", "project_id", "delete", "project"),
        on("workspace", "destination_workspace_id", "create", "project"),
    ),
    in_task=PLACES,
)


@route(
    "POST",
    "/api/v1/projects/{project_id}/notes",
    access=on("project", "project_id", "edit", "project"),
    in_task=PLACES,
)
async def add_project_note(
    call: Call, request: wire.AddProjectNoteRequest, projects: Projects
) -> wire.AddProjectNoteResponse:
    """Add a note; the body is the note itself."""
    if request.note is None:
        raise InvalidArgument("the note is empty: give it a name or contents")
    notes = await projects.add_note(
        call.caller, request.project_id, msgspec.structs.asdict(request.note)
    )
    return wire.AddProjectNoteResponse(notes=msgspec.convert(notes, list[Note]))


@route(
    "PUT",
    "/api/v1/projects/{project_id}/notes",
    access=on("project", "project_id", "edit", "project"),
    in_task=PLACES,
)
async def put_project_notes(
    call: Call, request: wire.PutProjectNotesRequest, projects: Projects
) -> wire.PutProjectNotesResponse:
    """Replace all notes of a project."""
    given = [msgspec.structs.asdict(note) for note in request.notes]
    notes = await projects.set_notes(call.caller, request.project_id, given)
    return wire.PutProjectNotesResponse(notes=msgspec.convert(notes, list[Note]))


def project_message(row: ProjectRow) -> Project:
    """A project as all routes show it."""
    return struct_of(
        Project,
        row,
        notes=msgspec.convert(row.notes, list[Note]),
        state=WorkspaceState[f"WORKSPACE_STATE_{row.state or 'UNSPECIFIED'}"],
    )

"""Routes of workspaces and projects: reading them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from determined_master.api.routes import Call, route
from determined_master.api.shapes import cut
from determined_master.store.workspaces import ProjectRow, WorkspaceRow
from determined_wire.rest import projects as project_wire
from determined_wire.rest import workspaces as wire
from determined_wire.rest.types.project import Note, Project
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.workspace import Workspace


class _Row(Protocol):
    """What both kinds of rows are filtered by."""

    @property
    def name(self) -> str: ...
    @property
    def archived(self) -> bool: ...
    @property
    def username(self) -> str: ...
    @property
    def user_id(self) -> int: ...


class _Wanted(Protocol):
    """What requests for both lists have."""

    @property
    def archived(self) -> bool | None: ...
    @property
    def users(self) -> Sequence[str]: ...
    @property
    def user_ids(self) -> Sequence[int]: ...
    @property
    def order_by(self) -> OrderBy: ...


R = TypeVar("R", bound=_Row)


@route("GET", "/api/v1/workspaces")
async def get_workspaces(
    call: Call, request: wire.GetWorkspacesRequest
) -> wire.GetWorkspacesResponse:
    """Workspaces by filter; `name` is the whole name in any case."""
    found = [
        row
        for row in _matching(await call.services.workspaces.list_all(call.caller), request)
        if not request.name or row.name.lower() == request.name.lower()
        if not request.name_case_sensitive or row.name == request.name_case_sensitive
        if request.pinned is not True  # nobody can pin one yet
    ]
    if request.sort_by is wire.GetWorkspacesRequestSortBy.SORT_BY_NAME:
        found = _sorted(found, request, lambda row: row.name.lower())
    page, pagination = cut(found, request.offset, request.limit)
    return wire.GetWorkspacesResponse(
        workspaces=[_workspace(row) for row in page], pagination=pagination
    )


@route("GET", "/api/v1/workspaces/{id}")
async def get_workspace(
    call: Call, request: wire.GetWorkspaceRequest
) -> wire.GetWorkspaceResponse:
    """One workspace."""
    row = await call.services.workspaces.get(call.caller, request.id)
    return wire.GetWorkspaceResponse(workspace=_workspace(row))


@route("GET", "/api/v1/workspaces/{id}/projects")
async def get_workspace_projects(
    call: Call, request: wire.GetWorkspaceProjectsRequest
) -> wire.GetWorkspaceProjectsResponse:
    """The projects of a workspace by filter; `name` is the whole name in any case."""
    projects = await call.services.workspaces.projects(call.caller, request.id)
    found = [
        row
        for row in _matching(projects, request)
        if not request.name or row.name.lower() == request.name.lower()
    ]
    sorts: dict[str, Callable[[ProjectRow], Any]] = {
        "SORT_BY_NAME": lambda row: row.name.lower(),
        "SORT_BY_DESCRIPTION": lambda row: row.description.lower(),
        "SORT_BY_LAST_EXPERIMENT_START_TIME": lambda row: str(row.last_experiment_started_at),
    }
    if request.sort_by.name in sorts:
        found = _sorted(found, request, sorts[request.sort_by.name])
    page, pagination = cut(found, request.offset, request.limit)
    return wire.GetWorkspaceProjectsResponse(
        projects=[_project(row) for row in page], pagination=pagination
    )


@route("GET", "/api/v1/projects/{id}")
async def get_project(
    call: Call, request: project_wire.GetProjectRequest
) -> project_wire.GetProjectResponse:
    """One project."""
    row = await call.services.workspaces.project(call.caller, request.id)
    return project_wire.GetProjectResponse(project=_project(row))


def _matching(rows: Sequence[R], request: _Wanted) -> list[R]:
    """In the order asked for, by id."""
    found = [
        row
        for row in rows
        if request.archived is None or row.archived is request.archived
        if not request.users or row.username in request.users
        if not request.user_ids or row.user_id in request.user_ids
    ]
    return found[::-1] if request.order_by is OrderBy.ORDER_BY_DESC else found


def _sorted(rows: list[R], request: _Wanted, key: Callable[[R], Any]) -> list[R]:
    return sorted(rows, key=key, reverse=request.order_by is OrderBy.ORDER_BY_DESC)


def _workspace(row: WorkspaceRow) -> Workspace:
    return Workspace(
        id=row.id,
        name=row.name,
        archived=row.archived,
        username=row.username,
        immutable=row.immutable,
        num_projects=row.num_projects,
        user_id=row.user_id,
        num_experiments=row.num_experiments,
    )


def _project(row: ProjectRow) -> Project:
    return Project(
        id=row.id,
        name=row.name,
        workspace_id=row.workspace_id,
        description=row.description,
        last_experiment_started_at=row.last_experiment_started_at,
        notes=msgspec.convert(row.notes, list[Note]),
        num_experiments=row.num_experiments,
        num_active_experiments=row.num_active_experiments,
        archived=row.archived,
        username=row.username,
        immutable=row.immutable,
        user_id=row.user_id,
        workspace_name=row.workspace_name,
        key=row.key,
        num_runs=row.num_runs,
    )

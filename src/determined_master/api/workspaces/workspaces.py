"""Routes of workspaces."""

from __future__ import annotations

from functools import partial

import msgspec

from determined_master.api.access.user_shapes import agent_fields, agent_group_message
from determined_master.api.http.access import FILTERED, IN_SERVICE, on, on_late
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import PLACES, READS
from determined_master.api.shapes import cut, struct_of
from determined_master.api.workspaces.named_lists import matching, ordered
from determined_master.api.workspaces.namespaces import namespace_changes, shown_bindings
from determined_master.domain.access.rules import Caller
from determined_master.domain.config.masking import mask_storage
from determined_master.records.workspaces import WorkspaceRow
from determined_master.services.cluster.pool_bindings import PoolBindings
from determined_master.services.workspaces.namespaces import WorkspaceNamespaces
from determined_master.services.workspaces.service import (
    WorkspaceChange,
    Workspaces,
    shown_storage,
)
from determined_wire.rest import workspaces as wire
from determined_wire.rest.types.workspace import Workspace, WorkspaceState


@route("GET", "/api/v1/workspaces", access=FILTERED, in_task=READS)
async def get_workspaces(
    call: Call, request: wire.GetWorkspacesRequest, workspaces: Workspaces
) -> wire.GetWorkspacesResponse:
    """Workspaces by filter; `name` is the whole name in any case."""
    found = [
        row
        for row in matching(await workspaces.list_all(call.caller), request)
        if not request.name or row.name.lower() == request.name.lower()
        if not request.name_case_sensitive or row.name == request.name_case_sensitive
        if request.pinned is None or (row.pinned_at is not None) is request.pinned
    ]
    if request.sort_by is wire.GetWorkspacesRequestSortBy.SORT_BY_NAME:
        found = ordered(found, request, lambda row: row.name.lower())
    page, pagination = cut(found, request.offset, request.limit)
    return wire.GetWorkspacesResponse(
        workspaces=[_workspace(row) for row in page], pagination=pagination
    )


async def workspace_messages(caller: Caller, workspaces: Workspaces) -> list[Workspace]:
    """All workspaces that a caller sees, as the list has them without a filter."""
    return [_workspace(row) for row in await workspaces.list_all(caller)]


@route("GET", "/api/v1/workspaces/{id}", access=on("workspace", "id"), in_task=READS)
async def get_workspace(
    call: Call, request: wire.GetWorkspaceRequest, workspaces: Workspaces
) -> wire.GetWorkspaceResponse:
    """One workspace."""
    row = await workspaces.get(call.caller, request.id)
    return wire.GetWorkspaceResponse(workspace=_whole(row))


@route("POST", "/api/v1/workspaces", access=IN_SERVICE, in_task=PLACES)
async def post_workspace(
    call: Call, request: wire.PostWorkspaceRequest, workspaces: Workspaces
) -> wire.PostWorkspaceResponse:
    """Make a workspace; its maker has it pinned."""
    new = WorkspaceChange(
        name=request.name,
        agent=agent_fields(request.agent_user_group),
        checkpoint_storage=request.checkpoint_storage_config,
        default_compute_pool=request.default_compute_pool,
        default_aux_pool=request.default_aux_pool,
    )
    wanted = namespace_changes(request.cluster_namespace_meta)
    row, bound = await workspaces.create_bound(
        call.caller, new, wanted, request.cluster_quota_pairs
    )
    made = msgspec.structs.replace(_whole(row), pinned_at=None)
    return wire.PostWorkspaceResponse(
        workspace=made, namespace_bindings=shown_bindings(row.id, bound)
    )


@route("PATCH", "/api/v1/workspaces/{id}", access=on_late("workspace", "id", "edit", "workspace"))
async def patch_workspace(
    call: Call,
    request: wire.PatchWorkspaceRequest,
    workspaces: Workspaces,
    namespaces: WorkspaceNamespaces,
) -> wire.PatchWorkspaceResponse:
    """Change the given fields of a workspace."""
    patch = request.workspace
    if patch is None:
        row = await workspaces.get(call.caller, request.id)
        return wire.PatchWorkspaceResponse(workspace=_whole(row))
    compute, aux = patch.default_compute_resource_pool, patch.default_aux_resource_pool
    changes = WorkspaceChange(
        name=patch.name,
        agent=agent_fields(patch.agent_user_group),
        checkpoint_storage=patch.checkpoint_storage_config,
        default_compute_pool=patch.default_compute_pool or None if compute is None else compute,
        default_aux_pool=patch.default_aux_pool or None if aux is None else aux,
    )
    wanted = namespace_changes(patch.cluster_namespace_meta)
    if wanted:
        await namespaces.check(call.caller, wanted)
    row = await workspaces.change(call.caller, request.id, changes)
    bound = {}
    if wanted:
        bound = await namespaces.bind(call.caller, row.id, wanted)
        row = await workspaces.get(call.caller, row.id)
    return wire.PatchWorkspaceResponse(
        workspace=_whole(row), namespace_bindings=shown_bindings(row.id, bound)
    )


delete_workspace = pass_through(
    "DELETE /api/v1/workspaces/{id}",
    "Delete a workspace with all in it; whether that is done already.",
    Workspaces.delete,
    answer="completed",
    access=on("workspace", "id", "delete", "workspace"),
    in_task=PLACES,
)


_edit_route = partial(
    pass_through, access=on("workspace", "id", "edit", "workspace"), in_task=PLACES
)
archive_workspace = _edit_route(
    "POST /api/v1/workspaces/{id}/archive",
    "Hide a workspace with all in it from lists.",
    Workspaces.archive,
    fixed={"archived": True},
)
unarchive_workspace = _edit_route(
    "POST /api/v1/workspaces/{id}/unarchive",
    "Show an archived workspace again.",
    Workspaces.archive,
    fixed={"archived": False},
)


@route("POST", "/api/v1/workspaces/{id}/pin", access=on("workspace", "id"))
async def pin_workspace(
    call: Call, request: wire.PinWorkspaceRequest, workspaces: Workspaces
) -> wire.PinWorkspaceResponse:
    """Pin a workspace for the caller."""
    await workspaces.pin(call.caller, request.id, pinned=True)
    return wire.PinWorkspaceResponse()


@route("POST", "/api/v1/workspaces/{id}/unpin", access=on("workspace", "id"))
async def unpin_workspace(
    call: Call, request: wire.UnpinWorkspaceRequest, workspaces: Workspaces
) -> wire.UnpinWorkspaceResponse:
    """Take the caller's pin away."""
    await workspaces.pin(call.caller, request.id, pinned=False)
    return wire.UnpinWorkspaceResponse()


@route(
    "GET",
    "/api/v1/workspaces/{workspace_id}/available-resource-pools",
    access=on("workspace", "workspace_id"),
    in_task=READS,
)
async def get_workspace_pools(
    call: Call, request: wire.ListRPsBoundToWorkspaceRequest, pool_bindings: PoolBindings
) -> wire.ListRPsBoundToWorkspaceResponse:
    """Names of the resource pools that tasks of a workspace may use."""
    names = await pool_bindings.pools_of(call.caller, request.workspace_id)
    page, pagination = cut(names, request.offset, request.limit)
    return wire.ListRPsBoundToWorkspaceResponse(resource_pools=page, pagination=pagination)


def _workspace(row: WorkspaceRow) -> Workspace:
    """As lists show it: without its storage."""
    return struct_of(
        Workspace,
        row,
        pinned=row.pinned_at is not None,
        state=WorkspaceState[f"WORKSPACE_STATE_{row.state or 'UNSPECIFIED'}"],
        agent_user_group=agent_group_message(row),
        auto_created_namespace=row.made_namespace,
    )


def _whole(row: WorkspaceRow) -> Workspace:
    storage = shown_storage(row)
    shown = None if storage is None else mask_storage(storage)
    return msgspec.structs.replace(_workspace(row), checkpoint_storage_config=shown)

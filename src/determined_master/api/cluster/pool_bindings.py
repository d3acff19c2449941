"""Routes of bindings between resource pools and workspaces."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED, IN_SERVICE
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import cut
from determined_master.services.cluster.pool_bindings import PoolBindings
from determined_wire.rest import resource_pools as wire

BINDINGS = "/api/v1/resource-pools/{resource_pool_name}/workspace-bindings"


@route("POST", BINDINGS, access=IN_SERVICE)
async def bind_pool(
    call: Call, request: wire.BindRPToWorkspaceRequest, pool_bindings: PoolBindings
) -> wire.BindRPToWorkspaceResponse:
    """Bind a pool to workspaces, in addition to existing bindings."""
    await pool_bindings.bind(
        call.caller, request.resource_pool_name, request.workspace_ids, request.workspace_names
    )
    return wire.BindRPToWorkspaceResponse()


@route("PUT", BINDINGS, access=IN_SERVICE)
async def overwrite_bindings(
    call: Call, request: wire.OverwriteRPWorkspaceBindingsRequest, pool_bindings: PoolBindings
) -> wire.OverwriteRPWorkspaceBindingsResponse:
    """Bind a pool to these workspaces and no others."""
    await pool_bindings.overwrite(
        call.caller, request.resource_pool_name, request.workspace_ids, request.workspace_names
    )
    return wire.OverwriteRPWorkspaceBindingsResponse()


@route("DELETE", BINDINGS, access=IN_SERVICE)
async def unbind_pool(
    call: Call, request: wire.UnbindRPFromWorkspaceRequest, pool_bindings: PoolBindings
) -> wire.UnbindRPFromWorkspaceResponse:
    """Take bindings away."""
    await pool_bindings.unbind(
        call.caller, request.resource_pool_name, request.workspace_ids, request.workspace_names
    )
    return wire.UnbindRPFromWorkspaceResponse()


@route("GET", BINDINGS, access=FILTERED, in_task=READS)
async def list_bound_workspaces(
    call: Call, request: wire.ListWorkspacesBoundToRPRequest, pool_bindings: PoolBindings
) -> wire.ListWorkspacesBoundToRPResponse:
    """Ids of the workspaces that a pool is bound to."""
    ids = await pool_bindings.workspaces_of(call.caller, request.resource_pool_name)
    page, pagination = cut(ids, request.offset, request.limit)
    return wire.ListWorkspacesBoundToRPResponse(workspace_ids=page, pagination=pagination)

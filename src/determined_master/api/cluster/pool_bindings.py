"""Routes of bindings between resource pools and workspaces."""

from __future__ import annotations

from functools import partial

from determined_master.api.http.access import FILTERED, IN_SERVICE
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import cut
from determined_master.services.cluster.pool_bindings import PoolBindings
from determined_wire.rest import resource_pools as wire

BINDINGS = "/api/v1/resource-pools/{resource_pool_name}/workspace-bindings"


_change_route = partial(
    pass_through, takes=("workspace_ids", "workspace_names"), access=IN_SERVICE
)
bind_pool = _change_route(
    f"POST {BINDINGS}",
    "Bind a pool to workspaces, in addition to existing bindings.",
    PoolBindings.bind,
)
overwrite_bindings = _change_route(
    f"PUT {BINDINGS}", "Bind a pool to these workspaces and no others.", PoolBindings.overwrite
)
unbind_pool = _change_route(f"DELETE {BINDINGS}", "Take bindings away.", PoolBindings.unbind)


@route("GET", BINDINGS, access=FILTERED, in_task=READS)
async def list_bound_workspaces(
    call: Call, request: wire.ListWorkspacesBoundToRPRequest, pool_bindings: PoolBindings
) -> wire.ListWorkspacesBoundToRPResponse:
    """Ids of the workspaces that a pool is bound to."""
    ids = await pool_bindings.workspaces_of(call.caller, request.resource_pool_name)
    page, pagination = cut(ids, request.offset, request.limit)
    return wire.ListWorkspacesBoundToRPResponse(workspace_ids=page, pagination=pagination)

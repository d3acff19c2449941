"""Routes of config policies."""

from __future__ import annotations

from determined_master.api.http.access import IN_SERVICE, SIGNED_IN, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.services.configs.policies import ConfigPolicies
from determined_wire.rest import config_policies as wire


@route("GET", "/api/v1/config-policies/global/{workload_type}", access=SIGNED_IN, in_task=READS)
async def get_global_config_policies(
    call: Call, request: wire.GetGlobalConfigPoliciesRequest, config_policies: ConfigPolicies
) -> wire.GetGlobalConfigPoliciesResponse:
    """The policies of the cluster; empty when there are none."""
    found = await config_policies.get(call.caller, None, request.workload_type)
    return wire.GetGlobalConfigPoliciesResponse(config_policies=found)


@route("PUT", "/api/v1/config-policies/global/{workload_type}", submission=True, access=IN_SERVICE)
async def put_global_config_policies(
    call: Call, request: wire.PutGlobalConfigPoliciesRequest, config_policies: ConfigPolicies
) -> wire.PutGlobalConfigPoliciesResponse:
    """Set what holds for the cluster, in place of all that was set."""
    stored = await config_policies.put(
        call.caller, None, request.workload_type, request.config_policies
    )
    return wire.PutGlobalConfigPoliciesResponse(config_policies=stored)


@route("DELETE", "/api/v1/config-policies/global/{workload_type}", access=IN_SERVICE)
async def delete_global_config_policies(
    call: Call, request: wire.DeleteGlobalConfigPoliciesRequest, config_policies: ConfigPolicies
) -> wire.DeleteGlobalConfigPoliciesResponse:
    """Delete the cluster's policies."""
    await config_policies.delete(call.caller, None, request.workload_type)
    return wire.DeleteGlobalConfigPoliciesResponse()


get_workspace_config_policies = pass_through(
    "GET /api/v1/config-policies/workspaces/{workspace_id}/{workload_type}",
    "The policies of the workspace itself; empty when there are none.",
    ConfigPolicies.get,
    answer="config_policies",
    access=on("workspace", "workspace_id"),
    in_task=READS,
)
put_workspace_config_policies = pass_through(
    "PUT /api/v1/config-policies/workspaces/{workspace_id}/{workload_type}",
    "Set what holds for a workspace, in place of all that was set.",
    ConfigPolicies.put,
    takes=("config_policies",),
    answer="config_policies",
    is_submission=True,
    access=on("workspace", "workspace_id", "configure", "workspace"),
)
delete_workspace_config_policies = pass_through(
    "DELETE /api/v1/config-policies/workspaces/{workspace_id}/{workload_type}",
    "Delete a workspace's policies.",
    ConfigPolicies.delete,
    access=on("workspace", "workspace_id", "configure", "workspace"),
)

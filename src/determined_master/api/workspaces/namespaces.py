"""Routes of the Kubernetes namespaces of workspaces."""

from __future__ import annotations

from collections.abc import Mapping

from determined_master.api.http.access import FILTERED, SIGNED_IN, on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.services.workspaces.namespaces import (
    Binding,
    NamespaceChange,
    WorkspaceNamespaces,
)
from determined_wire.rest import resource_pools, workspaces
from determined_wire.rest.types.workspace import (
    WorkspaceNamespaceBinding,
    WorkspaceNamespaceMeta,
)


@route(
    "POST",
    "/api/v1/workspaces/{workspace_id}/namespace-bindings",
    access=on("workspace", "workspace_id"),
)
async def set_namespace_bindings(
    call: Call,
    request: workspaces.SetWorkspaceNamespaceBindingsRequest,
    namespaces: WorkspaceNamespaces,
) -> workspaces.SetWorkspaceNamespaceBindingsResponse:
    """Bind a workspace to namespaces, by resource manager."""
    wanted = namespace_changes(request.cluster_namespace_meta)
    found = await namespaces.bind(call.caller, request.workspace_id, wanted)
    return workspaces.SetWorkspaceNamespaceBindingsResponse(
        namespace_bindings=shown_bindings(request.workspace_id, found)
    )


@route("GET", "/api/v1/workspaces/{id}/list-namespace-bindings", access=on("workspace", "id"))
async def list_namespace_bindings(
    call: Call,
    request: workspaces.ListWorkspaceNamespaceBindingsRequest,
    namespaces: WorkspaceNamespaces,
) -> workspaces.ListWorkspaceNamespaceBindingsResponse:
    """Where the tasks of a workspace run, by resource manager."""
    found = await namespaces.list_all(call.caller, request.id)
    return workspaces.ListWorkspaceNamespaceBindingsResponse(
        namespace_bindings=shown_bindings(request.id, found)
    )


delete_namespace_bindings = pass_through(
    "DELETE /api/v1/workspaces/{workspace_id}/namespace-bindings",
    "Let tasks of a workspace run in the default namespaces again.",
    WorkspaceNamespaces.unbind,
    takes=("cluster_names",),
    access=on("workspace", "workspace_id"),
)


@route("POST", "/api/v1/workspaces/{id}/set-resource-quota", access=on("workspace", "id"))
async def set_resource_quotas(
    call: Call, request: workspaces.SetResourceQuotasRequest, namespaces: WorkspaceNamespaces
) -> workspaces.SetResourceQuotasResponse:
    """Bound the GPUs of a workspace's own namespaces."""
    await namespaces.set_quotas(call.caller, request.id, request.cluster_quota_pairs)
    return workspaces.SetResourceQuotasResponse()


get_resource_quotas = pass_through(
    "GET /api/v1/workspaces/{id}/get-k8s-resource-quotas",
    "The lowest quota of GPUs of a workspace's namespaces.",
    WorkspaceNamespaces.quotas,
    answer="resource_quotas",
    access=on("workspace", "id", "read", "quota"),
)


@route("GET", "/api/v1/namespace-bindings/workspace-ids-with-default-bindings", access=FILTERED)
async def get_workspaces_with_defaults(
    call: Call,
    request: workspaces.GetWorkspacesWithDefaultNamespaceBindingsRequest,
    namespaces: WorkspaceNamespaces,
) -> workspaces.GetWorkspacesWithDefaultNamespaceBindingsResponse:
    """The workspaces that use a default namespace."""
    found = await namespaces.with_defaults(call.caller)
    return workspaces.GetWorkspacesWithDefaultNamespaceBindingsResponse(workspace_ids=found)


make_namespaces = pass_through(
    "POST /api/v1/namespace-bindings/bulk-auto-create",
    "Make namespaces for workspaces wherever they use the default one.",
    WorkspaceNamespaces.make_for,
    takes=("workspace_ids",),
    access=on("workspace", "workspace_ids"),
)


@route("GET", "/api/v1/k8s-resource-managers", access=SIGNED_IN)
async def get_kubernetes_managers(
    call: Call,
    request: resource_pools.GetKubernetesResourceManagersRequest,
    namespaces: WorkspaceNamespaces,
) -> resource_pools.GetKubernetesResourceManagersResponse:
    """Names of the resource managers that are Kubernetes clusters."""
    names = namespaces.managers
    return resource_pools.GetKubernetesResourceManagersResponse(resource_managers=names)


def namespace_changes(metas: Mapping[str, WorkspaceNamespaceMeta]) -> list[NamespaceChange]:
    """The requested change, by the names that its clusters have in the settings."""
    return [
        NamespaceChange(
            namespace=meta.namespace,
            is_made=meta.auto_create_namespace and not meta.auto_create_namespace_all_clusters,
            is_made_everywhere=meta.auto_create_namespace_all_clusters,
            manager=meta.cluster_name or cluster,
            quota=meta.resource_quota,
        )
        for cluster, meta in metas.items()
    ]


def shown_bindings(
    workspace_id: int, bindings: Mapping[str, Binding]
) -> dict[str, WorkspaceNamespaceBinding]:
    """Bindings as clients know them."""
    return {
        manager: WorkspaceNamespaceBinding(
            workspace_id=workspace_id,
            namespace=binding.namespace,
            cluster_name=manager,
            auto_create_namespace=binding.is_made,
        )
        for manager, binding in bindings.items()
    }

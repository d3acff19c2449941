"""What each route needs where roles decide (`security.authz.type: rbac`): all routes."""

from __future__ import annotations

from determined_master.api.http.access_rules import Entries, Need, on
from determined_master.api.http.access_table_runs import RULES as RUN_RULES

_V1 = "/api/v1"

_CLUSTER: Entries = {
    ("POST", "/login"): "open",
    ("POST", f"{_V1}/auth/login"): "open",
    ("GET", f"{_V1}/auth/user"): "open",
    ("POST", f"{_V1}/auth/logout"): "open",
    ("GET", f"{_V1}/me"): "open",
    ("GET", "/users/me"): "open",
    ("GET", "/users"): "open",
    ("GET", f"{_V1}/users"): "open",
    ("GET", f"{_V1}/users/{{user_id}}"): "open",
    ("GET", f"{_V1}/users/{{username}}/by-username"): "open",
    ("POST", f"{_V1}/users"): "asks",
    ("PATCH", f"{_V1}/users/{{user_id}}"): "asks",
    ("PATCH", f"{_V1}/users"): "asks",
    ("POST", f"{_V1}/users/{{user_id}}/password"): "asks",
    ("GET", f"{_V1}/users/setting"): "open",
    ("POST", f"{_V1}/users/setting"): "open",
    ("POST", f"{_V1}/users/setting/reset"): "open",
    ("PATCH", f"{_V1}/users/assignments"): "asks",
    ("POST", f"{_V1}/groups/search"): "filters",
    ("GET", f"{_V1}/groups/{{group_id}}"): "asks",
    ("POST", f"{_V1}/groups"): "asks",
    ("PUT", f"{_V1}/groups/{{group_id}}"): "asks",
    ("DELETE", f"{_V1}/groups/{{group_id}}"): "asks",
    ("GET", f"{_V1}/permissions/summary"): "open",
    ("GET", f"{_V1}/tokens"): "filters",
    ("POST", f"{_V1}/tokens"): "asks",
    ("PATCH", f"{_V1}/tokens/{{token_id}}"): "asks",
    ("GET", f"{_V1}/roles/workspace/{{workspace_id}}"): (on("workspace", "workspace_id"),),
    ("POST", f"{_V1}/roles/search/by-ids"): "filters",
    ("GET", f"{_V1}/roles/search/by-user/{{user_id}}"): "filters",
    ("GET", f"{_V1}/roles/search/by-group/{{group_id}}"): "filters",
    ("POST", f"{_V1}/roles/search/by-assignability"): "open",
    ("POST", f"{_V1}/roles/search"): "open",
    ("POST", f"{_V1}/roles/add-assignments"): "asks",
    ("POST", f"{_V1}/roles/remove-assignments"): "asks",
    ("GET", f"{_V1}/master"): "open",
    ("GET", f"{_V1}/master/telemetry"): "open",
    ("GET", f"{_V1}/master/config"): "asks",
    ("GET", f"{_V1}/master/loop-stall"): "asks",
    ("PATCH", f"{_V1}/master/config"): "asks",
    ("GET", f"{_V1}/master/logs"): "asks",
    ("GET", "/info"): "open",
    ("GET", "/health"): "open",
    ("GET", "/"): "open",
    ("GET", "/det"): "open",
    ("GET", "/det/{path*}"): "open",
    ("GET", "/docs"): "open",
    ("GET", "/task/harness.tar.gz"): "open",
    ("GET", "/docs/{path*}"): "open",
    ("GET", f"{_V1}/openapi.json"): "open",
    ("GET", f"{_V1}/api.swagger.json"): "open",
    ("GET", f"{_V1}/schemas/experiment-config"): "open",
    ("POST", f"{_V1}/preview-hp-search"): "open",
    ("GET", f"{_V1}/master/cluster_message"): "asks",
    ("PUT", f"{_V1}/master/cluster_message"): "asks",
    ("DELETE", f"{_V1}/master/cluster_message"): "asks",
    ("GET", f"{_V1}/agents"): "open",
    ("GET", f"{_V1}/agents/join-token"): "asks",
    ("GET", f"{_V1}/agents/{{agent_id}}"): "open",
    ("GET", f"{_V1}/agents/{{agent_id}}/slots"): "open",
    ("GET", f"{_V1}/agents/{{agent_id}}/slots/{{slot_id}}"): "open",
    ("POST", f"{_V1}/agents/{{agent_id}}/enable"): "asks",
    ("POST", f"{_V1}/agents/{{agent_id}}/disable"): "asks",
    ("POST", f"{_V1}/agents/{{agent_id}}/slots/{{slot_id}}/enable"): "asks",
    ("POST", f"{_V1}/agents/{{agent_id}}/slots/{{slot_id}}/disable"): "asks",
    ("WS", "/agents"): "open",  # asks for the join token
    ("GET", f"{_V1}/resource-pools"): "open",
    ("GET", f"{_V1}/k8s-resource-managers"): "open",
    ("POST", f"{_V1}/resource-pools/{{resource_pool_name}}/workspace-bindings"): "asks",
    ("PUT", f"{_V1}/resource-pools/{{resource_pool_name}}/workspace-bindings"): "asks",
    ("DELETE", f"{_V1}/resource-pools/{{resource_pool_name}}/workspace-bindings"): "asks",
    ("GET", f"{_V1}/resource-pools/{{resource_pool_name}}/workspace-bindings"): "filters",
    ("GET", f"{_V1}/job-queues"): "filters",
    ("GET", f"{_V1}/job-queues-v2"): "filters",
    ("GET", f"{_V1}/job-queues/stats"): "open",
    ("POST", f"{_V1}/job-queues"): "asks",
    ("GET", f"{_V1}/job-queues/{{id}}/why"): "asks",
    ("GET", "/resources/allocation/allocations-csv"): "asks",
    ("GET", "/resources/allocation/raw"): "asks",
    ("GET", "/resources/allocation/aggregated"): "asks",
    ("GET", f"{_V1}/resources/allocation/raw"): "asks",
    ("GET", f"{_V1}/resources/allocation/aggregated"): "asks",
    ("GET", f"{_V1}/config-policies/global/{{workload_type}}"): "open",
    ("PUT", f"{_V1}/config-policies/global/{{workload_type}}"): "asks",
    ("DELETE", f"{_V1}/config-policies/global/{{workload_type}}"): "asks",
    ("POST", f"{_V1}/cleanup_logs"): "asks",
}

_W, _P = f"{_V1}/workspaces", f"{_V1}/projects"
_EDITS_WORKSPACE = (on("workspace", "id", "edit", "workspace"),)
_EDITS_PROJECT = (on("project", "id", "edit", "project"),)
_POLICIES = f"{_V1}/config-policies/workspaces/{{workspace_id}}/{{workload_type}}"
_NAMESPACES = f"{_W}/{{workspace_id}}/namespace-bindings"
_BULK = (on("project", "project_id", "control", "experiment"),)
_BULK_PATH = f"{_P}/{{project_id}}/experiments"

_PLACES: Entries = {
    ("GET", _W): "filters",
    ("POST", _W): "asks",
    ("GET", f"{_W}/{{id}}"): (on("workspace", "id"),),
    ("PATCH", f"{_W}/{{id}}"): _EDITS_WORKSPACE,
    ("DELETE", f"{_W}/{{id}}"): (on("workspace", "id", "delete", "workspace"),),
    ("POST", f"{_W}/{{id}}/archive"): _EDITS_WORKSPACE,
    ("POST", f"{_W}/{{id}}/unarchive"): _EDITS_WORKSPACE,
    ("POST", f"{_W}/{{id}}/pin"): (on("workspace", "id"),),
    ("POST", f"{_W}/{{id}}/unpin"): (on("workspace", "id"),),
    ("GET", f"{_W}/{{workspace_id}}/available-resource-pools"): (on("workspace", "workspace_id"),),
    ("POST", _NAMESPACES): (on("workspace", "workspace_id"),),
    ("DELETE", _NAMESPACES): (on("workspace", "workspace_id"),),
    ("GET", f"{_W}/{{id}}/list-namespace-bindings"): (on("workspace", "id"),),
    ("POST", f"{_W}/{{id}}/set-resource-quota"): (on("workspace", "id"),),
    ("GET", f"{_W}/{{id}}/get-k8s-resource-quotas"): (on("workspace", "id", "read", "quota"),),
    ("POST", f"{_V1}/namespace-bindings/bulk-auto-create"): (on("workspace", "workspace_ids"),),
    ("GET", f"{_V1}/namespace-bindings/workspace-ids-with-default-bindings"): "filters",
    ("GET", f"{_W}/{{id}}/projects"): (on("workspace", "id", "read", "project"),),
    ("POST", f"{_W}/{{workspace_id}}/projects"): (
        on("workspace", "workspace_id", "create", "project"),
    ),
    ("GET", _POLICIES): (on("workspace", "workspace_id"),),
    ("PUT", _POLICIES): (on("workspace", "workspace_id", "configure", "workspace"),),
    ("DELETE", _POLICIES): (on("workspace", "workspace_id", "configure", "workspace"),),
    ("GET", f"{_P}/{{id}}"): (on("project", "id"),),
    ("GET", f"{_P}/key/{{key}}"): (on("project_key", "key"),),
    ("PATCH", f"{_P}/{{id}}"): _EDITS_PROJECT,
    ("DELETE", f"{_P}/{{id}}"): (on("project", "id", "delete", "project"),),
    ("POST", f"{_P}/{{id}}/archive"): _EDITS_PROJECT,
    ("POST", f"{_P}/{{id}}/unarchive"): _EDITS_PROJECT,
    ("POST", f"{_P}/{{project_id}}/move"): (
        on("project", "project_id", "delete", "project"),
        on("workspace", "destination_workspace_id", "create", "project"),
    ),
    ("POST", f"{_P}/{{project_id}}/notes"): (on("project", "project_id", "edit", "project"),),
    ("PUT", f"{_P}/{{project_id}}/notes"): (on("project", "project_id", "edit", "project"),),
    ("GET", f"{_P}/{{id}}/columns"): (on("project", "id", "read", "experiment"),),
    ("GET", f"{_P}/{{id}}/experiments/metric-ranges"): (
        on("project", "id", "read", "experiment"),
    ),
    ("GET", f"{_P}/{{project_id}}/metadata/{{key}}"): (
        on("project", "project_id", "read", "experiment"),
    ),
    **{
        ("POST", f"{_BULK_PATH}/{verb}"): _BULK
        for verb in ("activate", "pause", "cancel", "kill", "archive", "unarchive")
    },
    ("PUT", f"{_BULK_PATH}/retain_logs"): _BULK,
    ("DELETE", f"{_BULK_PATH}/delete"): (on("project", "project_id", "delete", "experiment"),),
    ("POST", f"{_BULK_PATH}/move"): (
        *_BULK,
        on("project", "destination_project_id", "create", "experiment"),
    ),
}

_M = f"{_V1}/models"
_READS_MODEL = (on("model", "model_name"),)
_EDITS_MODEL = (on("model", "model_name", "edit", "model"),)
_TPL = f"{_V1}/templates"

_REGISTRY: Entries = {
    ("GET", _M): "filters",
    ("GET", f"{_V1}/model/labels"): "filters",
    ("POST", _M): "asks",
    ("GET", f"{_M}/{{model_name}}"): _READS_MODEL,
    ("PATCH", f"{_M}/{{model_name}}"): _EDITS_MODEL,
    ("POST", f"{_M}/{{model_name}}/archive"): _EDITS_MODEL,
    ("POST", f"{_M}/{{model_name}}/unarchive"): _EDITS_MODEL,
    ("POST", f"{_M}/{{model_name}}/move"): (
        *_EDITS_MODEL,
        on("workspace", "destination_workspace_id", "create", "model"),
    ),
    ("DELETE", f"{_M}/{{model_name}}"): (on("model", "model_name", "delete", "model"),),
    ("GET", f"{_M}/{{model_name}}/versions"): _READS_MODEL,
    ("POST", f"{_M}/{{model_name}}/versions"): (
        *_EDITS_MODEL,
        on("checkpoint", "checkpoint_uuid", "read", "checkpoint"),
    ),
    ("GET", f"{_M}/{{model_name}}/versions/{{model_version_num}}"): _READS_MODEL,
    ("PATCH", f"{_M}/{{model_name}}/versions/{{model_version_num}}"): _EDITS_MODEL,
    ("DELETE", f"{_M}/{{model_name}}/versions/{{model_version_num}}"): (
        on("model", "model_name", "delete", "model"),
    ),
    ("GET", f"{_M}/{{model_name}}/versions/{{model_version_num}}/metrics"): _READS_MODEL,
    ("GET", _TPL): "filters",
    ("GET", f"{_TPL}/{{template_name}}"): (on("template", "template_name"),),
    ("POST", f"{_TPL}/{{template.name}}"): "asks",
    ("PUT", f"{_TPL}/{{template.name}}"): (
        Need("template", "template.name", "edit", "template", may_be_missing=True),
    ),
    ("PATCH", f"{_TPL}/{{template_name}}"): (on("template", "template_name", "edit", "template"),),
    ("PATCH", f"{_V1}/template/rename"): (on("template", "old_name", "edit", "template"),),
    ("DELETE", f"{_TPL}/{{template_name}}"): (
        on("template", "template_name", "delete", "template"),
    ),
}

RULES: Entries = {
    **_CLUSTER,
    **_PLACES,
    **RUN_RULES,
    **_REGISTRY,
}
"""By method and path as the route table spells them."""

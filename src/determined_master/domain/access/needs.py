"""The permissions that each action needs under RBAC; any one of the listed ones is enough."""

from __future__ import annotations

from collections.abc import Mapping

from determined_master.domain.access.permissions import P, Permission

Needed = frozenset[Permission]
NOBODY_SPECIAL: Needed = frozenset()
"""Nothing is needed: every signed-in user may."""


def _any(*permissions: Permission) -> Needed:
    return frozenset(permissions)


_RUNS = _any(P.UPDATE_EXPERIMENT, P.CREATE_EXPERIMENT, P.UPDATE_NSC, P.CREATE_NSC)

NEEDS: Mapping[tuple[str, str], Needed] = {
    ("configure", "cluster"): _any(P.UPDATE_MASTER_CONFIG),
    ("read", "cluster"): NOBODY_SPECIAL,
    ("read", "agent"): NOBODY_SPECIAL,
    ("edit", "agent"): _any(P.UPDATE_AGENTS),
    ("read", "pool"): NOBODY_SPECIAL,
    ("edit", "pool"): _any(P.MODIFY_RP_WORKSPACE_BINDINGS),
    ("edit", "namespace"): _any(P.SET_WORKSPACE_NAMESPACE_BINDINGS),
    ("edit", "quota"): _any(P.SET_RESOURCE_QUOTAS),
    ("read", "quota"): _any(P.VIEW_RESOURCE_QUOTAS),
    ("read", "usage"): _any(P.VIEW_CLUSTER_USAGE),
    ("read", "log"): _any(P.VIEW_MASTER_LOGS),
    ("delete", "log"): _any(P.UPDATE_MASTER_CONFIG),
    ("read", "queue"): NOBODY_SPECIAL,
    ("control", "queue"): _any(P.UPDATE_EXPERIMENT, P.UPDATE_NSC, P.CONTROL_STRICT_JOB_QUEUE),
    ("configure", "queue"): _any(P.CONTROL_STRICT_JOB_QUEUE),
    ("read", "user"): NOBODY_SPECIAL,
    ("create", "user"): _any(P.ADMINISTRATE_USER),
    ("edit", "user"): _any(P.ADMINISTRATE_USER),
    ("configure", "user"): _any(P.ADMINISTRATE_USER),
    ("read", "group"): NOBODY_SPECIAL,
    ("edit", "group"): _any(P.UPDATE_GROUP),
    ("read", "role"): NOBODY_SPECIAL,
    ("assign", "role"): _any(P.ASSIGN_ROLES),
    ("read", "token"): _any(P.VIEW_OTHER_TOKEN, P.ADMINISTRATE_TOKEN),
    ("create", "token"): _any(P.CREATE_TOKEN, P.CREATE_OTHER_TOKEN, P.ADMINISTRATE_TOKEN),
    ("edit", "token"): _any(P.ADMINISTRATE_TOKEN),
    ("read", "workspace"): _any(P.VIEW_WORKSPACE),
    ("create", "workspace"): _any(P.CREATE_WORKSPACE),
    ("edit", "workspace"): _any(P.UPDATE_WORKSPACE),
    ("delete", "workspace"): _any(P.DELETE_WORKSPACE),
    ("configure", "workspace"): _any(P.MODIFY_WORKSPACE_CONFIG_POLICIES),
    ("assign", "workspace"): _any(P.SET_WORKSPACE_AGENT_USER_GROUP),
    ("read", "project"): _any(P.VIEW_PROJECT),
    ("create", "project"): _any(P.CREATE_PROJECT),
    ("edit", "project"): _any(P.UPDATE_PROJECT),
    ("control", "project"): _any(P.UPDATE_PROJECT),  # its notes
    ("delete", "project"): _any(P.DELETE_PROJECT),
    ("read", "experiment"): _any(P.VIEW_EXPERIMENT_METADATA),
    ("create", "experiment"): _any(P.CREATE_EXPERIMENT),
    ("edit", "experiment"): _any(P.UPDATE_EXPERIMENT_METADATA),
    ("control", "experiment"): _any(P.UPDATE_EXPERIMENT),
    ("delete", "experiment"): _any(P.DELETE_EXPERIMENT),
    ("read", "trial"): _any(P.VIEW_EXPERIMENT_METADATA),
    ("create", "trial"): _any(P.CREATE_EXPERIMENT),
    ("control", "trial"): _any(P.UPDATE_EXPERIMENT),
    ("read", "checkpoint"): _any(P.VIEW_EXPERIMENT_ARTIFACTS),
    ("delete", "checkpoint"): _any(P.UPDATE_EXPERIMENT),
    ("read", "task"): _any(P.VIEW_NSC, P.VIEW_EXPERIMENT_METADATA),
    ("create", "task"): _any(P.CREATE_NSC),
    ("control", "task"): _any(P.UPDATE_NSC, P.UPDATE_EXPERIMENT),
    ("report", "task"): _RUNS,
    ("report", "allocation"): _RUNS,
    ("report", "log"): _RUNS,
    ("read", "model"): _any(P.VIEW_MODEL_REGISTRY),
    ("create", "model"): _any(P.CREATE_MODEL_REGISTRY),
    ("edit", "model"): _any(P.EDIT_MODEL_REGISTRY),
    ("delete", "model"): _any(P.DELETE_MODEL_REGISTRY),
    ("read", "template"): _any(P.VIEW_TEMPLATES),
    ("create", "template"): _any(P.CREATE_TEMPLATES),
    ("edit", "template"): _any(P.UPDATE_TEMPLATES),
    ("delete", "template"): _any(P.DELETE_TEMPLATES),
    ("read", "webhook"): _any(P.VIEW_WEBHOOKS),
    ("edit", "webhook"): _any(P.EDIT_WEBHOOKS),
}
"""By action and kind. Only admins may do anything that is not listed."""

NEEDS_OF_OTHERS: Mapping[tuple[str, str], Needed] = {
    ("report", "allocation"): _any(P.UPDATE_AGENTS),  # who can end all tasks of a machine
    ("delete", "model"): _any(P.DELETE_OTHER_USER_MODEL_REGISTRY),
    ("create", "token"): _any(P.CREATE_OTHER_TOKEN, P.ADMINISTRATE_TOKEN),
}
"""The need instead, if the thing belongs to another user."""

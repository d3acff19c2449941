"""The roles: sets of permissions, each a superset of the one that it extends.

Numbers and names are the public API's. The permissions are decided here: a viewer reads, an
editor works, a workspace admin also manages the workspace's members.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from determined_master.domain.access.permissions import EVERYTHING, IN_WORKSPACE, P, Permission


class Role(msgspec.Struct, frozen=True):
    id: int
    name: str
    permissions: frozenset[Permission]

    @property
    def is_of_cluster(self) -> bool:
        """Whether it can be given only in the whole cluster: it has cluster permissions."""
        return any(permission.is_of_cluster for permission in self.permissions)

    @property
    def shown_permissions(self) -> frozenset[Permission]:
        """Its permissions; the cluster's config policies are shown to every signed-in user."""
        if P.VIEW_WORKSPACE_CONFIG_POLICIES not in self.permissions:
            return self.permissions
        return self.permissions | {P.VIEW_GLOBAL_CONFIG_POLICIES}


CLUSTER_ADMIN_ID = 1
WORKSPACE_ADMIN_ID = 2
WORKSPACE_CREATOR_ID = 3
VIEWER_ID = 4
EDITOR_ID = 5

_REGISTRY_VIEWER = frozenset({P.VIEW_MODEL_REGISTRY})
_VIEWER = _REGISTRY_VIEWER | {
    P.VIEW_WORKSPACE,
    P.VIEW_PROJECT,
    P.VIEW_EXPERIMENT_METADATA,
    P.VIEW_EXPERIMENT_ARTIFACTS,
    P.VIEW_NSC,
    P.VIEW_TEMPLATES,
    P.VIEW_RESOURCE_QUOTAS,
    P.VIEW_WORKSPACE_CONFIG_POLICIES,
    P.VIEW_WEBHOOKS,
}
_EDITOR_PROJECT_RESTRICTED = _VIEWER | {
    P.CREATE_EXPERIMENT,
    P.UPDATE_EXPERIMENT,
    P.UPDATE_EXPERIMENT_METADATA,
    P.DELETE_EXPERIMENT,
    P.CREATE_NSC,
    P.UPDATE_NSC,
    P.CREATE_MODEL_REGISTRY,
    P.EDIT_MODEL_REGISTRY,
    P.DELETE_MODEL_REGISTRY,
    P.DELETE_MODEL_VERSION,
    P.CREATE_TEMPLATES,
    P.UPDATE_TEMPLATES,
    P.DELETE_TEMPLATES,
    P.EDIT_WEBHOOKS,
}
_PROJECTS = frozenset({P.CREATE_PROJECT, P.UPDATE_PROJECT, P.DELETE_PROJECT})
_EDITOR_RESTRICTED = (_EDITOR_PROJECT_RESTRICTED | _PROJECTS) - {P.CREATE_NSC, P.UPDATE_NSC}
_EDITOR = _EDITOR_PROJECT_RESTRICTED | _PROJECTS
# An account of the machines belongs to somebody: only who manages users gives it to tasks.
_WORKSPACE_ADMIN = IN_WORKSPACE - {P.SET_WORKSPACE_AGENT_USER_GROUP}

ROLES: Mapping[int, Role] = {
    role.id: role
    for role in (
        Role(CLUSTER_ADMIN_ID, "ClusterAdmin", EVERYTHING),
        Role(WORKSPACE_ADMIN_ID, "WorkspaceAdmin", _WORKSPACE_ADMIN),
        Role(WORKSPACE_CREATOR_ID, "WorkspaceCreator", frozenset({P.CREATE_WORKSPACE})),
        Role(VIEWER_ID, "Viewer", _VIEWER),
        Role(EDITOR_ID, "Editor", _EDITOR),
        Role(6, "ModelRegistryViewer", _REGISTRY_VIEWER),
        Role(7, "EditorRestricted", _EDITOR_RESTRICTED),
        Role(8, "EditorProjectRestricted", _EDITOR_PROJECT_RESTRICTED),
        Role(9, "TokenCreator", frozenset({P.CREATE_TOKEN, P.UPDATE_TOKEN, P.VIEW_TOKEN})),
    )
}
"""By id."""


def by_name(*, with_cluster: bool = True) -> list[Role]:
    """Roles sorted by name; without `with_cluster`, those that can be given in a workspace."""
    found = [role for role in ROLES.values() if with_cluster or not role.is_of_cluster]
    return sorted(found, key=lambda role: role.name)

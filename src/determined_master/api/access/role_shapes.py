"""Roles and their assignments as the API shows them, and the meaning of its requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from determined_master.domain.access.permissions import Permission as Allowed
from determined_master.domain.access.roles import ROLES, Role
from determined_master.domain.errors import InvalidArgument
from determined_master.records.access import AssignmentRow
from determined_wire.rest import roles as wire
from determined_wire.rest.types import rbac


@cache
def role_message(role: Role) -> rbac.Role:
    """A role with its permissions, by their numbers."""
    return rbac.Role(
        role_id=role.id,
        name=role.name,
        permissions=[_permission(p) for p in sorted(role.shown_permissions)],
        scope_type_mask=rbac.ScopeTypeMask(cluster=True, workspace=not role.is_of_cluster),
    )


def assigned_message(role: Role, rows: Sequence[AssignmentRow]) -> rbac.RoleWithAssignments:
    """A role with those who have it."""
    return rbac.RoleWithAssignments(
        role=role_message(role),
        group_role_assignments=[
            rbac.GroupRoleAssignment(group_id=row.group_id, role_assignment=_assignment(row))
            for row in rows
            if row.group_id is not None
        ],
        user_role_assignments=[
            rbac.UserRoleAssignment(user_id=row.user_id, role_assignment=_assignment(row))
            for row in rows
            if row.user_id is not None
        ],
    )


def summaries(rows: Sequence[AssignmentRow]) -> list[rbac.RoleAssignmentSummary]:
    """For each role, where it holds."""
    return [
        rbac.RoleAssignmentSummary(
            role_id=role_id,
            scope_workspace_ids=sorted(
                {r.workspace_id for r in rows if r.role_id == role_id and r.workspace_id}
            ),
            scope_cluster=any(r.role_id == role_id and r.workspace_id is None for r in rows),
        )
        for role_id in dict.fromkeys(row.role_id for row in rows)
        if role_id in ROLES
    ]


def rows_of(
    request: wire.AssignRolesRequest | wire.RemoveAssignmentsRequest,
) -> list[AssignmentRow]:
    """The assignments that a request names.

    Raises:
        InvalidArgument: one has no role, or both a workspace and the cluster.
    """
    made = []
    for group in request.group_role_assignments:
        role_id, workspace_id = _scope(group.role_assignment)
        made.append(
            AssignmentRow(role_id=role_id, group_id=group.group_id, workspace_id=workspace_id)
        )
    for user in request.user_role_assignments:
        role_id, workspace_id = _scope(user.role_assignment)
        made.append(
            AssignmentRow(role_id=role_id, user_id=user.user_id, workspace_id=workspace_id)
        )
    return made


def _scope(given: rbac.RoleAssignment | None) -> tuple[int, int | None]:
    if given is None or given.role is None:
        raise InvalidArgument("a role assignment names no role: give role.roleId")
    if given.scope_cluster and given.scope_workspace_id:
        raise InvalidArgument(
            "a role assignment has scopeCluster and scopeWorkspaceId: give one of them"
        )
    return given.role.role_id, given.scope_workspace_id or None


def _assignment(row: AssignmentRow) -> rbac.RoleAssignment:
    return rbac.RoleAssignment(
        role=role_message(ROLES[row.role_id]),
        scope_workspace_id=row.workspace_id,
        scope_cluster=row.workspace_id is None,
    )


def _permission(permission: Allowed) -> rbac.Permission:
    return rbac.Permission(
        id=rbac.PermissionType[f"PERMISSION_TYPE_{permission.name}"],
        name=permission.title,
        scope_type_mask=rbac.ScopeTypeMask(cluster=True, workspace=not permission.is_of_cluster),
    )

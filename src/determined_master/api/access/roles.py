"""Routes of roles and their assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from determined_master.api.access.role_shapes import (
    assigned_message,
    role_message,
    rows_of,
    summaries,
)
from determined_master.api.access.user_shapes import group_message, user_message
from determined_master.api.http.access import FILTERED, IN_SERVICE, SIGNED_IN, on
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import IDENTIFIES, READS
from determined_master.api.shapes import pagination
from determined_master.domain.access.roles import ROLES
from determined_master.domain.access.rules import Caller
from determined_master.records.access import AssignmentRow
from determined_master.records.audit import ChangedUsers
from determined_master.services.access.roles import Roles
from determined_wire.rest import roles as wire
from determined_wire.rest.types.rbac import Role


async def permissions_message(caller: Caller, roles: Roles) -> wire.GetPermissionsSummaryResponse:
    """Permissions of a caller, by place."""
    found = await roles.summary(caller)
    return wire.GetPermissionsSummaryResponse(roles=_roles(found), assignments=summaries(found))


@route("GET", "/api/v1/permissions/summary", access=SIGNED_IN, in_task=IDENTIFIES)
async def get_permissions_summary(
    call: Call, request: wire.GetPermissionsSummaryRequest, roles: Roles
) -> wire.GetPermissionsSummaryResponse:
    """The caller's permissions, by place."""
    return await permissions_message(call.caller, roles)


@route("GET", "/api/v1/roles/workspace/{workspace_id}", access=on("workspace", "workspace_id"))
async def get_groups_and_users_assigned_to_workspace(
    call: Call, request: wire.GetGroupsAndUsersAssignedToWorkspaceRequest, roles: Roles
) -> wire.GetGroupsAndUsersAssignedToWorkspaceResponse:
    """The holders of roles in a workspace."""
    found = await roles.in_workspace(call.caller, request.workspace_id, request.name)
    return wire.GetGroupsAndUsersAssignedToWorkspaceResponse(
        groups=[group_message(*one) for one in found.groups],
        users_assigned_directly=[user_message(row) for row in found.users],
        assignments=[assigned_message(*one) for one in found.assigned],
    )


@route("POST", "/api/v1/roles/search/by-ids", access=FILTERED)
async def get_roles_by_id(
    call: Call, request: wire.GetRolesByIDRequest, roles: Roles
) -> wire.GetRolesByIDResponse:
    """Roles, and the users and groups that have them."""
    found = await roles.by_ids(call.caller, request.role_ids)
    return wire.GetRolesByIDResponse(roles=[assigned_message(*one) for one in found])


@route("GET", "/api/v1/roles/search/by-user/{user_id}", access=FILTERED)
async def get_roles_assigned_to_user(
    call: Call, request: wire.GetRolesAssignedToUserRequest, roles: Roles
) -> wire.GetRolesAssignedToUserResponse:
    """The roles of a user, by their groups too."""
    found = await roles.of_user(call.caller, request.user_id)
    return wire.GetRolesAssignedToUserResponse(roles=[assigned_message(*one) for one in found])


@route("GET", "/api/v1/roles/search/by-group/{group_id}", access=FILTERED)
async def get_roles_assigned_to_group(
    call: Call, request: wire.GetRolesAssignedToGroupRequest, roles: Roles
) -> wire.GetRolesAssignedToGroupResponse:
    """The roles of a group."""
    found = await roles.of_group(call.caller, request.group_id)
    return wire.GetRolesAssignedToGroupResponse(roles=_roles(found), assignments=summaries(found))


@route("POST", "/api/v1/roles/search/by-assignability", access=SIGNED_IN)
async def search_roles_assignable_to_scope(
    call: Call, request: wire.SearchRolesAssignableToScopeRequest, roles: Roles
) -> wire.SearchRolesAssignableToScopeResponse:
    """Roles that can be given in a workspace, or in the cluster."""
    found, page = await roles.list_all(
        call.caller,
        offset=request.offset,
        limit=request.limit,
        for_workspace=bool(request.workspace_id),
    )
    return wire.SearchRolesAssignableToScopeResponse(
        pagination=pagination(page), roles=[role_message(role) for role in found]
    )


@route("POST", "/api/v1/roles/search", access=SIGNED_IN, in_task=READS)
async def list_roles(
    call: Call, request: wire.ListRolesRequest, roles: Roles
) -> wire.ListRolesResponse:
    """All roles by name."""
    found, page = await roles.list_all(call.caller, offset=request.offset, limit=request.limit)
    return wire.ListRolesResponse(
        roles=[role_message(role) for role in found], pagination=pagination(page)
    )


def _assigned(
    request: wire.AssignRolesRequest | wire.RemoveAssignmentsRequest, answer: Any
) -> ChangedUsers:
    return ChangedUsers([one.user_id for one in request.user_role_assignments])


@route("POST", "/api/v1/roles/add-assignments", access=IN_SERVICE, changed_users=_assigned)
async def assign_roles(
    call: Call, request: wire.AssignRolesRequest, roles: Roles
) -> wire.AssignRolesResponse:
    """Give roles to users and groups."""
    await roles.assign(call.caller, rows_of(request))
    return wire.AssignRolesResponse()


@route("POST", "/api/v1/roles/remove-assignments", access=IN_SERVICE, changed_users=_assigned)
async def remove_assignments(
    call: Call, request: wire.RemoveAssignmentsRequest, roles: Roles
) -> wire.RemoveAssignmentsResponse:
    """Take roles away from users and groups."""
    await roles.remove(call.caller, rows_of(request))
    return wire.RemoveAssignmentsResponse()


def _roles(found: Sequence[AssignmentRow]) -> list[Role]:
    ids = dict.fromkeys(row.role_id for row in found)
    return [role_message(ROLES[i]) for i in ids if i in ROLES]

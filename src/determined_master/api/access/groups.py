"""Routes of user groups."""

from __future__ import annotations

from determined_master.api.access.user_shapes import group_message
from determined_master.api.http.access import FILTERED, IN_SERVICE
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import pagination
from determined_master.services.access.groups import Groups
from determined_wire.rest.groups import (
    CreateGroupRequest,
    CreateGroupResponse,
    DeleteGroupRequest,
    DeleteGroupResponse,
    GetGroupRequest,
    GetGroupResponse,
    GetGroupsRequest,
    GetGroupsResponse,
    UpdateGroupRequest,
    UpdateGroupResponse,
)
from determined_wire.rest.types.group import Group, GroupSearchResult
from determined_wire.rest.users import AssignMultipleGroupsRequest, AssignMultipleGroupsResponse


@route("POST", "/api/v1/groups/search", access=FILTERED, in_task=READS)
async def get_groups(call: Call, request: GetGroupsRequest, groups: Groups) -> GetGroupsResponse:
    """Groups by name and by member."""
    found, page = await groups.search(
        call.caller, request.name, request.user_id, offset=request.offset, limit=request.limit
    )
    return GetGroupsResponse(
        groups=[
            GroupSearchResult(
                group=Group(group_id=row.id, name=row.name), num_members=row.num_members
            )
            for row in found
        ],
        pagination=pagination(page),
    )


@route("GET", "/api/v1/groups/{group_id}", access=IN_SERVICE)
async def get_group(call: Call, request: GetGroupRequest, groups: Groups) -> GetGroupResponse:
    """One group with its members."""
    found = await groups.get(call.caller, request.group_id)
    return GetGroupResponse(group=group_message(*found))


@route("POST", "/api/v1/groups", access=IN_SERVICE)
async def create_group(
    call: Call, request: CreateGroupRequest, groups: Groups
) -> CreateGroupResponse:
    """Make a group."""
    made = await groups.create(call.caller, request.name, request.add_users)
    return CreateGroupResponse(group=group_message(*made))


@route("PUT", "/api/v1/groups/{group_id}", access=IN_SERVICE)
async def update_group(
    call: Call, request: UpdateGroupRequest, groups: Groups
) -> UpdateGroupResponse:
    """Rename a group, or change its members."""
    changed = await groups.change(
        call.caller,
        request.group_id,
        name=request.name,
        add=request.add_users,
        remove=request.remove_users,
    )
    return UpdateGroupResponse(group=group_message(*changed))


@route("DELETE", "/api/v1/groups/{group_id}", access=IN_SERVICE)
async def delete_group(
    call: Call, request: DeleteGroupRequest, groups: Groups
) -> DeleteGroupResponse:
    """Forget a group with the roles that it has."""
    await groups.delete(call.caller, request.group_id)
    return DeleteGroupResponse()


@route("PATCH", "/api/v1/users/assignments", access=IN_SERVICE)
async def assign_multiple_groups(
    call: Call, request: AssignMultipleGroupsRequest, groups: Groups
) -> AssignMultipleGroupsResponse:
    """Put users into groups and take them out of others."""
    await groups.assign(call.caller, request.user_ids, request.add_groups, request.remove_groups)
    return AssignMultipleGroupsResponse()

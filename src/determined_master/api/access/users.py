"""Users and the settings of their interface."""

from __future__ import annotations

from typing import Any

from determined_master.api.access.user_shapes import change_of, change_of_new, user_message
from determined_master.api.http.access import IN_SERVICE, SIGNED_IN, of_task
from determined_master.api.http.routes import Call, plain_route, route
from determined_master.api.http.task_use import IDENTIFIES, READS
from determined_master.api.shapes import pagination
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import InvalidArgument
from determined_master.records.access import UserFilter, UserRow
from determined_master.records.audit import ChangedUsers
from determined_master.services.access.users import ListOrder, UserChange, Users
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.user import UserWebSetting
from determined_wire.rest.users import (
    GetMeRequest,
    GetMeResponse,
    GetUserByUsernameRequest,
    GetUserByUsernameResponse,
    GetUserRequest,
    GetUserResponse,
    GetUserSettingRequest,
    GetUserSettingResponse,
    GetUsersRequest,
    GetUsersRequestSortBy,
    GetUsersResponse,
    PatchUserRequest,
    PatchUserResponse,
    PatchUsersRequest,
    PatchUsersResponse,
    PostUserRequest,
    PostUserResponse,
    PostUserSettingRequest,
    PostUserSettingResponse,
    ResetUserSettingRequest,
    ResetUserSettingResponse,
    SetUserPasswordRequest,
    SetUserPasswordResponse,
    UserActionResult,
)

SORTS = {
    GetUsersRequestSortBy.SORT_BY_UNSPECIFIED: "id",
    GetUsersRequestSortBy.SORT_BY_DISPLAY_NAME: "display_name",
    GetUsersRequestSortBy.SORT_BY_USER_NAME: "username",
    GetUsersRequestSortBy.SORT_BY_ADMIN: "admin",
    GetUsersRequestSortBy.SORT_BY_ACTIVE: "active",
    GetUsersRequestSortBy.SORT_BY_MODIFIED_TIME: "modified_at",
    GetUsersRequestSortBy.SORT_BY_NAME: "name",
    GetUsersRequestSortBy.SORT_BY_LAST_AUTH_TIME: "last_auth_at",
    GetUsersRequestSortBy.SORT_BY_REMOTE: "remote",
}


@route("GET", "/api/v1/me", access=SIGNED_IN, task=of_task(), in_task=IDENTIFIES)
async def get_me(call: Call, request: GetMeRequest, users: Users) -> GetMeResponse:
    """The caller."""
    return GetMeResponse(user=user_message(await users.me(call.caller)))


@route("GET", "/api/v1/users", access=SIGNED_IN, in_task=READS)
async def get_users(call: Call, request: GetUsersRequest, users: Users) -> GetUsersResponse:
    """Users by filter, all of them without a limit."""
    found, page = await users.list_all(
        call.caller,
        UserFilter(
            request.name,
            request.active,
            request.admin,
            request.role_id_assigned_directly_to_user,
        ),
        ListOrder(
            SORTS[request.sort_by],
            request.order_by is OrderBy.ORDER_BY_DESC,
            request.offset,
            request.limit,
        ),
    )
    return GetUsersResponse(
        users=[user_message(row) for row in found], pagination=pagination(page)
    )


@route("GET", "/api/v1/users/{user_id}", access=SIGNED_IN, in_task=READS)
async def get_user(call: Call, request: GetUserRequest, users: Users) -> GetUserResponse:
    """One user by id."""
    return GetUserResponse(user=user_message(await users.get(call.caller, request.user_id)))


@route("GET", "/api/v1/users/{username}/by-username", access=SIGNED_IN, in_task=READS)
async def get_user_by_username(
    call: Call, request: GetUserByUsernameRequest, users: Users
) -> GetUserByUsernameResponse:
    """One user by name."""
    row = await users.get_by_name(call.caller, request.username)
    return GetUserByUsernameResponse(user=user_message(row))


@route("POST", "/api/v1/users", access=IN_SERVICE)
async def post_user(call: Call, request: PostUserRequest, users: Users) -> PostUserResponse:
    """Make a user; for admins."""
    if request.user is None:
        raise InvalidArgument("must specify user to create")
    new = change_of_new(request.user, request.password, is_hashed=request.is_hashed)
    return PostUserResponse(user=user_message(await users.create(call.caller, new)))


@route("PATCH", "/api/v1/users/{user_id}", access=IN_SERVICE)
async def patch_user(call: Call, request: PatchUserRequest, users: Users) -> PatchUserResponse:
    """Change a user; the body is the changed fields themselves."""
    change = UserChange() if request.user is None else change_of(request.user)
    row = await users.patch(call.caller, request.user_id, change)
    return PatchUserResponse(user=user_message(row))


def _activated(request: PatchUsersRequest, answer: PatchUsersResponse) -> ChangedUsers:
    ids = [result.id for result in answer.results if not result.error]
    return ChangedUsers(ids, "activated" if request.activate else "deactivated")


@route("PATCH", "/api/v1/users", access=IN_SERVICE, changed_users=_activated)
async def patch_users(call: Call, request: PatchUsersRequest, users: Users) -> PatchUsersResponse:
    """Activate or deactivate several users; each item reports its own result."""
    ids = list(request.user_ids)
    if request.filters is not None:
        wanted = UserFilter(request.filters.name, None, request.filters.admin)
        found, _ = await users.list_all(call.caller, wanted, ListOrder())
        ids = [row.id for row in found]
    results = await users.activate(call.caller, ids, is_active=request.activate)
    items = [UserActionResult(id=user_id, error=error) for user_id, error in results]
    return PatchUsersResponse(results=items)


@route("POST", "/api/v1/users/{user_id}/password", access=IN_SERVICE)
async def set_user_password(
    call: Call, request: SetUserPasswordRequest, users: Users
) -> SetUserPasswordResponse:
    """Set a password, given in the clear as a bare string; it ends the user's sessions."""
    change = UserChange(password=request.password)
    row = await users.patch(call.caller, request.user_id, change)
    return SetUserPasswordResponse(user=user_message(row))


@route("GET", "/api/v1/users/setting", access=SIGNED_IN)
async def get_user_setting(
    call: Call, request: GetUserSettingRequest, users: Users
) -> GetUserSettingResponse:
    """The caller's settings of the web interface."""
    return await settings_message(call.caller, users)


@route("POST", "/api/v1/users/setting", access=SIGNED_IN)
async def post_user_setting(
    call: Call, request: PostUserSettingRequest, users: Users
) -> PostUserSettingResponse:
    """Store settings; one without a value is forgotten."""
    items = [(s.key, s.storage_path, s.value) for s in request.settings]
    await users.update_settings(call.caller, items)
    return PostUserSettingResponse()


@route("POST", "/api/v1/users/setting/reset", access=SIGNED_IN)
async def reset_user_setting(
    call: Call, request: ResetUserSettingRequest, users: Users
) -> ResetUserSettingResponse:
    """Forget all settings of the caller."""
    await users.reset_settings(call.caller)
    return ResetUserSettingResponse()


@plain_route("GET", "/users/me", access=SIGNED_IN, in_task=IDENTIFIES)
async def plain_me(call: Call, users: Users) -> dict[str, Any]:
    """The caller, as older clients read it."""
    return _plain_user(await users.me(call.caller))


@plain_route("GET", "/users", access=SIGNED_IN, in_task=READS)
async def plain_users(call: Call, users: Users) -> list[dict[str, Any]]:
    """All users, as older clients read them."""
    found, _ = await users.list_all(call.caller, UserFilter(), ListOrder())
    return [_plain_user(row) for row in found]


async def settings_message(caller: Caller, users: Users) -> GetUserSettingResponse:
    """The caller's settings of the web interface, as their route answers."""
    stored = await users.settings(caller)
    return GetUserSettingResponse(
        settings=[UserWebSetting(key=k, storage_path=p, value=v) for k, p, v in stored]
    )


def _plain_user(row: UserRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "display_name": row.display_name or None,
        "username": row.username,
        "name": "",
        "admin": row.admin,
        "active": row.active,
        "modified_at": row.modified_at,
        "remote": row.remote,
        "last_auth_at": row.last_auth_at,
        "agent_uid": row.agent_uid,
        "agent_gid": row.agent_gid,
        "agent_user": row.agent_user,
        "agent_group": row.agent_group,
    }

"""Rows of users as the API shows them, and the meaning of its requests."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.api.shapes import struct_of
from determined_master.records.access import GroupRow, UserRow
from determined_master.records.workspaces import WorkspaceRow
from determined_master.services.access.users import UserChange
from determined_wire.rest.types.group import GroupDetails
from determined_wire.rest.types.user import AgentUserGroup, PatchUser, User


def user_message(row: UserRow) -> User:
    """A user."""
    return struct_of(User, row, agent_user_group=agent_group_message(row))


def agent_group_message(row: UserRow | WorkspaceRow) -> AgentUserGroup | None:
    """The account of a user's or workspace's tasks on agents; None where nothing is set."""
    if row.agent_uid is None and row.agent_gid is None:
        return None
    return struct_of(AgentUserGroup, row)


def agent_fields(group: AgentUserGroup | None) -> dict[str, object] | None:
    """The fields of a request by name; None for fields that it omits."""
    return None if group is None else msgspec.structs.asdict(group)


def group_message(row: GroupRow, members: Sequence[UserRow]) -> GroupDetails:
    """A group with its members."""
    return GroupDetails(
        group_id=row.id, name=row.name, users=[user_message(member) for member in members]
    )


def change_of(patch: PatchUser) -> UserChange:
    """The change in a PATCH."""
    return struct_of(UserChange, patch, agent=agent_fields(patch.agent_user_group))


def change_of_new(user: User, password: str, *, is_hashed: bool) -> UserChange:
    """What making a user asks for."""
    return struct_of(
        UserChange,
        user,
        password=password or None,
        is_hashed=is_hashed,
        agent=agent_fields(user.agent_user_group),
    )

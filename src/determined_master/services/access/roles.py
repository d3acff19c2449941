"""Use cases of roles and their assignments.

Roles can be given also while `security.authz.type` is `basic`: they decide once it is `rbac`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.access.roles import (
    CLUSTER_ADMIN_ID,
    ROLES,
    WORKSPACE_ADMIN_ID,
    WORKSPACE_CREATOR_ID,
    Role,
    by_name,
)
from determined_master.domain.errors import AlreadyExists, InvalidArgument, NotFound
from determined_master.domain.listing.paging import Page, page_of
from determined_master.records.access import AssignmentRow
from determined_master.services.access.groups import check_limit
from determined_master.services.access.groups import missing as missing_group
from determined_master.store.access import groups, users
from determined_master.store.access import roles as rows
from determined_master.store.workspaces import workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.access import GroupRow, UserRow
    from determined_master.services.access.identities import Identities
    from determined_master.store.db import Conn, Database

Assigned = tuple[Role, list[AssignmentRow]]
"""A role, and some of those who have it."""


class Members(msgspec.Struct, frozen=True):
    """The holders of roles in a workspace."""

    groups: Sequence[tuple[GroupRow, list[UserRow]]]
    users: Sequence[UserRow]
    assigned: Sequence[Assigned]


class Roles:
    """Roles and their assignments."""

    def __init__(
        self, db: Database, identities: Identities, creator_role_id: int | None = None
    ) -> None:
        """`creator_role_id` is the role of a workspace's creator in it; None for none."""
        self._db = db
        self._identities = identities
        self._creator_role_id = creator_role_id

    async def list_all(
        self, caller: Caller, *, offset: int, limit: int, for_workspace: bool = False
    ) -> tuple[list[Role], Page]:
        """Roles by name; for a workspace only those that can be given in one.

        Raises:
            InvalidArgument: the limit is not 1 to 500.
        """
        access.may(caller, "read", "role")
        check_limit(limit)
        found = by_name(with_cluster=not for_workspace)
        page = page_of(len(found), offset, limit)
        return found[page.start : page.end], page

    async def by_ids(self, caller: Caller, role_ids: Sequence[int]) -> list[Assigned]:
        """Roles by their ids, each with those of its assignments that the caller may see.

        Raises:
            NotFound: there is no such role.
        """
        access.may(caller, "read", "role")
        chosen = [_role(role_id) for role_id in dict.fromkeys(role_ids)]
        async with self._db.acquire() as conn:
            found = await rows.list_of_roles(conn, [role.id for role in chosen])
        known = [a for a in found if _may_know(caller, a)]
        return [(role, [a for a in known if a.role_id == role.id]) for role in chosen]

    async def of_user(self, caller: Caller, user_id: int) -> list[Assigned]:
        """The roles of a user, their own and by their groups.

        Raises:
            NotFound: there is no such user.
        """
        access.may(caller, "read", "role")
        async with self._db.acquire() as conn:
            if await users.find_user(conn, user_id) is None:
                raise NotFound("user not found")
            found = await rows.list_of_user(conn, user_id)
        is_own = user_id == caller.user_id
        return _by_role([a for a in found if is_own or _may_know(caller, a)])

    async def of_group(self, caller: Caller, group_id: int) -> list[AssignmentRow]:
        """The roles of a group.

        Raises:
            NotFound: there is no such group.
        """
        access.may(caller, "read", "role")
        async with self._db.acquire() as conn:
            if await groups.find_group(conn, group_id) is None:
                raise missing_group(group_id)
            found = await rows.list_of_group(conn, group_id)
            members = (await groups.list_members(conn, [group_id]))[group_id]
        is_own = caller.user_id in {member.id for member in members}
        return [a for a in found if is_own or _may_know(caller, a)]

    async def in_workspace(self, caller: Caller, workspace_id: int, name: str) -> Members:
        """Holders of roles in just this workspace; a name restricts it to users and groups with
        that text in theirs.

        Raises:
            NotFound: there is no such workspace.
        """
        absent = f"workspace '{workspace_id}' not found"
        access.may_see(caller, "workspace", workspace_id, absent)
        wanted = name.lower()
        async with self._db.acquire() as conn:
            if await workspaces.find_workspace(conn, workspace_id, caller.user_id) is None:
                raise NotFound(absent)
            found = await rows.list_in_workspace(conn, workspace_id)
            direct = await users.list_users_of(conn, [a.user_id for a in found if a.user_id])
            ids = sorted({a.group_id for a in found if a.group_id})
            members = await groups.list_members(conn, ids)
            named = {i: await groups.find_group(conn, i) for i in ids}
        kept_users = [
            u for u in direct if wanted in u.username.lower() or wanted in u.display_name.lower()
        ]
        kept_groups = [
            (g, members[g.id]) for g in named.values() if g and wanted in g.name.lower()
        ]
        user_ids = {user.id for user in kept_users}
        group_ids = {group.id for group, _ in kept_groups}
        kept = [a for a in found if a.user_id in user_ids or a.group_id in group_ids]
        return Members(kept_groups, kept_users, _by_role(kept))

    async def summary(self, caller: Caller) -> list[AssignmentRow]:
        """The caller's roles; a caller who may do everything has ClusterAdmin.

        Without roles, users are shown with the roles of what an open cluster allows to all.
        """
        access.may(caller, "read", "role")
        whole = [AssignmentRow(role_id=CLUSTER_ADMIN_ID, user_id=caller.user_id)]
        if caller.rights is None:
            open_to_all = (WORKSPACE_ADMIN_ID, WORKSPACE_CREATOR_ID)
            every = [AssignmentRow(role_id=i, user_id=caller.user_id) for i in open_to_all]
            return whole if caller.is_admin else every
        async with self._db.acquire() as conn:
            found = await rows.list_of_user(conn, caller.user_id)
        has_whole = any(a.role_id == CLUSTER_ADMIN_ID and a.workspace_id is None for a in found)
        return found if has_whole or not caller.is_admin else [*whole, *found]

    async def assign(self, caller: Caller, new: Sequence[AssignmentRow]) -> None:
        """Give roles; all of them or none.

        Raises:
            InvalidArgument: none is named, or one that only the cluster can give is given in a
                workspace.
            NotFound: no such role, user, group or workspace.
            PermissionDenied: the caller may not give roles there.
            AlreadyExists: one of them is assigned already.
        """
        access.may(caller, "assign", "role")
        _check_some(new)
        self._check_rights(caller, new)
        for assignment in new:
            role = _role(assignment.role_id)
            if role.is_of_cluster and assignment.workspace_id is not None:
                raise InvalidArgument(
                    f"role {role.name} cannot be given in a single workspace: it holds "
                    "permissions of the whole cluster; give it without a workspace"
                )
        async with self._db.acquire() as conn, conn.transaction():
            try:
                await rows.insert_assignments(conn, new)
            except asyncpg.UniqueViolationError:
                raise AlreadyExists(
                    "one of these roles is given already: row already exists; look at the user's "
                    "or group's roles"
                ) from None
            except asyncpg.ForeignKeyViolationError:
                raise NotFound(
                    "one of the users, groups or workspaces of these roles was not found"
                ) from None
        self._identities.forget_rights()

    async def remove(self, caller: Caller, gone: Sequence[AssignmentRow]) -> None:
        """Take roles away, all of them or none; it takes effect with the next request.

        Raises:
            InvalidArgument: none is named. NotFound: one is not assigned.
            PermissionDenied: the caller may not take roles away there.
        """
        access.may(caller, "assign", "role")
        _check_some(gone)
        self._check_rights(caller, gone)
        wanted = list(dict.fromkeys(gone))
        async with self._db.acquire() as conn, conn.transaction():
            if await rows.delete_assignments(conn, wanted) < len(wanted):
                raise NotFound(
                    "one of these assignments of roles was not found: look at who has it where"
                )
        self._identities.forget_rights()

    async def welcome(self, conn: Conn, user_id: int, workspace_id: int) -> None:
        """Give the maker of a workspace their role in it; `forget` is called after the commit."""
        if self._creator_role_id is not None:
            row = AssignmentRow(
                role_id=self._creator_role_id, user_id=user_id, workspace_id=workspace_id
            )
            await rows.insert_assignments(conn, [row])

    def forget(self) -> None:
        """Roles were changed: they count from the next request on."""
        self._identities.forget_rights()

    def _check_rights(self, caller: Caller, assignments: Sequence[AssignmentRow]) -> None:
        for assignment in assignments:
            where = assignment.workspace_id
            if where is not None:
                absent = f"workspace '{where}' not found"
                access.may_see(caller, "workspace", where, absent)
            access.may(caller, "assign", "role", workspace_id=where or access.NOWHERE)


def _check_some(assignments: Sequence[AssignmentRow]) -> None:
    if not assignments:
        raise InvalidArgument("must provide at least one group or user role assignment")


def _role(role_id: int) -> Role:
    if role_id not in ROLES:
        raise NotFound(f"role '{role_id}' not found; there are 1 to {max(ROLES)}")
    return ROLES[role_id]


def _may_know(caller: Caller, assignment: AssignmentRow) -> bool:
    """Whether the caller may see who has this role: they assign roles there, or see the place."""
    where = assignment.workspace_id
    if access.can(caller, "assign", "role", workspace_id=where or access.NOWHERE):
        return True
    if assignment.user_id == caller.user_id:
        return True
    return where is not None and access.can(caller, "read", "workspace", workspace_id=where)


def _by_role(found: Sequence[AssignmentRow]) -> list[Assigned]:
    ids = [i for i in dict.fromkeys(a.role_id for a in found) if i in ROLES]
    return [(ROLES[i], [a for a in found if a.role_id == i]) for i in ids]

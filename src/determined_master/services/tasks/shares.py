"""Use cases of sharing notebooks and shells with other users than their owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.access.rights import rights_of
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import InvalidArgument, NotFound, PermissionDenied
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.records.tasks import InteractiveRow, ShareRow
from determined_master.store.access.roles import list_grants
from determined_master.store.access.users import find_user_by_name
from determined_master.store.tasks import shares as rows
from determined_master.store.tasks.interactive_tasks import find_interactive_task

if TYPE_CHECKING:
    from determined_master.records.access import UserRow
    from determined_master.services.tasks.shell_visits import ShellVisits
    from determined_master.store.db import Conn, Database

MAX_SHARES = 100
REFUSAL = "only its owner or an admin decides who else may enter a notebook or a shell"
_Ids = tuple[list[int], list[int]]


class ShareNames(msgspec.Struct, frozen=True, kw_only=True):
    """Names of users and of groups."""

    users: Sequence[str] = ()
    groups: Sequence[str] = ()


class Entrances(NamedTuple):
    """What interactive tasks need to decide who gets their keys, and to remember it."""

    shares: TaskShares
    visits: ShellVisits


class TaskShares:
    """Shares of all tasks."""

    def __init__(self, db: Database, *, has_roles: bool = False) -> None:
        """`has_roles`: whether users see only some of the workspaces."""
        self._db = db
        self._has_roles = has_roles

    async def lets_in(self, caller: Caller, task_id: str) -> bool:
        """Whether a task is shared with the caller, or with a group of theirs."""
        if caller.scope is not None or not access.can(caller, "read", "task"):
            return False
        async with self._db.acquire() as conn:
            return await rows.has_share(conn, task_id, caller.user_id)

    async def was_shared(self, task_id: str) -> bool:
        """Whether others than its owner could have copied the own token of a notebook.

        It is then no proof of access any more: the share may be revoked, its holder have left the
        group or lost the role.
        """
        async with self._db.acquire() as conn:
            return await rows.was_shared(conn, task_id)

    async def list_of(self, caller: Caller, task_id: str) -> list[ShareRow]:
        """The users and groups that may enter a task besides its owner.

        Raises:
            NotFound: there is no such notebook or shell.
            PermissionDenied: the caller neither owns it nor is an admin.
        """
        async with self._db.acquire() as conn:
            await _shared_task(conn, caller, task_id)
            return await rows.list_shares(conn, task_id)

    async def share(self, caller: Caller, task_id: str, names: ShareNames) -> list[ShareRow]:
        """Give users and groups access; when one of them is refused, none gets it.

        Raises:
            NotFound: there is no such task, user or group.
            InvalidArgument: nobody is named, or too many; or a user does not see the task.
            PermissionDenied: as `list_of`.
        """
        async with self._db.acquire() as conn, conn.transaction():
            task = await _shared_task(conn, caller, task_id)
            ids = await self._ids(conn, names, task)
            await rows.insert_shares(conn, task_id, ids, caller.user_id, clock.now())
            count = await rows.count_shares(conn, task_id)
            if count > MAX_SHARES:
                raise InvalidArgument(
                    f"{count} users and groups would share task '{task_id}': at most {MAX_SHARES} "
                    "may; share it with a group"
                )
            return await rows.list_shares(conn, task_id)

    async def revoke(self, caller: Caller, task_id: str, names: ShareNames) -> list[ShareRow]:
        """End the access of users and groups; their open connections are closed.

        Raises:
            NotFound, InvalidArgument, PermissionDenied: as `share`.
        """
        async with self._db.acquire() as conn, conn.transaction():
            await _shared_task(conn, caller, task_id)
            ids = await self._ids(conn, names, None)
            await rows.delete_shares(conn, task_id, ids)
            return await rows.list_shares(conn, task_id)

    async def _ids(self, conn: Conn, names: ShareNames, task: InteractiveRow | None) -> _Ids:
        """Ids of users and groups; with a task, the users must see it."""
        if not names.users and not names.groups:
            raise InvalidArgument("name at least one user or group")
        if len(names.users) + len(names.groups) > MAX_SHARES:
            raise InvalidArgument(f"at most {MAX_SHARES} users and groups at once")
        users = []
        for name in dict.fromkeys(names.users):
            user = await find_user_by_name(conn, name)
            if user is None:
                raise NotFound(f"user '{name}' not found")
            if task is not None:
                await self._check_sees(conn, user, task)
            users.append(user.id)
        groups = await rows.list_groups_named(conn, names.groups)
        missing = next((name for name in names.groups if name not in groups), None)
        if missing is not None:
            raise NotFound(f"group '{missing}' not found")
        return users, sorted(groups.values())

    async def _check_sees(self, conn: Conn, user: UserRow, task: InteractiveRow) -> None:
        if not self._has_roles or user.admin:
            return
        rights = rights_of(await list_grants(conn, user.id))
        reader = Caller(user_id=user.id, username=user.username, rights=rights)
        if not access.can(
            reader, "read", "task", workspace_id=task.workspace_id or access.NOWHERE
        ):
            raise InvalidArgument(
                f"user '{user.username}' has no role that shows workspace "
                f"{task.workspace_id}: assign one first, such as Viewer"
            )


async def _shared_task(conn: Conn, caller: Caller, task_id: str) -> InteractiveRow:
    """The task, if the caller decides who may enter it."""
    access.may(caller, "read", "task")
    row = await find_interactive_task(conn, task_id)
    if row is None:
        raise NotFound(f"notebook or shell '{task_id}' not found")
    kind = TASK_KINDS[row.kind]
    if not kind.is_shared_by_name:
        raise InvalidArgument(
            f"task '{task_id}' is a {kind.word}: only notebooks and shells are shared; whoever "
            "may see a TensorBoard may open it"
        )
    if caller.is_task_session or not (caller.is_admin or access.is_owner(caller, row)):
        raise PermissionDenied(REFUSAL)
    return row

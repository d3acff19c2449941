"""Use cases of user groups: users that get roles together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from determined_master.domain.access import rules as access
from determined_master.domain.errors import AlreadyExists, InvalidArgument, NotFound
from determined_master.domain.listing.paging import Page, page_of
from determined_master.store.access import groups as rows
from determined_master.store.access import users

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.access import GroupRow, UserRow
    from determined_master.services.access.identities import Identities
    from determined_master.store.db import Conn, Database

MAX_LIMIT = 500
MAX_NAME_CHARACTERS = 255
Details = tuple["GroupRow", list["UserRow"]]
"""A group and its members."""


class Groups:
    """Groups of users. A caller without the right to change groups sees only their own."""

    def __init__(self, db: Database, identities: Identities) -> None:
        self._db = db
        self._identities = identities

    async def search(
        self, caller: Caller, name: str, member_id: int, *, offset: int, limit: int
    ) -> tuple[list[GroupRow], Page]:
        """Groups by id, of that name (empty: any) with that member (0: any).

        Raises:
            InvalidArgument: the limit is not 1 to 500.
        """
        access.may(caller, "read", "group")
        check_limit(limit)
        if not access.can(caller, "edit", "group"):
            if member_id not in (0, caller.user_id):
                return [], page_of(0, offset, limit)
            member_id = caller.user_id
        async with self._db.acquire() as conn:
            page = page_of(await rows.count_groups(conn, name, member_id), offset, limit)
            found = await rows.list_groups(conn, name, member_id, start=page.start, end=page.end)
        return found, page

    async def get(self, caller: Caller, group_id: int) -> Details:
        """One group.

        Raises:
            NotFound: no group has that id.
            PermissionDenied: the caller neither changes groups nor is in it.
        """
        access.may(caller, "read", "group")
        async with self._db.acquire() as conn:
            found = await _details(conn, group_id)
        if caller.user_id not in {member.id for member in found[1]}:
            access.may(caller, "edit", "group")
        return found

    async def create(self, caller: Caller, name: str, user_ids: Sequence[int]) -> Details:
        """Make a group.

        Raises:
            AlreadyExists: the name is taken. NotFound: there is no such user.
            InvalidArgument: the name is blank or too long.
        """
        access.may(caller, "edit", "group")
        _check_name(name)
        async with self._db.acquire() as conn, conn.transaction():
            try:
                group_id = await rows.insert_group(conn, name)
            except asyncpg.UniqueViolationError:
                raise AlreadyExists(
                    f"Error creating group {name}: row already exists; choose another name"
                ) from None
            await _add(conn, group_id, list(dict.fromkeys(user_ids)))
            made = await _details(conn, group_id)
        self._identities.forget_rights()
        return made

    async def change(
        self,
        caller: Caller,
        group_id: int,
        *,
        name: str = "",
        add: Sequence[int] = (),
        remove: Sequence[int] = (),
    ) -> Details:
        """Rename a group, or change its members; all of it or nothing.

        Raises:
            NotFound: no such group, or no such user, or one to be removed is not in it.
            AlreadyExists: the name is taken, or one to be added is in it already.
        """
        access.may(caller, "edit", "group")
        async with self._db.acquire() as conn, conn.transaction():
            if await rows.find_group(conn, group_id, is_locked=True) is None:
                raise missing(group_id)
            if name:
                _check_name(name)
                try:
                    await rows.update_name(conn, group_id, name)
                except asyncpg.UniqueViolationError:
                    raise AlreadyExists(
                        f"Error updating group {group_id}: the name {name} is taken: row already "
                        "exists; choose another name"
                    ) from None
            await _add(conn, group_id, list(dict.fromkeys(add)))
            gone = set(remove)
            if await rows.delete_members(conn, [group_id], sorted(gone)) < len(gone):
                raise NotFound(
                    f"Error updating group {group_id}: one of the users {sorted(gone)} was not "
                    "found in it: look at the group again"
                )
            changed = await _details(conn, group_id)
        self._identities.forget_rights()
        return changed

    async def assign(
        self, caller: Caller, user_ids: Sequence[int], add: Sequence[int], remove: Sequence[int]
    ) -> None:
        """Add users to groups and remove them from others; repeating it changes nothing.

        Raises:
            NotFound: there is no such group or user; then nothing is changed.
        """
        access.may(caller, "edit", "group")
        async with self._db.acquire() as conn, conn.transaction():
            known = await rows.list_known(conn, [*add, *remove])
            for group_id in [*add, *remove]:
                if group_id not in known:
                    raise missing(group_id)
            await _check_users(conn, user_ids)
            await rows.insert_members(conn, add, user_ids, is_repeatable=True)
            await rows.delete_members(conn, remove, user_ids)
        self._identities.forget_rights()

    async def delete(self, caller: Caller, group_id: int) -> None:
        """Forget a group; its members lose the roles that it has.

        Raises:
            NotFound: no group has that id.
        """
        access.may(caller, "edit", "group")
        async with self._db.acquire() as conn:
            if not await rows.delete_group(conn, group_id):
                raise missing(group_id)
        self._identities.forget_rights()


def check_limit(limit: int) -> None:
    """Do nothing when a page of groups or roles may have this size.

    Raises:
        InvalidArgument: it is not 1 to 500.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument(f"Bad request: limit is required and must be <= {MAX_LIMIT}")


def missing(group_id: int) -> NotFound:
    """The error text for a group that does not exist."""
    return NotFound(f"Error getting group {group_id}: not found")


async def _details(conn: Conn, group_id: int) -> Details:
    row = await rows.find_group(conn, group_id)
    if row is None:
        raise missing(group_id)
    return row, (await rows.list_members(conn, [group_id]))[group_id]


async def _add(conn: Conn, group_id: int, user_ids: Sequence[int]) -> None:
    await _check_users(conn, user_ids)
    try:
        await rows.insert_members(conn, [group_id], user_ids)
    except asyncpg.UniqueViolationError:
        raise AlreadyExists(
            f"Error updating group {group_id}: one of the users {sorted(user_ids)} is in it: row "
            "already exists; leave that user out"
        ) from None


async def _check_users(conn: Conn, user_ids: Sequence[int]) -> None:
    known = await users.list_known(conn, user_ids)
    for user_id in user_ids:
        if user_id not in known:
            raise NotFound(f"user '{user_id}' not found")


def _check_name(name: str) -> None:
    if not name.strip():
        raise InvalidArgument("a group's name must not be blank: give it some text")
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidArgument(
            f"a group's name has at most {MAX_NAME_CHARACTERS} characters, got {len(name)}"
        )

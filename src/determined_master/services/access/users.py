"""Use cases of users."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.access.rules import Caller
from determined_master.domain.allowances import SETTINGS
from determined_master.domain.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    PermissionDenied,
)
from determined_master.domain.json_depth import MAX_DEPTH, is_too_deep
from determined_master.domain.listing.paging import Page, page_of
from determined_master.domain.workspaces.naming import check_length
from determined_master.records.access import UserFilter, UserRow
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords, new_hashed_form
from determined_master.store.access import sessions
from determined_master.store.access import users as rows
from determined_master.store.db import Conn, Database

NO_SUCH_USER = "user not found"
ONLY_ADMIN_UPDATES = "only admin privileged users can update users"
ONLY_ADMIN_NAMES = "only admin privileged users can set another user's display name"
ONLY_ADMIN_PASSWORDS = "only admin privileged users can change other user's passwords"
PROOF_OF_PASSWORD = timedelta(minutes=10)
"""How long a login proves that its user knows the password."""
LOGIN_FIRST = (
    "your password can be changed within 10 minutes after a login with it: "
    "log in again (det user login {}), then change it"
)
AGENT_FIELDS = ("agent_uid", "agent_gid", "agent_user", "agent_group")


class UserChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a user; None keeps a field."""

    username: str | None = None
    display_name: str | None = None
    admin: bool | None = None
    active: bool | None = None
    remote: bool | None = None
    password: str | None = None
    is_hashed: bool = False
    agent: dict[str, Any] | None = None
    """All of `AGENT_FIELDS`, or None."""


class ListOrder(msgspec.Struct, frozen=True):
    """How to order and cut a list of users; `sort` is a key of `store.users.SORT_COLUMNS`."""

    sort: str = "id"
    is_descending: bool = False
    offset: int = 0
    limit: int = 0


class Users:
    """Users and the settings of their interface."""

    def __init__(self, db: Database, passwords: Passwords, identities: Identities) -> None:
        self._db = db
        self._passwords = passwords
        self._identities = identities

    async def me(self, caller: Caller) -> UserRow:
        """The caller; from memory, since every command of a client asks for it first."""
        access.may(caller, "read", "user", owner_id=caller.user_id)
        return _found(await self._identities.user(caller.user_id))

    async def get(self, caller: Caller, user_id: int) -> UserRow:
        """One user by id."""
        access.may(caller, "read", "user", owner_id=user_id)
        async with self._db.acquire() as conn:
            return _found(await rows.find_user(conn, user_id))

    async def get_by_name(self, caller: Caller, username: str) -> UserRow:
        """One user by name, in any case."""
        access.may(caller, "read", "user")
        async with self._db.acquire() as conn:
            return _found(await rows.find_user_by_name(conn, username))

    async def list_all(
        self, caller: Caller, wanted: UserFilter, order: ListOrder
    ) -> tuple[list[UserRow], Page]:
        """Users by filter; limit 0 is all."""
        access.may(caller, "read", "user")
        async with self._db.acquire() as conn:
            page = page_of(await rows.count_users(conn, wanted), order.offset, order.limit)
            found = await rows.list_users(
                conn,
                wanted,
                sort=order.sort,
                is_descending=order.is_descending,
                start=page.start,
                end=page.end,
            )
        return found, page

    async def create(self, caller: Caller, new: UserChange) -> UserRow:
        """Make a user.

        Raises:
            AlreadyExists: the name is taken.
            InvalidArgument: the password is blank or too short, or the name is bad.
        """
        refusal = "only admin privileged users can create users"
        access.may(caller, "create", "user", refusal=refusal)
        values = await self._values(new)
        if not values.get("remote") and "password_hash" not in values:
            new_hashed_form("", is_hashed=False)
        if not values.get("username"):
            raise InvalidArgument("the user name is empty: its minimum length is 1")
        async with self._db.acquire() as conn, conn.transaction():
            if await rows.find_user_by_name(conn, values["username"]) is not None:
                raise _taken(values["username"])
            if new.display_name:
                await self._check_display_name(conn, 0, values["username"], new.display_name)
            return await rows.insert_user(conn, values, clock.now())

    async def patch(self, caller: Caller, user_id: int, change: UserChange) -> UserRow:
        """Change a user. A new password ends every session of theirs, the caller's own too.

        Raises:
            PermissionDenied: what only an admin may do.
            AlreadyExists: the new name is taken.
            InvalidArgument: a value that cannot be.
        """
        self._check_rights(caller, user_id, change)
        now = clock.now()
        if change.password is not None and user_id == caller.user_id:
            await self._check_login(caller, now)
        values = await self._values(change)
        async with self._db.acquire() as conn, conn.transaction():
            before = _found(await rows.find_user(conn, user_id))
            name = change.username or before.username
            if change.display_name:
                await self._check_display_name(conn, user_id, name, change.display_name)
            try:
                after = _found(await rows.update_user(conn, user_id, values, now))
            except asyncpg.UniqueViolationError as error:
                raise _taken(name) from error
            if "password_hash" in values:
                await sessions.update_all_revoked(conn, user_id, now)
        self._identities.forget_users((user_id,))
        return after

    async def activate(
        self, caller: Caller, user_ids: list[int], *, is_active: bool
    ) -> list[tuple[int, str]]:
        """Let users in or keep them out; for each its id and why it failed, or nothing.

        Cost: one statement.
        """
        try:
            access.may(caller, "configure", "user", refusal=ONLY_ADMIN_UPDATES)
        except PermissionDenied as error:
            return [(user_id, error.text) for user_id in user_ids]
        ids = frozenset(user_ids)
        async with self._db.acquire() as conn:
            changed = await rows.update_active(conn, ids, clock.now(), is_active=is_active)
        self._identities.forget_users(changed)
        return [(user_id, "" if user_id in changed else NO_SUCH_USER) for user_id in user_ids]

    async def settings(self, caller: Caller) -> list[tuple[str, str, str]]:
        """Key, path and JSON text of each of the caller's settings."""
        access.may(caller, "read", "user", owner_id=caller.user_id)
        async with self._db.acquire() as conn:
            stored = await rows.list_settings(conn, caller.user_id)
        return [(key, path, msgspec.json.encode(value).decode()) for key, path, value in stored]

    async def update_settings(self, caller: Caller, items: list[tuple[str, str, str]]) -> None:
        """Store settings (key, path, JSON text); an empty text forgets its setting.

        Raises:
            InvalidArgument: a value is not JSON; nothing was stored.
            ResourceExhausted: the caller would have too many; nothing was stored.
        """
        access.may(caller, "edit", "user", owner_id=caller.user_id)
        async with self._db.acquire() as conn, conn.transaction():
            for key, path, value in items:
                check_length("a setting's key", key)
                check_length("a setting's path", path)
                if value:
                    raw = _json_text(key, value)
                    await rows.update_setting(conn, caller.user_id, key, path, raw)
                else:
                    await rows.delete_setting(conn, caller.user_id, key, path)
            SETTINGS.check(*await rows.measure_settings(conn, caller.user_id))

    async def reset_settings(self, caller: Caller) -> None:
        """Forget all of the caller's settings."""
        access.may(caller, "edit", "user", owner_id=caller.user_id)
        async with self._db.acquire() as conn:
            await rows.delete_settings(conn, caller.user_id)

    async def _check_login(self, caller: Caller, now: datetime) -> None:
        """Require a recent login: it proves that the caller knows the old password.

        Raises:
            PermissionDenied: the caller's token is not of a login, or of an earlier one.
        """
        async with self._db.acquire() as conn:
            since = await sessions.find_login_time(conn, caller.session_id or 0)
        if since is None or now - since > PROOF_OF_PASSWORD:
            raise PermissionDenied(LOGIN_FIRST.format(caller.username))

    def _check_rights(self, caller: Caller, user_id: int, change: UserChange) -> None:
        account = (change.username, change.admin, change.active, change.remote, change.agent)
        if any(value is not None for value in account):
            access.may(caller, "configure", "user", refusal=ONLY_ADMIN_UPDATES)
        if change.display_name is not None:
            access.may(caller, "edit", "user", owner_id=user_id, refusal=ONLY_ADMIN_NAMES)
        if change.password is not None:
            access.may(caller, "edit", "user", owner_id=user_id, refusal=ONLY_ADMIN_PASSWORDS)

    async def _values(self, change: UserChange) -> dict[str, Any]:
        """Columns to write."""
        values: dict[str, Any] = {}
        if change.username is not None:
            if not change.username.strip():
                raise InvalidArgument("the user name is empty: its minimum length is 1")
            values["username"] = check_length("a user's name", change.username).lower()
        for name in ("display_name", "admin", "active", "remote"):
            value = getattr(change, name)
            if value is not None:
                values[name] = value
        if change.password is not None:
            hashed = new_hashed_form(change.password, is_hashed=change.is_hashed)
            values["password_hash"] = await self._passwords.hash(hashed)
        if change.agent is not None:
            missing = [name for name in AGENT_FIELDS if change.agent.get(name) is None]
            if missing:
                raise InvalidArgument(
                    "agentUserGroup needs all of agentUid, agentGid, agentUser, agentGroup:"
                    f" {', '.join(missing)} not given"
                )
            values |= change.agent
        return values

    async def _check_display_name(
        self, conn: Conn, user_id: int, username: str, display_name: str
    ) -> None:
        """A display name must not pass for another user, least of all for the admin."""
        is_taken = await rows.find_namesake(conn, display_name, but=user_id) is not None
        is_admins = display_name.lower() == "admin" and username != "admin"
        if is_taken or is_admins:
            raise InvalidArgument(
                f"can not change display name to {display_name}"
                " found a similar username or display name: choose another"
            )


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"user already exists: {name!r}; choose another name")


def _found(user: UserRow | None) -> UserRow:
    if user is None:
        raise NotFound(NO_SUCH_USER)
    return user


def _json_text(key: str, value: str) -> msgspec.Raw:
    text = value.encode()
    if is_too_deep(text):
        raise InvalidArgument(
            f"the value of setting {key!r} is nested more than {MAX_DEPTH} levels deep: flatten it"
        )
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidArgument(f"the value of setting {key!r} is not JSON: {error}") from error
    return msgspec.Raw(text)

"""Use cases of logging in and out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from determined_master import clock, entropy
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import InvalidArgument, PermissionDenied, Unauthenticated
from determined_master.records.access import UserRow
from determined_master.services.access.devices import Devices
from determined_master.services.access.identities import Identities
from determined_master.services.access.login_limits import LoginLimits
from determined_master.services.access.passwords import Passwords, client_hash
from determined_master.services.access.task_tokens import token_hash
from determined_master.store.access import sessions, users
from determined_master.store.db import Database

SESSION_LIFE = timedelta(days=7)


class Login(msgspec.Struct, frozen=True):
    """A new session: the token is shown once and never again."""

    token: str
    user: UserRow
    expires_at: datetime
    mark: str
    """Recognizes the device at its next login."""


class Auth:
    """Opens and ends sessions. Anybody may try, so nothing here asks `access.may`."""

    def __init__(
        self, db: Database, passwords: Passwords, identities: Identities, devices: Devices
    ) -> None:
        self._db = db
        self._devices = devices
        self._passwords = passwords
        self._identities = identities
        self._limits = LoginLimits()

    async def login(
        self,
        username: str,
        password: str,
        *,
        is_hashed: bool,
        address: str = "",
        marks: Sequence[str] = (),
    ) -> Login:
        """Check a password and open a session of seven days.

        An unknown name and a wrong password give the same error after the same time.

        Args:
            username: in any case.
            password: in plain text, or in the form that clients send.
            is_hashed: whether it is in that form.
            address: the client's.
            marks: of devices, from earlier logins.

        Raises:
            InvalidArgument: no name was given.
            Unauthenticated: the name or the password is wrong.
            PermissionDenied: the password is right, but the user was deactivated.
            TooManyLogins: there were too many failures of this account or from this address.
            ResourceExhausted: too many logins wait.
        """
        if not username:
            raise InvalidArgument("missing argument: username")
        name = username.lower()
        device = self._devices.find(name, marks)
        async with self._limits.turn(name, address, device):
            self._limits.check(name, address, device)
            user = await self._find(username, password if is_hashed else client_hash(password))
            self._limits.record(name, address, device, is_right=user is not None)
        if user is None:
            raise Unauthenticated("invalid credentials")
        if not user.active:
            raise PermissionDenied("user is not active")
        return await self._open(user)

    async def _find(self, username: str, hashed: str) -> UserRow | None:
        """The user whose password this is, in the form that clients send."""
        async with self._db.acquire() as conn:
            found = await users.find_password(conn, username)
        user, stored = found or (None, None)
        if not await self._passwords.matches(stored, hashed) or user is None or stored is None:
            return None
        if (renewed := await self._passwords.renewed(stored, hashed)) is not None:
            async with self._db.acquire() as conn:
                await users.update_password_hash(conn, user.id, before=stored, after=renewed)
        return user

    async def logout(self, caller: Caller, token: str) -> None:
        """End the session of the caller's token."""
        if caller.session_id is None:
            return
        async with self._db.acquire() as conn:
            await sessions.update_revoked(conn, caller.session_id, clock.now())
        self._identities.forget_token(token)

    async def _open(self, user: UserRow) -> Login:
        token, now = entropy.token(), clock.now()
        async with self._db.acquire() as conn, conn.transaction():
            await sessions.insert_session(
                conn,
                user.id,
                token_hash(token),
                created_at=now,
                expires_at=now + SESSION_LIFE,
            )
            await users.update_last_auth(conn, user.id, now)
        self._identities.forget_users((user.id,))
        seen = msgspec.structs.replace(user, last_auth_at=now)
        mark = self._devices.mark(user.username.lower())
        return Login(token, seen, now + SESSION_LIFE, mark)

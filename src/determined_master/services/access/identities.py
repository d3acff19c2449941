"""Whose token a token is, from memory.

An answer is kept for some seconds. Until then, a change made through another process
stays unseen. A change made through this process is seen at once, because its code calls
`forget_users`, `forget_token` or `forget_allocation` after the commit.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Protocol

import msgspec

from determined_master import clock
from determined_master.domain.access.rights import Rights, rights_of
from determined_master.domain.access.roles import CLUSTER_ADMIN_ID
from determined_master.domain.access.rules import Caller, TaskScope
from determined_master.domain.errors import Unauthenticated
from determined_master.records.access import UserRow
from determined_master.services.access.task_tokens import token_hash
from determined_master.store.access.roles import list_grants
from determined_master.store.access.sessions import find_session
from determined_master.store.access.users import find_user
from determined_master.store.db import Conn, Database
from determined_master.store.tasks.allocations import find_token_owner

FRESH_S = 10.0
MAX_ENTRIES = 20_000


class TokenIdentity(msgspec.Struct, frozen=True):
    """The known facts of a token until `stale_at` (monotonic seconds)."""

    caller: Caller
    user: UserRow
    stale_at: float


class PermissionWatcher(Protocol):
    """Hears of changes at once; neither function may block."""

    def permissions(self, user_ids: Collection[int] | None = None) -> None:
        """The permissions of these users have changed, or of any user."""
        ...

    def session_ended(self) -> None:
        """A token is good no longer."""
        ...


class Identities:
    """An `Authenticator` over the tables of sessions and allocations.

    Where roles decide, a caller comes with what their roles give: that is read with the token
    and kept as long, so a request costs no more queries than without roles.
    """

    def __init__(
        self, db: Database, watcher: PermissionWatcher | None = None, *, has_roles: bool = False
    ) -> None:
        """`watcher` hears when tokens or rights may be good no longer."""
        self._db = db
        self._watcher = watcher
        self._has_roles = has_roles
        self._known: dict[bytes, TokenIdentity] = {}
        self._users: dict[int, TokenIdentity] = {}
        self._changes = 0
        """Counts invalidations: an answer read before one is not kept after it."""

    async def authenticate(self, token: str) -> Caller | None:
        """See `ports.Authenticator`."""
        digest = token_hash(token)
        known = self._known.get(digest)
        if known is not None and known.stale_at > clock.monotonic_s():
            return known.caller
        changes = self._changes
        identity = await self._look_up(digest)
        if identity is not None and changes == self._changes:
            self._keep(digest, identity)
        return None if identity is None else identity.caller

    async def user(self, user_id: int) -> UserRow | None:
        """A user, from memory when one of their tokens was seen just now."""
        known = self._users.get(user_id)
        if known is not None and known.stale_at > clock.monotonic_s():
            return known.user
        async with self._db.acquire() as conn:
            return await find_user(conn, user_id)

    def forget_users(self, user_ids: Collection[int]) -> None:
        """Users were changed, or their sessions were ended."""
        if not user_ids:
            return
        self._changes += 1
        for user_id in user_ids:
            self._users.pop(user_id, None)
        for digest, known in list(self._known.items()):
            if known.user.id in user_ids:
                del self._known[digest]
        if self._watcher is not None:
            self._watcher.permissions(user_ids)

    def forget_rights(self) -> None:
        """Roles or groups were changed: whom that concerns is not asked, it happens seldom."""
        if self._has_roles:
            self._changes += 1
            self._known.clear()
            self._users.clear()
            if self._watcher is not None:
                self._watcher.permissions()

    def forget_token(self, token: str) -> None:
        """A session was ended."""
        self._changes += 1
        self._known.pop(token_hash(token), None)
        if self._watcher is not None:
            self._watcher.session_ended()

    def forget_allocation(self, allocation_id: str) -> None:
        """An allocation has ended: its token dies with it."""
        self._changes += 1
        for digest, known in list(self._known.items()):
            scope = known.caller.scope
            if scope is not None and scope.allocation_id == allocation_id:
                del self._known[digest]

    def _keep(self, digest: bytes, identity: TokenIdentity) -> None:
        if len(self._known) >= MAX_ENTRIES:
            self._known.clear()
            self._users.clear()
        self._known[digest] = identity
        self._users[identity.user.id] = identity

    async def _look_up(self, digest: bytes) -> TokenIdentity | None:
        async with self._db.acquire() as conn:
            session = await find_session(conn, digest)
            if session is None:
                owner = await find_token_owner(conn, digest)
                if owner is None:
                    return None
                user = await find_user(conn, owner.pop("user_id"))
                return None if user is None else _identity(user, TaskScope(**owner))
            if session.revoked_at is not None:
                is_access = session.kind == "access"
                raise Unauthenticated(
                    "user access token revoked" if is_access else "invalid credentials"
                )
            left = session.expires_at - clock.now()
            if left <= timedelta(0):
                return None
            rights, is_admin = await self._rights(conn, session.user)
        known = _identity(session.user, None, session.id, left.total_seconds())
        caller = msgspec.structs.replace(
            known.caller,
            rights=rights,
            is_admin=is_admin,
            is_task_session=session.kind == "task",
        )
        return msgspec.structs.replace(known, caller=caller)

    async def _rights(self, conn: Conn, user: UserRow) -> tuple[Rights | None, bool]:
        """Permissions from a user's roles, and whether they may do everything."""
        if not self._has_roles:
            return None, user.admin
        grants = await list_grants(conn, user.id)
        is_admin = any(g.role_id == CLUSTER_ADMIN_ID and not g.workspace_id for g in grants)
        return rights_of(grants), user.admin or is_admin


def _identity(
    user: UserRow,
    scope: TaskScope | None,
    session_id: int | None = None,
    left_s: float = FRESH_S,
) -> TokenIdentity:
    # A deactivated user may start nothing; running tasks still report, to lose no work.
    caller = Caller(
        user_id=user.id,
        username=user.username,
        is_admin=user.admin,
        is_active=user.active or scope is not None,
        session_id=session_id,
        scope=scope,
    )
    return TokenIdentity(caller, user, clock.monotonic_s() + min(left_s, FRESH_S))

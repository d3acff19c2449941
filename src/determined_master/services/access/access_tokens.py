"""Use cases of access tokens: sessions with a life and a purpose of their own, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock, entropy
from determined_master.domain.access import rules as access
from determined_master.domain.allowances import TOKENS
from determined_master.domain.durations import parse_duration
from determined_master.domain.errors import InvalidArgument, NotFound, PermissionDenied
from determined_master.domain.listing.paging import Page, page_of
from determined_master.records.access import TokenRow
from determined_master.services.access.task_tokens import token_hash
from determined_master.store.access import access_tokens as rows
from determined_master.store.access import users

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.access import TokenRow
    from determined_master.services.access.identities import Identities
    from determined_master.services.access.users import ListOrder
    from determined_master.store.db import Database

ONLY_ADMIN_CREATES = "only admin privileged users can create token for own/other users"
MAX_DAYS = 106751
"""The lifespan in days of a token that never expires."""
FOR_EVER = -1


class Lives(msgspec.Struct, frozen=True):
    """How long tokens live in days; -1 is forever."""

    default_days: int = 30
    max_days: int = 30

    def of(self, text: str) -> timedelta:
        """The life that a request names; the default for none, the longest for `-1`.

        Raises:
            InvalidArgument: it is no length of time, or longer than allowed.
        """
        longest = timedelta(days=MAX_DAYS if self.max_days < 0 else self.max_days)
        if not text:
            days = MAX_DAYS if self.default_days < 0 else self.default_days
            return timedelta(days=days)
        if text == str(FOR_EVER):
            return longest
        life = parse_duration(text)
        if life is None or life <= timedelta(0):
            raise InvalidArgument(
                f'failed to parse lifespan {text}: invalid duration "{text}": give hours, '
                "minutes or seconds, as 48h or 1h30m, or -1 for the longest"
            )
        if life > longest:
            raise InvalidArgument(
                f"lifespan {text} is longer than {longest.days} days, the longest that is "
                "allowed (security.token.max_lifespan_days)"
            )
        return life


class AccessTokens:
    """Access tokens of all users."""

    def __init__(self, db: Database, identities: Identities, lives: Lives) -> None:
        self._db = db
        self._identities = identities
        self._lives = lives

    async def create(
        self, caller: Caller, user_id: int, lifespan: str, description: str
    ) -> tuple[str, int]:
        """Create a token for a user; it is shown once and never again.

        Returns:
            The token and its id.

        Raises:
            PermissionDenied: the caller may not make tokens, or not of others.
            InvalidArgument: of the lifespan. NotFound: there is no such user.
            ResourceExhausted: the user has too many.
        """
        access.may(caller, "create", "token", owner_id=user_id, refusal=ONLY_ADMIN_CREATES)
        life, now, token = self._lives.of(lifespan), clock.now(), entropy.token()
        async with self._db.acquire() as conn:
            if await users.find_user(conn, user_id) is None:
                raise NotFound("user not found")
            count, size = await rows.measure_tokens(conn, user_id, now)
            TOKENS.check(count + 1, size + len(description.encode()))
            new = TokenRow(0, user_id, now + life, now, None, description)
            return token, await rows.insert_token(conn, token_hash(token), new)

    async def find(
        self,
        caller: Caller,
        *,
        ids: Sequence[int],
        username: str,
        with_inactive: bool,
        order: ListOrder,
    ) -> tuple[list[TokenRow], Page]:
        """Tokens that match; callers without permission to see those of others get their own.

        Args:
            caller: the caller.
            ids: only these; empty for all.
            username: only those of this user; empty for all.
            with_inactive: also those that are revoked or expired.
            order: `sort` is a key of `store.access_tokens.SORTS`.

        Raises:
            NotFound: there is no user of that name.
        """
        sees_all = access.can(caller, "read", "token")
        wanted = rows.TokenFilter(
            ids=ids,
            user_id=None if sees_all else caller.user_id,
            good_at=None if with_inactive else clock.now(),
        )
        async with self._db.acquire() as conn:
            if username:
                user = await users.find_user_by_name(conn, username)
                if user is None:
                    raise NotFound("user not found")
                if not sees_all and user.id != caller.user_id:
                    return [], page_of(0, order.offset, order.limit)
                wanted = msgspec.structs.replace(wanted, user_id=user.id)
            page = page_of(await rows.count_tokens(conn, wanted), order.offset, order.limit)
            found = await rows.list_tokens(
                conn,
                wanted,
                sort=order.sort,
                is_descending=order.is_descending,
                start=page.start,
                end=page.end,
            )
        return found, page

    async def change(
        self, caller: Caller, token_id: int, *, description: str | None, is_revoked: bool
    ) -> TokenRow:
        """Change the description of a token, or revoke it; its next use is then refused.

        Raises:
            NotFound: no token has that id, or the caller may not see it.
            PermissionDenied: it is another's, and not the caller's to change; or code in a
                task asks.
        """
        if access.is_closed_to(caller, "edit", "token"):
            raise PermissionDenied(access.REFUSAL_IN_TASK)
        missing = f"Token with id: {{{token_id}}} not found"
        async with self._db.acquire() as conn:
            token = await rows.find_token(conn, token_id)
            if token is None:
                raise NotFound(missing)
            if token.user_id != caller.user_id:
                if not access.can(caller, "read", "token"):
                    raise NotFound(missing)
                access.may(caller, "edit", "token")
            at = clock.now() if is_revoked else None
            await rows.update_token(conn, token_id, description=description, revoked_at=at)
            changed = await rows.find_token(conn, token_id)
        self._identities.forget_users((token.user_id,))
        if changed is None:
            raise NotFound(missing)
        return changed

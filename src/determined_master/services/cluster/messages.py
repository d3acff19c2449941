"""Use cases of the message that admins show to everybody on the cluster."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.durations import parse_duration
from determined_master.domain.errors import InvalidArgument
from determined_master.records.cluster import MessageRow
from determined_master.store.cluster import messages as rows
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller

MAX_LENGTH = 250
FRESH_FOR_S = 5.0
"""Everybody asks for it before anything else, so it is read no more often."""


class ClusterMessages:
    """The cluster's one message."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db
        self._known: MessageRow | None = None
        self._read_at_s: float | None = None

    async def current(self) -> MessageRow | None:
        """The message shown now; the last known one while the database is away."""
        now_s = clock.monotonic_s()
        if self._read_at_s is None or now_s - self._read_at_s > FRESH_FOR_S:
            self._read_at_s = now_s
            try:
                async with self._db.acquire() as conn:
                    self._known = await rows.find_message(conn, clock.now())
            except DATABASE_ERRORS:
                pass
        known, now = self._known, clock.now()
        if known is None or known.starts_at > now:
            return None
        return None if known.ends_at is not None and known.ends_at <= now else known

    async def get(self, caller: Caller) -> MessageRow | None:
        """The message for those who set it: also one that starts later."""
        access.may(caller, "configure", "cluster")
        async with self._db.acquire() as conn:
            return await rows.find_message(conn, clock.now())

    async def set(
        self,
        caller: Caller,
        message: str,
        *,
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
        duration: str | None = None,
    ) -> None:
        """Show a message in place of the one there is.

        Args:
            caller: an admin.
            message: 1 to 250 characters.
            starts_at: now when None.
            ends_at: never when None.
            duration: in place of `ends_at`, as `24h` or `1h30m`.

        Raises:
            InvalidArgument: one of them cannot be.
        """
        access.may(caller, "configure", "cluster")
        now = clock.now()
        start = starts_at or now
        new = MessageRow(
            message=_checked(message),
            created_at=now,
            starts_at=start,
            ends_at=_end(start, ends_at, duration),
        )
        if new.ends_at is not None and new.ends_at <= now:
            raise InvalidArgument(
                f"the end time {new.ends_at.isoformat()} has passed already: give a later one"
            )
        async with self._db.acquire() as conn, conn.transaction():
            await rows.replace_message(conn, caller.user_id, new)
        self._read_at_s = None

    async def clear(self, caller: Caller) -> None:
        """Show no message."""
        access.may(caller, "configure", "cluster")
        async with self._db.acquire() as conn:
            await rows.end_messages(conn, clock.now())
        self._read_at_s = None


def _checked(message: str) -> str:
    if not message.strip():
        raise InvalidArgument("invalid input: message must not be empty")
    if len(message) > MAX_LENGTH:
        raise InvalidArgument(
            f"invalid input: message must be at most {MAX_LENGTH} characters; got {len(message)}"
        )
    return message


def _end(start: datetime, ends_at: datetime | None, duration: str | None) -> datetime | None:
    if duration:
        if ends_at is not None:
            raise InvalidArgument("give an end time or a duration, not both")
        length = parse_duration(duration)
        if not length:
            raise InvalidArgument(f"duration is '{duration}': write it as 24h, 90m or 1h30m")
        try:
            return start + length
        except OverflowError:
            raise InvalidArgument(f"duration is '{duration}', which has no end") from None
    if ends_at is not None and ends_at <= start:
        raise InvalidArgument(
            f"the end time {ends_at.isoformat()} must come after the start time "
            f"{start.isoformat()}"
        )
    return ends_at

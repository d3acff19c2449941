"""The bytes of each user's work in the database: a warning, and a bound where admins set one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.errors import ResourceExhausted
from determined_master.store.access import users
from determined_master.store.cluster import user_storage as rows
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Database

log = logging.getLogger(__name__)

PERIOD_S = 3600.0
FRESH_S = 60.0
"""A user over the bound is measured again after this time: they may have deleted something."""
GIB = 1 << 30
MAX_NAMED = 10
REMEDY = "delete experiments, or let logs end with retention_policy.log_retention_days"


class StoredBytes(msgspec.Struct, frozen=True):
    """The bytes of one user's work."""

    username: str
    bytes: int


class UserStorage:
    """The last measurement, and what follows from it.

    Args:
        db: the database.
        warning_bytes: from which the log and the health name a user; 0 for never.
        max_bytes: from which a user submits nothing more; 0 for no bound.
    """

    def __init__(self, db: Database, warning_bytes: int, max_bytes: int) -> None:
        self._db = db
        self._warning_bytes = warning_bytes
        self._max_bytes = max_bytes
        self._sizes: dict[int, int] = {}
        self._large: tuple[StoredBytes, ...] = ()
        self._measured_at_s = float("-inf")
        self._lock = asyncio.Lock()

    @property
    def large(self) -> Sequence[StoredBytes]:
        """At most `MAX_NAMED` users over the warning at the last measurement, most bytes first."""
        return self._large

    async def run(self) -> None:
        """Measure once an hour, until cancelled."""
        while True:
            try:
                await self.measure()
            except DATABASE_ERRORS:
                log.exception("the storage of users could not be measured; retrying in an hour")
            for one in self._large:
                size = round(one.bytes / GIB, 1)
                about = {"username": one.username, "gib": size}
                log.warning("the work of a user fills the database: %s", REMEDY, extra=about)
            await asyncio.sleep(PERIOD_S)

    async def measure(self) -> None:
        """Measure all users."""
        async with self._lock:
            await self._measure()

    async def check(self, caller: Caller) -> None:
        """Check that a user may submit more.

        Raises:
            ResourceExhausted: their work takes more than the bound.
        """
        if not self._max_bytes or self._size_of(caller) <= self._max_bytes:
            return
        async with self._lock:
            if clock.monotonic_s() - self._measured_at_s > FRESH_S:
                await self._measure()
        size = self._size_of(caller)
        if size > self._max_bytes:
            raise ResourceExhausted(
                f"your experiments and tasks take {size / GIB:.1f} GiB of the database, and a "
                f"user may have {self._max_bytes / GIB:.1f} (user_storage.max_gib): delete "
                "experiments, or ask an admin for more"
            )

    async def _measure(self) -> None:
        async with self._db.acquire() as conn:
            self._sizes = await rows.measure_users(conn)
            large = [(size, id) for id, size in self._sizes.items() if self._is_large(size)]
            largest = sorted(large, reverse=True)[:MAX_NAMED]
            owners = await users.list_users_of(conn, [id for _, id in largest])
            names = {user.id: user.username for user in owners}
            self._large = tuple(StoredBytes(names[id], size) for size, id in largest)
            self._measured_at_s = clock.monotonic_s()

    def _size_of(self, caller: Caller) -> int:
        return self._sizes.get(caller.user_id, 0)

    def _is_large(self, size: int) -> bool:
        return 0 < self._warning_bytes <= size

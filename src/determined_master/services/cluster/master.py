"""The master about itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import InvalidArgument
from determined_master.server import logs
from determined_master.server.loop_monitor import LoopMonitor, Stall
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.db import Database, ping
from determined_wire.masking import mask_secrets

PROBE_DEADLINE_S = 2.0
LATE_S = 60.0
"""Age at which an effect that waits for nothing is late."""
FOLLOW_POLL_S = 0.5
"""How often a follower of the log looks for new lines."""
LOG_LEVELS = ("trace", "debug", "info", "warning", "error", "critical")


class MasterFacts(msgspec.Struct, frozen=True):
    """Facts that do not change while a master runs."""

    version: str
    master_id: str
    cluster_id: str
    cluster_name: str = ""
    feature_switches: tuple[str, ...] = ()
    shows_roles: bool = False
    """Whether clients show roles and their assignments."""
    is_queue_strict: bool = False
    """Whether changing places in the job queue needs a permission of its own."""
    has_custom_logo: bool = False


class Health(msgspec.Struct, frozen=True):
    """Whether the master can work; `status` and `database` are `up` or `down`."""

    status: str
    database: str
    oldest_effect_age_s: float | None = None
    """None where another process leads."""

    @property
    def effects(self) -> str:
        """`degraded` when the work of the master is late."""
        return "degraded" if (self.oldest_effect_age_s or 0.0) > LATE_S else "up"


class Master:
    """Facts, settings and health of this master."""

    def __init__(
        self,
        facts: MasterFacts,
        db: Database,
        settings: Callable[[], Mapping[str, Any]],
        oldest_effect_age_s: Callable[[], float | None],
    ) -> None:
        self.facts = facts
        self.oldest_effect_age_s = oldest_effect_age_s
        self._db = db
        self._settings = settings
        self.loop = LoopMonitor()
        self._log: dict[str, Any] = {}
        """Settings of the log that were changed since the start."""

    def loop_stall(self, caller: Caller) -> Stall:
        """The longest stall of the event loop since this was last asked."""
        access.may(caller, "configure", "cluster")
        return self.loop.read()

    def config(self, caller: Caller) -> Mapping[str, Any]:
        """All settings in force, secrets masked."""
        access.may(caller, "configure", "cluster")
        masked: dict[str, Any] = mask_secrets(self._settings())
        return {**masked, "log": {**masked.get("log", {}), **self._log}}

    def has_prometheus(self) -> bool:
        """Whether the routes for Prometheus are served."""
        return bool(self._settings()["observability"]["enable_prometheus"])

    def manager_names(self) -> list[str]:
        """Names of the resource managers, the default one first."""
        tree = self._settings()
        others = tree.get("additional_resource_managers") or ()
        return [part["resource_manager"]["cluster_name"] for part in (tree, *others)]

    def configure_log(self, caller: Caller, changes: Mapping[str, Any]) -> None:
        """Change `level` or `color` of the log until the master starts again.

        Raises:
            InvalidArgument: there is no such level.
        """
        access.may(caller, "configure", "cluster")
        if "level" in changes:
            if changes["level"] not in LOG_LEVELS:
                raise InvalidArgument(
                    f"log.level is {changes['level']!r}: it must be one of {', '.join(LOG_LEVELS)}"
                )
            logs.set_level(changes["level"])
        self._log |= changes

    async def read_log(
        self, caller: Caller, *, offset: int = 0, limit: int = 0, follow: bool = False
    ) -> AsyncIterator[list[logs.LogEntry]]:
        """Lines of the master's own log, as far as they are kept in memory.

        Args:
            offset: id of the first line; a negative one counts from the end.
            limit: how many at most, 0 for all.
            follow: whether to wait for more lines, forever.

        Raises:
            InvalidArgument: the limit is negative.
        """
        access.may(caller, "read", "log")
        if limit < 0:
            raise InvalidArgument(f"Limit must be >= 0, it is {limit}: use 0 for all lines")
        first = offset if offset >= 0 else max(0, logs.RECENT.next_id + offset)
        left = limit
        while True:
            lines = logs.RECENT.since(first)
            lines = lines[:left] if limit else lines
            if lines:
                yield lines
                first, left = lines[-1].id + 1, left - len(lines)
            if not follow or (limit and left == 0):
                return
            await asyncio.sleep(FOLLOW_POLL_S)

    async def health(self) -> Health:
        """Ask the database for a sign of life, two seconds at most."""
        try:
            async with asyncio.timeout(PROBE_DEADLINE_S), self._db.acquire() as conn:
                await ping(conn)
        except DATABASE_ERRORS:
            return Health("down", "down")
        return Health("up", "up", self.oldest_effect_age_s())

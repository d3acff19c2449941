"""What the master tells of itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import asyncpg
import msgspec

from determined_master.domain import access
from determined_master.domain.access import Caller
from determined_master.loop_monitor import LoopMonitor, Stall
from determined_master.store.pool import Pool

MASK = "********"
SECRET_WORDS = ("password", "secret", "token", "private_key", "access_key", "credential")
"""A setting whose name contains one of these is never told."""

PROBE_DEADLINE_S = 2.0


class MasterFacts(msgspec.Struct, frozen=True):
    """What is fixed while a master runs."""

    version: str
    master_id: str
    cluster_id: str
    cluster_name: str = ""
    feature_switches: tuple[str, ...] = ()


class Health(msgspec.Struct, frozen=True):
    """Whether the master can work; `status` and `database` are `up` or `down`."""

    status: str
    database: str


class Master:
    """Facts, settings and health of this master."""

    def __init__(
        self, facts: MasterFacts, pool: Pool, settings: Callable[[], Mapping[str, Any]]
    ) -> None:
        self.facts = facts
        self._pool = pool
        self._settings = settings
        self.loop = LoopMonitor()

    def loop_stall(self, caller: Caller) -> Stall:
        """The longest stall of the event loop since this was last asked."""
        access.may(caller, "configure", "cluster")
        return self.loop.read()

    def config(self, caller: Caller) -> Mapping[str, Any]:
        """All settings in force, secrets masked."""
        access.may(caller, "configure", "cluster")
        masked: Mapping[str, Any] = mask_secrets(self._settings())
        return masked

    async def health(self) -> Health:
        """Ask the database for a sign of life, two seconds at most."""
        try:
            async with asyncio.timeout(PROBE_DEADLINE_S), self._pool.acquire() as conn:
                await conn.fetchval("SELECT 1")
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return Health("down", "down")
        return Health("up", "up")


def mask_secrets(value: Any, name: str = "") -> Any:
    """The same settings with every secret replaced; unset ones stay unset."""
    if isinstance(value, Mapping):
        return {str(key): mask_secrets(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(item, name) for item in value]
    is_secret = any(word in name.lower() for word in SECRET_WORDS)
    return MASK if is_secret and isinstance(value, str) and value else value

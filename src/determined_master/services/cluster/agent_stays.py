"""When which agents were present: reports on usage compare it with what was used."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from determined_master.domain.pods.queues import is_queue
from determined_master.store.cluster import agent_stays as rows

if TYPE_CHECKING:
    from determined_master.ports.agents import ClusterBackend
    from determined_master.store.db import Database


class AgentStays:
    """Compares the agents that are there with those that are written down."""

    def __init__(self, db: Database, backend: ClusterBackend) -> None:
        self._db = db
        self._backend = backend

    async def note(self, now: datetime) -> None:
        """Record which agents are present or may still reconnect.

        An agent that is missing, or has other slots now, left when it was last seen: the master
        may have been down since.
        """
        here = [
            rows.AgentPresence(a.id, a.pool, len(a.devices), a.registered_at)
            for a in self._backend.agents()
            if not is_queue(a.id)
        ]
        async with self._db.acquire() as conn, conn.transaction():
            await rows.end_others(conn, here)
            await rows.upsert_here(conn, here, now)

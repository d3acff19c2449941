"""Records of machines on demand, with which a new leader continues the work of the former one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from determined_master.domain.machines.scaling import Machine
from determined_master.engine.leadership.epoch_check import hold_lead
from determined_master.store.cluster import machines as rows

if TYPE_CHECKING:
    from determined_master.domain.machines.starts import MachineStart
    from determined_master.store.db import Conn, Database

log = logging.getLogger(__name__)
THERE = ("starting", "running", "stopping")
"""States that are recorded; usage reports omit requests that were not granted."""


async def forget_other_pools(db: Database, pools: Sequence[str]) -> None:
    """No loop observes the machines of other pools any more: the log names them once."""
    async with db.acquire() as conn:
        forgotten = await rows.end_stays_of_other_pools(conn, pools)
    for pool, machines in forgotten.items():
        log.warning(
            "a pool has no provider any more, its machines still run: end them in their cloud, "
            "or give the pool its provider again",
            extra={"pool": pool, "machines": machines},
        )


class MachineRecords:
    """Stays and orders of one pool; every call raises database errors.

    Writing also raises NotLeader once another leader has taken over since this object did: an
    order of a former leader is never recorded, and so never sent.
    """

    def __init__(self, db: Database, pool: str, slots: int) -> None:
        self._db = db
        self._pool = pool
        self._slots = slots
        self._epoch = 0
        """No leader has this epoch."""

    def take_over(self, epoch: int) -> None:
        self._epoch = epoch

    async def stays(self) -> list[rows.MachineStay]:
        async with self._db.acquire() as conn:
            return await rows.list_open_stays(conn, self._pool)

    async def note(self, machines: Sequence[Machine], now: datetime) -> None:
        """Record the present machines; a missing one has left when it was last seen."""
        here = [m for m in machines if m.state in THERE]
        async with self._write() as conn:
            await rows.upsert_stays(conn, self._pool, here, self._slots, now)

    async def starts(self) -> dict[str, MachineStart]:
        """The last report of each machine's start script, by machine."""
        async with self._db.acquire() as conn:
            return await rows.list_starts(conn, self._pool)

    async def note_idle(self, since: Mapping[str, datetime]) -> None:
        """Record the start of machines' idle times, by id; the others are not idle."""
        async with self._write() as conn:
            await rows.update_idle(conn, self._pool, since)

    async def note_leaving(self, machine_ids: Sequence[str], now: datetime) -> None:
        """Recorded before a provider is asked to end machines.

        Nothing may start there any more.
        """
        async with self._write() as conn:
            await rows.mark_leaving(conn, self._pool, machine_ids, now)

    async def orders(self) -> list[rows.LaunchOrder]:
        """Orders without a known answer."""
        async with self._db.acquire() as conn:
            return await rows.list_orders(conn, self._pool)

    async def begin(self, order: rows.LaunchOrder) -> None:
        """Record an order before it is sent."""
        async with self._write() as conn:
            await rows.insert_order(conn, self._pool, order)

    async def settle(self, order: rows.LaunchOrder) -> None:
        async with self._write() as conn:
            await rows.delete_order(conn, order.token)

    @asynccontextmanager
    async def _write(self) -> AsyncIterator[Conn]:
        async with self._db.acquire() as conn, conn.transaction():
            await hold_lead(conn, self._epoch)
            yield conn

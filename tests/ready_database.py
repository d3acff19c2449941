"""A database as a master's first start leaves it, copied for each test that starts one.

To make the first users and the partitions of the next weeks takes longer than the copy.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

from tests.api.master import PASSWORD
from tests.postgres import new_database, one_at_a_time

from determined_master import clock
from determined_master.engine.applying.transaction import ensure_partition
from determined_master.services.access.passwords import Passwords
from determined_master.services.cluster.bootstrap import bootstrap
from determined_master.store.db import Address, connect, open_database
from determined_master.store.logs import task_logs

_TEMPLATE = "ready_template"
_ready: set[Address] = set()
"""Servers that have the template, as far as this process knows."""


@contextlib.asynccontextmanager
async def ready_database(postgres: Address) -> AsyncIterator[Address]:
    """A fresh one, with the users `admin` and `determined`, whose password is `PASSWORD`."""
    if postgres not in _ready:
        with one_at_a_time():
            await _ensure_template(postgres)
        _ready.add(postgres)
    async with new_database(postgres, _TEMPLATE) as made:
        yield made


async def _ensure_template(postgres: Address) -> None:
    admin = await connect(postgres)
    try:
        if not await admin.fetchval("SELECT true FROM pg_database WHERE datname = $1", _TEMPLATE):
            async with new_database(postgres) as made:
                await _start_first(made)
                await admin.execute(f"CREATE DATABASE {_TEMPLATE} TEMPLATE {made.database}")
    finally:
        await admin.close()


async def _start_first(address: Address) -> None:
    today = clock.now().date()
    passwords = Passwords(memory_kib=8, time_cost=1)
    async with await open_database(address, min_size=1, max_size=1) as pool:
        await bootstrap(pool, passwords, PASSWORD, None)
        async with pool.acquire() as conn:
            await task_logs.ensure_partitions(conn, today)
            for day in (today, today.replace(day=1) + timedelta(days=31)):
                await ensure_partition(conn, day.replace(day=1))
    passwords.close()

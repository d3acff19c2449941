"""Maintenance of tables: partitions are created in advance, unused rows are deleted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import timedelta

import asyncpg

from determined_master import clock
from determined_master.store import journal
from determined_master.store.access import audit, sessions
from determined_master.store.cluster import agent_keys
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.db import Database
from determined_master.store.experiments import experiments
from determined_master.store.logs import task_logs

log = logging.getLogger(__name__)

PERIOD_S = 3600.0
REPEATABLE_FOR = timedelta(days=7)
"""How long the answer to a request with an idempotency key is kept."""
ORPHANS_AT_ONCE = 100
ENDED_SESSIONS_FOR = timedelta(days=30)
MACHINE_KEYS_FOR = timedelta(days=1)
"""How long the key of an agent outlives its machine on demand."""
AUDIT_FOR = timedelta(days=400)
"""How long entries of the audit log are kept."""


async def maintain_tables(db: Database) -> None:
    """Maintain the tables once an hour; cancelled at the master's end."""
    while True:
        try:
            await sweep(db)
        except DATABASE_ERRORS:
            log.exception("table maintenance failed; retrying in an hour")
        await asyncio.sleep(PERIOD_S)


async def sweep(db: Database) -> None:
    """Do the hourly work once; repeating it changes nothing."""
    now = clock.now()
    with contextlib.suppress(asyncpg.ForeignKeyViolationError):  # one is in use again
        async with db.acquire() as conn:
            while await experiments.delete_orphaned_models(conn, limit=ORPHANS_AT_ONCE):
                pass
    async with db.acquire() as conn:
        await task_logs.ensure_partitions(conn, now.date())
        await experiments.delete_answers(conn, now - REPEATABLE_FOR)
        await sessions.delete_expired(conn, now - ENDED_SESSIONS_FOR)
        await audit.delete_old(conn, now - AUDIT_FOR)
        await agent_keys.delete_keys_of_machines(conn, now - MACHINE_KEYS_FOR)
        await agent_keys.delete_expired_tokens(conn, now)
        month = (now.date().replace(day=1) - timedelta(days=1)).replace(day=1)
        await journal.delete_gone_experiments(conn, month)
        for name in await journal.delete_empty_months(conn, month):
            log.info("dropped an old part of the journal", extra={"partition": name})

"""The journal's partitions, one for each month in which aggregates were born."""

from __future__ import annotations

import re
from datetime import date

import asyncpg

from determined_master.store.db import Conn

_NAME = re.compile(r"journal_(\d{4})_(\d{2})")
_LOCK_WAIT_MS = 2000


async def delete_gone_experiments(conn: Conn, before: date) -> None:
    """Delete the aggregates of deleted experiments that were born before a month.

    They are kept that long so that a request that is repeated is answered as the first time.
    """
    query = """
        DELETE FROM aggregates a
         WHERE a.kind = 'experiment' AND a.born < $1
           AND NOT EXISTS (SELECT FROM experiments e WHERE e.id = a.id::int)
           AND NOT EXISTS (SELECT FROM outbox o WHERE o.kind = a.kind AND o.id = a.id)
    """
    await conn.execute(query, before)


async def delete_empty_months(conn: Conn, before: date) -> list[str]:
    """Drop the partitions of months before `before` without live aggregates.

    A partition that is read for longer than two seconds is left for the next time.

    Returns:
        Names of those that were dropped.
    """
    dropped: list[str] = []
    for name, month in await _months(conn):
        if month >= before or await _has_aggregates(conn, month):
            continue
        try:
            async with conn.transaction():
                await conn.execute(f"SET LOCAL lock_timeout = {_LOCK_WAIT_MS}")
                await conn.execute(f"DROP TABLE {name}")
        except asyncpg.LockNotAvailableError:
            continue
        dropped.append(name)
    return dropped


async def _months(conn: Conn) -> list[tuple[str, date]]:
    query = """
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'journal'::regclass ORDER BY c.relname
    """
    names = [row["relname"] for row in await conn.fetch(query)]
    matches = [(name, _NAME.fullmatch(name)) for name in names]
    return [(name, date(int(m[1]), int(m[2]), 1)) for name, m in matches if m is not None]


async def _has_aggregates(conn: Conn, month: date) -> bool:
    query = "SELECT EXISTS (SELECT FROM aggregates WHERE born = $1)"
    return bool(await conn.fetchval(query, month))

"""Bring a database to the schema of this release.

Each revision is one plain SQL file, `NNNN_subject.sql`, run in one transaction. The table
`alembic_version` holds the last one that ran (Alembic once maintained it). Migrations only expand,
and contract one release later, so that the master of the previous release keeps running: a
database that is newer than this master stays unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg

from determined_master import clock
from determined_master.store.db import Conn

_log = logging.getLogger(__name__)
_DIRECTORY = Path(__file__).parent / "migrations"
_LOCK = 0x64657401
"""Advisory lock: two masters that start together migrate one after the other."""
MAX_DEADLOCKS = 20
PROGRESS_S = 10.0
"""A migration that takes longer is logged so often: during it, the master answers nobody."""


async def migrate(conn: Conn, *, upto: str | None = None) -> list[str]:
    """Apply missing migrations, under a lock.

    Args:
        conn: a connection outside any transaction.
        upto: the last revision to apply; None is the newest.

    Returns:
        The revisions that were applied, in order; empty when there was nothing to do.
    """
    await conn.execute("SELECT pg_advisory_lock($1)", _LOCK)
    try:
        current = await _find_current(conn)
        if current is not None and current >= newest_revision():
            if current > newest_revision():
                _log.warning("the database is ahead of this master", extra={"at": current})
            return []
        missing = [
            (revision, sql)
            for revision, sql in _list_after(current)
            if upto is None or revision <= upto
        ]
        for revision, sql in missing:
            async with _logged(conn, revision):
                await _apply(conn, revision, sql)
            if current is not None:
                _log.info("migrated the database", extra={"revision": revision})
        if current is None and missing:
            _log.info("made the tables", extra={"revision": missing[-1][0]})
        return [revision for revision, _ in missing]
    finally:
        if not conn.is_closed():  # else it would hide why
            await conn.execute("SELECT pg_advisory_unlock($1)", _LOCK)


async def _apply(conn: Conn, revision: str, sql: str, deadlocks: int = 0) -> None:
    """Run a migration in a transaction; again if it met statements of another master."""
    try:
        async with conn.transaction():
            await conn.execute(sql)
            await conn.execute("DELETE FROM alembic_version")
            await conn.execute("INSERT INTO alembic_version (version_num) VALUES ($1)", revision)
    except asyncpg.DeadlockDetectedError:
        if deadlocks == MAX_DEADLOCKS:
            raise
        _log.info("a deadlock with another master: once more", extra={"revision": revision})
        await _apply(conn, revision, sql, deadlocks + 1)


@contextlib.asynccontextmanager
async def _logged(conn: Conn, revision: str) -> AsyncIterator[None]:
    """Log what a migration says of itself (`RAISE NOTICE`), and that it still runs."""

    def log_notice(_: Any, message: Any) -> None:
        _log.info(message.message, extra={"revision": revision})

    conn.add_log_listener(log_notice)
    progress = asyncio.create_task(_log_progress(revision))
    try:
        yield
    finally:
        progress.cancel()
        conn.remove_log_listener(log_notice)


async def _log_progress(revision: str) -> None:
    started_s = clock.monotonic_s()
    while True:
        await asyncio.sleep(PROGRESS_S)
        _log.info(
            "the database is being migrated: the master waits for it",
            extra={"revision": revision, "seconds": round(clock.monotonic_s() - started_s)},
        )


def newest_revision() -> str:
    """The revision of this release; revisions are four digits and sort as text."""
    return max(path.name[:4] for path in _DIRECTORY.glob("*.sql"))


async def _find_current(conn: Conn) -> str | None:
    try:
        current: str | None = await conn.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        await conn.execute(
            "CREATE TABLE alembic_version (version_num varchar(32) NOT NULL PRIMARY KEY)"
        )
        return None
    return current


def _list_after(current: str | None) -> list[tuple[str, str]]:
    """Revisions after `current` in their order, each with its SQL."""
    files = sorted(_DIRECTORY.glob("*.sql"))
    return [(f.name[:4], f.read_text()) for f in files if current is None or f.name[:4] > current]

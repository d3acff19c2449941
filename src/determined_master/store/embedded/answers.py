"""Ask an embedded PostgreSQL whether it answers, and wait until it does."""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

import asyncpg

from determined_master import clock
from determined_master.store.embedded.files import DATABASE, PORT, USER, Layout
from determined_master.store.embedded.processes import Server

_log = logging.getLogger(__name__)

QUERY_DEADLINE_S = 5.0
_POLL_S = 0.01
_SLOW_POLL_S = 0.5
TELL_EVERY_S = 10.0
_NO_ANSWER = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


def connection_options(layout: Layout, database: str = DATABASE) -> dict[str, str | int]:
    """Keyword arguments of `asyncpg.connect` for this server."""
    return {
        "host": str(layout.socket_dir),
        "port": PORT,
        "user": USER,
        "password": layout.password.read_text().strip(),
        "database": database,
    }


async def answers(layout: Layout, deadline_s: float, server: Server) -> bool:
    """Whether a query is answered before the process ends, and before the deadline.

    While the server reports that it is starting up, the deadline is extended: after a crash it
    replays its last writes, and ending it makes it start over.

    Args:
        layout: where the server's files lie.
        deadline_s: how long it may say nothing.
        server: its process.
    """
    socket = layout.socket_dir / f".s.PGSQL.{PORT}"
    began = logged = last = clock.monotonic_s()
    while server.is_alive():
        answer = await _answer_now(layout) if socket.exists() else "nothing"
        now = clock.monotonic_s()
        if answer == "rows":
            return True
        if answer == "later":
            last = now
        elif now > last + deadline_s:
            return False
        if now > logged + TELL_EVERY_S:
            logged = now
            why = "it recovers from a crash" if answer == "later" else "it does not answer"
            waited = {"pid": server.pid, "waited_s": round(now - began)}
            _log.warning("waiting for PostgreSQL: %s", why, extra=waited)
        # Often at first, when it is about to come; each question costs the server a process.
        await asyncio.sleep(min(max(_POLL_S, (now - began) / 50), _SLOW_POLL_S))
    return False


async def _answer_now(layout: Layout) -> Literal["rows", "later", "nothing"]:
    """Ask for the master's database, which the first start makes here."""
    try:
        conn = await asyncpg.connect(
            **connection_options(layout), ssl=False, timeout=QUERY_DEADLINE_S
        )
    except asyncpg.InvalidCatalogNameError:
        conn = await asyncpg.connect(**connection_options(layout, "postgres"), ssl=False)
        try:
            await conn.execute(f"CREATE DATABASE {DATABASE}")
        finally:
            await conn.close()
        return "rows"
    except asyncpg.CannotConnectNowError as error:
        return "later" if "shutting down" not in str(error) else "nothing"
    except _NO_ANSWER:
        return "nothing"
    try:
        number = await conn.fetchval("SELECT 1", timeout=QUERY_DEADLINE_S)
        return "rows" if number == 1 else "nothing"
    except _NO_ANSWER:
        return "nothing"
    finally:
        conn.terminate()

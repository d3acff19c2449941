"""Leader election: an advisory lock held by a connection, and an epoch raised with it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from determined_master.engine.applying.statements import EPOCH_LOCK
from determined_master.engine.errors import TermEnded
from determined_master.engine.inbox import POSTED, SETTLED
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.db import Address, connect

_log = logging.getLogger(__name__)
_LEADER_LOCK = 0x64657403
_TRY_S = 0.5
_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"
_BACK_OFF_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_BEAT_S = 5.0
_BEAT_DEADLINE_S = 10.0
_KEEP_ALIVE_S = 10

LeadCallback = Callable[[int], Awaitable[None]]
"""Works under an epoch until cancelled; an exception ends the term."""


class Leadership:
    """Campaigns for leadership as long as it runs, and watches the lock's connection.

    Args:
        notified: called with a channel's name for every notification on the engine's channels.
    """

    def __init__(
        self, address: Address, lead: LeadCallback, notified: Callable[[str], None]
    ) -> None:
        self._address = address
        self._lead = lead
        self._notified = notified

    async def run(self) -> None:
        """Campaign, lead, and campaign again after a loss; until cancelled."""
        failures = 0
        while True:
            try:
                conn = await connect(self._address)
            except DATABASE_ERRORS as error:
                _log.warning("the database does not answer", extra={"error": repr(error)})
                await asyncio.sleep(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
                continue
            try:
                await self._campaign(conn)
                failures = 0
            except (*DATABASE_ERRORS, TermEnded) as error:
                _log.warning("lost the lead", extra={"error": repr(error)})
            except Exception:
                _log.exception("leading has failed")
            finally:
                conn.terminate()  # releases the lock in any case
            await asyncio.sleep(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
            failures += 1

    async def _campaign(self, conn: Any) -> None:
        """Wait for the lock, then lead until the connection or the work fails."""
        lost = asyncio.Event()
        conn.add_termination_listener(lambda _: lost.set())
        _keep_alive(conn)
        for channel in (POSTED, SETTLED):
            await conn.add_listener(channel, self._on_notify)
        if not await conn.fetchval(_TRY_LOCK, _LEADER_LOCK):
            _log.info(
                "another master leads on this database; this one takes over when the other stops"
            )
            # The lock does not announce that it is free: try now and then.
            while not await conn.fetchval(_TRY_LOCK, _LEADER_LOCK):  # noqa: ASYNC110
                await asyncio.sleep(_TRY_S)
        epoch = await _raise_epoch(conn)
        _log.info("leading", extra={"epoch": epoch})
        work = asyncio.ensure_future(self._lead(epoch))
        watch = asyncio.ensure_future(_watch(conn, lost))
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Stop all work first; only then may any process, including this one, try again.
            work.cancel()
            watch.cancel()
            results = await asyncio.gather(work, watch, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise _first(result)

    def _on_notify(self, conn: Any, pid: int, channel: str, payload: str) -> None:
        self._notified(channel)


async def _raise_epoch(conn: Any) -> int:
    """Wait for the transactions of a former leader to end, then prevent further ones."""
    async with conn.transaction():
        await conn.execute("SELECT pg_advisory_xact_lock($1)", EPOCH_LOCK)
        epoch: int = await conn.fetchval("UPDATE leader SET epoch = epoch + 1 RETURNING epoch")
    return epoch


async def _watch(conn: Any, lost: asyncio.Event) -> None:
    """Return when the connection that holds the lock is lost or does not answer."""
    while not lost.is_set():
        try:
            async with asyncio.timeout(_BEAT_S):
                await lost.wait()
        except TimeoutError:
            await conn.execute("SELECT 1", timeout=_BEAT_DEADLINE_S)


def _first(error: Exception) -> Exception:
    """The cause inside nested exception groups."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _keep_alive(conn: Any) -> None:
    """Let the kernel detect within half a minute that the server's machine has failed."""
    transport = getattr(conn, "_transport", None)
    sock = None if transport is None else transport.get_extra_info("socket")
    if sock is None or sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_ALIVE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)

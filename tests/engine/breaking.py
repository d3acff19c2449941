"""Connections that break on purpose: at a chosen statement, or between COMMIT and its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from determined_master.engine.connection import engine_connect
from determined_master.store.db import Address


class BreakPlan:
    """Breaks the connection once, before or after the server runs statement number `at`."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.is_after = False
        self.count = 0

    def arm(self, at: int, *, is_after: bool) -> None:
        self.at, self.is_after, self.count = at, is_after, 0

    @property
    def has_broken(self) -> bool:
        return self.at is None


class BreakingConnection:
    """A connection whose statements are counted."""

    def __init__(self, conn, plan: BreakPlan) -> None:
        self._conn = conn
        self._plan = plan

    def is_closed(self) -> bool:
        return self._conn.is_closed()

    def terminate(self) -> None:
        self._conn.terminate()

    def __getattr__(self, name: str) -> Callable:
        method = getattr(self._conn, name)

        async def counted(*args, **options):
            plan = self._plan
            plan.count += 1
            is_now = plan.count == plan.at
            if is_now:
                plan.at = None
                if not plan.is_after:
                    self._conn.terminate()
            result = await method(*args, **options)
            if is_now:
                self._conn.terminate()
                raise ConnectionResetError("broken on purpose")
            return result

        return counted


def breaking_connect(address: Address, plan: BreakPlan):
    connect = engine_connect(address)

    async def open_one():
        return BreakingConnection(await connect(), plan)

    return open_one


class Proxy:
    """Forwards a Unix socket; when armed, cuts a connection in place of its answer to COMMIT."""

    def __init__(self) -> None:
        self.is_armed = False
        self.cuts = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task] = set()

    @asynccontextmanager
    async def before(self, address: Address, directory: Path):
        """Yields the address at which the proxy stands before the server."""
        path = f"/.s.PGSQL.{address.port}"
        real = address.host + path

        async def accept(reader, writer):
            to_server = await asyncio.open_unix_connection(real)
            self._writers |= {writer, to_server[1]}
            self._tasks.add(asyncio.current_task())
            await asyncio.gather(
                self._copy(reader, to_server[1]), self._copy(to_server[0], writer, watch=True)
            )

        server = await asyncio.start_unix_server(accept, str(directory) + path)
        try:
            yield replace(address, host=str(directory))
        finally:
            server.close()
            for writer in self._writers:
                writer.close()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.gather(*(w.wait_closed() for w in self._writers), return_exceptions=True)

    async def _copy(self, reader, writer, *, watch: bool = False) -> None:
        while data := await _read(reader):
            if watch and self.is_armed and b"COMMIT\x00" in data:
                self.is_armed = False
                self.cuts += 1
                break
            writer.write(data)
        writer.close()


async def _read(reader) -> bytes:
    try:
        return await reader.read(1 << 16)
    except ConnectionError:
        return b""

"""The master's data: the user's PostgreSQL, or the embedded one with the files beside it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.store.db import Address, check_server, connect, embedded_address
from determined_master.store.embedded.files import Layout, default_layout
from determined_master.store.embedded.server import EmbeddedServer, told_when_full
from determined_master.store.errors import DataDirInUse, NoDataDir, Unreachable
from determined_master.store.migrate import migrate

if TYPE_CHECKING:
    from determined_master.settings.master import Settings

log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""How long a master that starts waits for the user's PostgreSQL to answer."""
_PAUSE_S = 0.5


def secrets_dir(settings: Settings) -> Path | None:
    """The directory of the first password, beside the embedded database; None with the user's."""
    return None if settings.db.host else layout_of(settings).root.parent


def layout_of(settings: Settings) -> Layout:
    """The location of the master's own PostgreSQL."""
    if settings.db.data_dir:
        return Layout(Path(settings.db.data_dir).absolute())
    return default_layout(settings.cluster_name or "determined")


@contextlib.asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[Address]:
    """A database: the user's, or our own, which runs as long as this does.

    It is migrated, except for `restore`, which needs an empty one. `backup` and `simulate` may use
    the server of a running master, and create no database where there is none.
    """
    if settings.db.host:
        address = Address(
            host=settings.db.host,
            port=settings.db.port,
            user=settings.db.user,
            password=settings.db.password,
            database=settings.db.name,
            ssl_mode=settings.db.ssl_mode,
            ssl_root_cert=settings.db.ssl_root_cert or None,
        )
        await _wait_for(address, PATIENCE_S if settings.command in ("run", "migrate") else 0.0)
        await _migrate(address, settings)
        yield address
        return
    layout = layout_of(settings)
    reads = settings.command in ("backup", "simulate")
    if reads and not layout.is_made:
        raise NoDataDir(layout.root, settings.command)
    server = EmbeddedServer(layout)
    try:
        await server.start()
    except DataDirInUse:
        if not reads:
            raise
        yield embedded_address(server.connection_options)
        return
    try:
        with told_when_full(layout):
            address = embedded_address(server.connection_options)
            await _migrate(address, settings)
            async with _supervised(server):
                yield address
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def _supervised(server: EmbeddedServer) -> AsyncIterator[None]:
    """Keep it running; errors of the code that uses the database are raised unchanged."""
    try:
        async with asyncio.TaskGroup() as group:
            supervisor = group.create_task(server.supervise())
            yield
            supervisor.cancel()
    except ExceptionGroup as group_of_one:
        # Errors of the database's users: reported as they would be with the user's own database.
        if len(group_of_one.exceptions) > 1:
            raise
        raise group_of_one.exceptions[0] from None


def default_storage(settings: Settings) -> Path | None:
    """The default checkpoint storage, beside the embedded database."""
    return None if settings.db.host else layout_of(settings).root.parent / "checkpoints"


async def _wait_for(address: Address, patience_s: float) -> None:
    """Check the user's PostgreSQL, which may be started at the same time as the master.

    Raises:
        DatabaseError: it cannot be used, or did not answer for `patience_s`.
    """
    until = clock.monotonic_s() + patience_s
    is_told = False
    while True:
        try:
            await check_server(address)
            return
        except Unreachable as error:
            if not error.may_start or clock.monotonic_s() >= until:
                raise
            if not is_told:
                log.warning("%s; it is tried again for %g s", error.text, patience_s)
            is_told = True
        await asyncio.sleep(_PAUSE_S)


async def _migrate(address: Address, settings: Settings) -> None:
    if settings.command == "restore":
        return
    conn = await connect(address)
    try:
        await migrate(conn)
    finally:
        await conn.close()

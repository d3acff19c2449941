"""Runs the master, or saves and restores its database.

`main.py` imports it only for a command that needs it: it brings all of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import uvicorn

from determined_master import app
from determined_master.composition import database
from determined_master.domain.addresses import networks_of
from determined_master.server import open_files
from determined_master.server.forwarded import ServerConfig
from determined_master.server.framed_socket import FramedSocket
from determined_master.server.garbage import tune_garbage_collector
from determined_master.server.listeners import listen
from determined_master.server.proxied_http import ProxyingHttp
from determined_master.server.service_status import show_status
from determined_master.server.tls import follow_renewals, server_context
from determined_master.services.access.passwords import Passwords
from determined_master.services.cluster.bootstrap import bootstrap
from determined_master.settings import master as settings
from determined_master.store.backup import back_up, read_manifest, restore
from determined_master.store.db import Address, connect, open_database
from determined_master.sweeps.periodic import keep_running

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.001
"""How long the event loop waits for a thread that computes; it waits several times a request."""


async def run(chosen: settings.Settings) -> None:
    if chosen.command == "restore":
        read_manifest(Path(chosen.directory))  # before a database is created
    async with database.database(chosen) as address:
        if chosen.command == "run":
            await _serve(chosen, address)
            return
        if chosen.command == "migrate":
            sys.stdout.write("the tables are those of this version\n")
            return
        conn = await connect(address)
        try:
            if chosen.run.simulate is not None:
                from determined_master.composition import simulation

                sys.stdout.write(await simulation.run_recorded(chosen.run.simulate, conn))
                return
            move = back_up if chosen.command == "backup" else restore
            manifest = await move(conn, Path(chosen.directory))
        finally:
            await conn.close()
        done = "saved" if chosen.command == "backup" else "restored"
        rows = sum(table.rows for table in manifest.tables)
        counted = f"{rows} row{'' if rows == 1 else 's'}"
        sys.stdout.write(f"{done} {counted} of {len(manifest.tables)} tables\n")


async def _serve(chosen: settings.Settings, address: Address) -> None:
    open_files.raise_limit()
    has_default = chosen.proxy.port is None and not chosen.proxy.address
    asked_port = None if has_default else chosen.proxy.port or 0
    listeners, services_port = listen(chosen.host, chosen.port, asked_port)
    proxy = msgspec.structs.replace(chosen.proxy, port=services_port)
    chosen = msgspec.structs.replace(chosen, proxy=proxy)
    passwords = Passwords()
    pool = await open_database(address)
    try:
        cluster = await bootstrap(
            pool, passwords, chosen.security.initial_user_password, database.secrets_dir(chosen)
        )
        master = app.App(chosen, address, pool, cluster, passwords)
        await master.check_pools()
        server = _Server(_web(chosen, master))
        tune_garbage_collector()
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        await _until_signal(master, server, listeners)
        master.close()
    finally:
        pool.terminate()
        passwords.close()
        for listener in listeners:
            listener.close()


def _web(chosen: settings.Settings, master: app.App) -> uvicorn.Config:
    """How the API is served."""
    config = ServerConfig(
        master.asgi,
        http=ProxyingHttp,
        ws=FramedSocket,
        loop="none",
        lifespan="off",
        access_log=False,
        proxy_headers=False,
        log_config=None,
        server_header=False,
        ws_max_size=32 * 1024 * 1024,
        ws_ping_interval=15.0,
        ws_ping_timeout=60.0,
        timeout_graceful_shutdown=2,
        backlog=2048,
    )
    config.trusted_proxies = networks_of(chosen.security.trusted_proxies)
    config.load()  # before that it has no `ssl`
    tls = chosen.security.tls
    if tls.cert:
        manager = chosen.agents
        ca = manager.client_ca if manager.require_authentication else ""
        config.ssl = server_context(tls, ca)
    return config


async def _until_signal(master: app.App, server: _Server, listeners: list[socket.socket]) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(master.run(ready))
        if not await _comes_first(ready, stop):
            running.cancel()
            return
        serving = group.create_task(server.serve(sockets=listeners))
        background = [running]
        if context := server.config.ssl:
            renewals = partial(follow_renewals, context, master.settings.security.tls)
            background.append(group.create_task(keep_running(renewals)))
        address = _shown_address(master.settings)
        log.info("the master is ready", extra={"address": address})
        show_status(f"is ready at {address}")
        account = master.settings.security.default_task
        log.info(
            "tasks of users without an agent user run as security.default_task, or as the agent's "
            "account where the agent is not root",
            extra={"user": account.user, "uid": account.uid},
        )
        await stop.wait()
        show_status("is stopping")
        server.should_exit = True
        await serving
        for task in background:
            task.cancel()


async def _comes_first(event: asyncio.Event, other: asyncio.Event) -> bool:
    """Whether the event happens before the other: a master may wait for leadership for days."""
    waits = [asyncio.ensure_future(e.wait()) for e in (event, other)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        return event.is_set()
    finally:
        for wait in waits:
            wait.cancel()


def _shown_address(chosen: settings.Settings) -> str:
    scheme = "https" if chosen.security.tls.cert else "http"
    return f"{scheme}://{chosen.host}:{chosen.port}"


class _Server(uvicorn.Server):
    """A server that leaves signals to the master."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

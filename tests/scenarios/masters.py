"""A whole master in this process, at a real port, for simulated agents; and the next one."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

from tests.agent_link import Listener
from tests.api.client import Client
from tests.api.master import PASSWORD

from determined_master import clock
from determined_master.app import App
from determined_master.services.access.auth import Auth
from determined_master.services.access.passwords import Passwords
from determined_master.services.cluster.bootstrap import bootstrap
from determined_master.settings.master import Settings
from determined_master.store.db import Address, open_database
from determined_master.store.logs import task_logs


@contextlib.asynccontextmanager
async def master(
    database: Address, passwords: Passwords, listener: Listener, settings: Settings
) -> AsyncIterator[tuple[App, Client]]:
    """Everything that a leading master runs; agents come in by the listener. And a client."""
    pool = await open_database(database)
    try:
        async with pool.acquire() as conn:
            await task_logs.ensure_partitions(conn, clock.now().date())
        cluster = await bootstrap(pool, passwords, PASSWORD, None)
        app = App(settings, database, pool, cluster, passwords)
        listener.backend = app.admission
        ready = asyncio.Event()
        running = asyncio.create_task(app.run(ready))
        await asyncio.wait_for(ready.wait(), 60)
        opened = await app.services[Auth].login("admin", PASSWORD, is_hashed=False)
        try:
            yield app, Client(app.asgi, opened.token)
        finally:
            listener.backend = None
            running.cancel()
            done, _ = await asyncio.wait({running}, timeout=30)
            assert done, "the master does not end"
            app.close()
    finally:
        await pool.close()


async def submit(client: Client, slots: int) -> int:
    """An experiment of one trial with so many slots, of one empty file; the trial's id."""
    config = {
        "name": "gang",
        "entrypoint": "python3 train.py",
        "searcher": {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": slots},
        "max_restarts": 0,
    }
    file = {"path": "train.py", "type": 48, "content": "", "mtime": "1700000000", "mode": 0o644}
    body = {"config": json.dumps(config), "modelDefinition": [file], "activate": True}
    made = await client("POST", "/api/v1/experiments", body)
    assert made.status == 200, made.body
    experiment_id = made.json()["experiment"]["id"]
    while True:
        listed = await client("GET", f"/api/v1/experiments/{experiment_id}/trials")
        if trials := listed.json()["trials"]:
            return int(trials[0]["id"])
        await asyncio.sleep(0.01)

"""One master for all tests of a file: to start one for each costs more than most tests do."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from tests.api.client import Client
from tests.api.master import PASSWORD, running_app
from tests.api.samples import World
from tests.ready_database import ready_database

from determined_master.services.access.auth import Auth
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, open_database


@contextlib.asynccontextmanager
async def shared_world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    """A master on a database of its own, with a client of the admin and one of a user."""
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_app(address, pool, passwords) as app,
    ):
        clients = {}
        for name, username in (("admin", "admin"), ("user", "determined")):
            opened = await app.services[Auth].login(username, PASSWORD, is_hashed=False)
            clients[name] = Client(app.asgi, opened.token)
        yield World(app.services, app.engine, {}, clients)

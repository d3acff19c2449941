"""One master for all tests of a file: to start one for each costs more than most tests do."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.samples import World
from tests.postgres import new_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, open_database


@contextlib.asynccontextmanager
async def shared_world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    """A master on a database of its own, with a client of the admin and one of a user."""
    async with (
        new_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, engine),
    ):
        api = Api(all_routes(), services, services[Identities])
        clients = {}
        for name, username in (("admin", "admin"), ("user", "determined")):
            opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
            clients[name] = Client(api, opened.token)
        yield World(services, engine, {}, clients)
        api.close()

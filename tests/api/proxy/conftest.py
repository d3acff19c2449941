"""A master over a socket, and what a task of its serves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from tests.api.master import PASSWORD, running_services
from tests.api.proxy.proxied import (
    Backend,
    Master,
    listening,
    serving,
)
from tests.postgres import new_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, open_database


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[Master]:
    async with (
        new_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
    ):
        api = Api(all_routes(), services, services[Identities])
        async with serving(api) as port:
            opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
            yield Master(services, port, opened.token)
        api.close()


@pytest_asyncio.fixture(loop_scope="module")
async def backend() -> AsyncIterator[Backend]:
    async with listening() as made:
        yield made

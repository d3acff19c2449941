"""A whole API on a real database, with three users and a client for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.samples import World
from tests.api.several_pools import several_pools

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.catalog import Services
from determined_master.store.db import Address, Database


@pytest.fixture(scope="session")
def passwords() -> Iterator[Passwords]:
    """As cheap as argon2 can be."""
    made = Passwords(memory_kib=8, time_cost=1)
    yield made
    made.close()


@pytest.fixture
async def services(
    database: Address, pool: Database, passwords: Passwords
) -> AsyncIterator[Services]:
    async with running_services(database, pool, passwords) as (made, _):
        yield made


@pytest.fixture
async def api(services: Services) -> AsyncIterator[Api]:
    made = Api(all_routes(), services, services[Identities])
    yield made
    made.close()


@pytest.fixture
def anonymous(api: Api) -> Client:
    return Client(api)


@pytest.fixture
async def admin(api: Api, services: Services) -> Client:
    return Client(api, await token_of(services, "admin"))


@pytest.fixture
async def user(api: Api, services: Services) -> Client:
    return Client(api, await token_of(services, "determined"))


async def token_of(services: Services, username: str) -> str:
    opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
    return opened.token


@pytest.fixture
async def world(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    """A master whose engine a test may tell what an agent would."""
    async with running_services(database, pool, passwords) as (services, engine):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
        yield World(services, engine, {}, {"admin": Client(api, opened.token)})
        api.close()


@pytest.fixture
async def pools(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    """A master with several resource pools."""
    async with several_pools(database, pool, passwords) as made:
        yield made

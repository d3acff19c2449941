"""A whole API on a real database, with three users and a client for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.api.client import Client
from tests.api.master import PASSWORD, running_app
from tests.api.samples import World
from tests.api.several_pools import several_pools
from tests.ready_database import ready_database

from determined_master.api.http.exchange import Asgi
from determined_master.app import App
from determined_master.services.access.auth import Auth
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
async def database(postgres: Address) -> AsyncIterator[Address]:
    """A fresh database that a master has started on before."""
    async with ready_database(postgres) as made:
        yield made


@pytest.fixture
async def app(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[App]:
    async with running_app(database, pool, passwords) as made:
        yield made


@pytest.fixture
def services(app: App) -> Services:
    return app.services


@pytest.fixture
def api(app: App) -> Asgi:
    return app.asgi


@pytest.fixture
def anonymous(api: Asgi) -> Client:
    return Client(api)


@pytest.fixture
async def admin(api: Asgi, services: Services) -> Client:
    return Client(api, await token_of(services, "admin"))


@pytest.fixture
async def user(api: Asgi, services: Services) -> Client:
    return Client(api, await token_of(services, "determined"))


async def token_of(services: Services, username: str) -> str:
    opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
    return opened.token


@pytest.fixture
async def world(app: App, admin: Client) -> World:
    """A master whose engine a test may tell what an agent would."""
    return World(app.services, app.engine, {}, {"admin": admin})


@pytest.fixture
async def pools(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[World]:
    """A master with several resource pools."""
    async with several_pools(database, pool, passwords) as made:
        yield made

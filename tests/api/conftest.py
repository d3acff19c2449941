"""A whole API on a real database, with three users and a client for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
from tests.api.client import Client

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.auth import Auth
from determined_master.services.catalog import Services
from determined_master.services.identities import Identities
from determined_master.services.master import Master, MasterFacts
from determined_master.services.passwords import Passwords
from determined_master.services.users import Users
from determined_master.store.pool import Pool

PASSWORD = "Secret-1234"
MASTER_ID = "1d1c5a5e-4d1a-4f0b-9d57-0e0f4c6f6a01"
CLUSTER_ID = "7b0a7c1e-98d5-4c0e-8a68-4f1d6d1c0b02"
SETTINGS = {
    "port": 8080,
    "db": {"host": "127.0.0.1", "user": "postgres", "password": "deep"},
    "checkpoint_storage": {"type": "s3", "secret_key": "deep", "access_key": None},
}


@pytest.fixture(scope="session")
def passwords() -> Iterator[Passwords]:
    """As cheap as argon2 can be."""
    made = Passwords(memory_kib=8, time_cost=1)
    yield made
    made.close()


@pytest.fixture
async def services(pool: Pool, passwords: Passwords) -> Services:
    identities = Identities(pool)
    users = Users(pool, passwords, identities)
    await users.create_first(PASSWORD)
    facts = MasterFacts(version="0.39.0", master_id=MASTER_ID, cluster_id=CLUSTER_ID)
    return Services(
        auth=Auth(pool, passwords, identities),
        users=users,
        master=Master(facts, pool, lambda: SETTINGS),
        identities=identities,
    )


@pytest.fixture
async def api(services: Services) -> AsyncIterator[Api]:
    made = Api(all_routes(), services, services.identities)
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
    opened = await services.auth.login(username, PASSWORD, is_hashed=False)
    return opened.token


@dataclass(frozen=True)
class Callers:
    """All of them, for tests that go by a name."""

    anonymous: Client
    user: Client
    admin: Client


@pytest.fixture
def callers(anonymous: Client, user: Client, admin: Client) -> Callers:
    return Callers(anonymous, user, admin)

"""A master where roles decide, and a user whose roles are gone after each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.api.client import Client
from tests.api.hidden import (
    hidden_world,
)
from tests.api.samples import World

from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.store.db import Address


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def whole(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def world(whole: World) -> AsyncIterator[World]:
    """The user has no role; whatever a test gives is taken away."""
    yield whole
    async with whole.services[Users]._db.acquire() as conn:
        await conn.execute("DELETE FROM role_assignments WHERE user_id = 2 OR group_id > 1")
        await conn.execute("DELETE FROM user_groups WHERE id > 1")
    whole.services[Identities].forget_rights()


@pytest.fixture
def admin(world: World) -> Client:
    return world.clients["admin"]


@pytest.fixture
def user(world: World) -> Client:
    return world.clients["user"]


@pytest.fixture
def hush(world: World) -> int:
    """The workspace that has everything."""
    return int(world.names["workspace"])

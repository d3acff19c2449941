"""Two users, an admin and a master on a database of its own, attacked over HTTP alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from tests.api.hidden import hidden_world
from tests.api.samples import World
from tests.api.shared_world import shared_world

from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address


@pytest.fixture(scope="session")
def passwords() -> Iterator[Passwords]:
    """As cheap as argon2 can be."""
    made = Passwords(memory_kib=8, time_cost=1)
    yield made
    made.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    """Clients `admin` and `user`, in a cluster without roles."""
    async with shared_world(postgres, passwords) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def hidden(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    """A cluster where roles decide; the client `user` has none."""
    async with hidden_world(postgres, passwords) as made:
        yield made

"""A master over a socket, and what a task of its serves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from tests.api.proxy.proxied import Backend, Master, listening
from tests.api.proxy.running import running_master

from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[Master]:
    async with running_master(postgres, passwords) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def backend() -> AsyncIterator[Backend]:
    async with listening() as made:
        yield made

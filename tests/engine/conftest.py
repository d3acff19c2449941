"""A running engine on the toy aggregate."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.engine import toy
from tests.engine.toy import TALLY

from determined_master.engine import Engine, EngineSettings, RetryPolicy
from determined_master.store.db import Address, Database
from determined_wire.backoff import Backoff

QUICK = EngineSettings(retry=RetryPolicy(attempts=3, backoff=Backoff(0.005, 0.02)))


@pytest.fixture
async def toy_pool(pool: Database) -> Database:
    """A database with the toy's tables."""
    await pool.execute(toy.TABLES)
    return pool


@pytest.fixture
async def engine(database: Address, toy_pool: Database) -> AsyncIterator[Engine]:
    """An engine that leads; its handler posts the echo back."""
    made = make_engine(database, toy_pool)
    async with made:
        await made.wait_until_leading()
        yield made


def make_engine(database: Address, pool: Database, *, echo: bool = True, **options) -> Engine:
    made = Engine(database, pool, [toy.TALLY], settings=QUICK, **options)

    async def send_back(effect, context):
        await context.post(TALLY, context.aggregate_id, toy.Echoed(effect.text))

    if echo:
        made.handlers.register(toy.Echo, send_back)
    return made

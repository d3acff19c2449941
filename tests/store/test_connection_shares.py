"""Requests of one user leave connections to the database to those of others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from determined_master.ports import answered_request
from determined_master.store.db import Address, Database, open_database

ANN, BOB = 1, 2
SIZE = 4


@pytest.fixture
async def small(database: Address):
    async with await open_database(database, min_size=1, max_size=SIZE) as pool:
        yield pool


class Requests:
    """Requests that hold a connection until they may end."""

    def __init__(self, pool: Database) -> None:
        self.pool = pool
        self.holding = 0
        self.may_end = asyncio.Event()

    async def hold(self) -> None:
        async with self.pool.acquire():
            self.holding += 1
            await self.may_end.wait()

    def start(self, user_id: int) -> asyncio.Task[None]:
        return asyncio.create_task(answer(user_id, self.hold()))

    async def until_holding(self, count: int) -> None:
        async with asyncio.timeout(60):
            while self.holding < count:  # noqa: ASYNC110  the pool tells nobody
                await asyncio.sleep(0.001)


async def answer(user_id: int, request: Coroutine[Any, Any, None]) -> None:
    answered_request.begin(user_id, answer)
    await request


async def test_half_of_the_connections_are_left_to_others(small: Database) -> None:
    requests = Requests(small)
    many = [requests.start(ANN) for _ in range(3 * SIZE)]
    await requests.until_holding(SIZE // 2)
    other = requests.start(BOB)
    await requests.until_holding(SIZE // 2 + 1)
    assert requests.holding == SIZE // 2 + 1
    requests.may_end.set()
    await asyncio.gather(*many, other)
    assert requests.holding == 3 * SIZE + 1
    assert not small._slots._counts
    assert not small._requests


async def test_a_request_that_holds_one_gets_the_next_at_once(small: Database) -> None:
    async def nested() -> None:
        async with small.acquire(), small.acquire() as conn:
            assert await conn.fetchval("SELECT 1") == 1

    requests = Requests(small)
    first = requests.start(ANN)
    await requests.until_holding(1)
    async with asyncio.timeout(60):
        await asyncio.create_task(answer(ANN, nested()))
    requests.may_end.set()
    await first
    assert not small._slots._counts


async def test_a_request_that_goes_while_it_waits_takes_none(small: Database) -> None:
    requests = Requests(small)
    many = [requests.start(ANN) for _ in range(SIZE)]
    await requests.until_holding(SIZE // 2)
    waiting = requests.start(ANN)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    requests.may_end.set()
    await asyncio.gather(*many)
    assert not small._slots._counts


async def test_tasks_that_a_request_starts_have_no_share(small: Database) -> None:
    requests = Requests(small)
    started: list[asyncio.Task[None]] = []

    async def start() -> None:
        started.extend(asyncio.create_task(requests.hold()) for _ in range(SIZE))

    await answer(ANN, start())
    await requests.until_holding(SIZE)
    requests.may_end.set()
    await asyncio.gather(*started)

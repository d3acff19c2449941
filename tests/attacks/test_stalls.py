"""N10: no single request at its bounds stalls the master.

Each route gets requests with one of its fields as large as the bound of that field. What counts
is the time of the processor between two turns of the event loop: a busy machine adds none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.api.hidden import hidden_world
from tests.api.largest import large_values
from tests.api.samples import World
from tests.api.whole_requests import ROUTES, requests_to

from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
MAX_STALL_S = 0.25
"""Seconds of the processor between two turns of the event loop."""
TURN_S = 0.001


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


class Stalls:
    """The longest time of the processor between two turns of the loop."""

    longest_s = 0.0

    async def watch(self) -> None:
        """Watch until cancelled."""
        last = time.thread_time()
        while True:
            await asyncio.sleep(TURN_S)
            now = time.thread_time()
            self.longest_s = max(self.longest_s, now - last)
            last = now


async def test_no_request_at_its_bounds_stalls_the_master(world: World) -> None:
    client = world.clients["admin"]
    stalls = Stalls()
    rows: list[tuple[float, str, str, int]] = []
    watching = asyncio.create_task(stalls.watch())
    try:
        for route in ROUTES:
            for target, body in requests_to(world, route, large_values):
                await asyncio.sleep(2 * TURN_S)  # what made the request counts no more
                stalls.longest_s = 0.0
                answer = await client(route.method, target, body)
                await asyncio.sleep(2 * TURN_S)
                sent = (body or target.encode())[:200].decode()
                rows.append(
                    (stalls.longest_s, route.method + " " + route.path, sent, answer.status)
                )
    finally:
        watching.cancel()
    assert len(rows) > 1000
    assert [row for row in rows if row[0] > MAX_STALL_S or row[3] == 500] == []

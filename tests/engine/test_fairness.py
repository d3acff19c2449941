"""A neighbour's effects are carried out while thousands of somebody else's are open."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from tests.engine import toy
from tests.engine.conftest import QUICK
from tests.engine.toy import TALLY

from determined_master.engine import EffectContext, Engine, Posting
from determined_master.engine.turns import Owner
from determined_master.store.db import Address, Database

pytestmark = pytest.mark.slow
HEAVY, LIGHT = "heavy", "light"
EFFECTS = 10_000
AGGREGATES = 500
DEADLINE_S = 60
OWNED = replace(TALLY, owner=lambda state: Owner(f"user of {state.padding}", state.padding))


class Handler:
    """Counts what is carried out; effects of the heavy work wait for `release`."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.release = asyncio.Event()
        self.is_light_done = asyncio.Event()

    async def carry_out(self, effect: toy.Echo, context: EffectContext) -> None:
        work = LIGHT if context.aggregate_id.startswith("z") else HEAVY
        self.begun[work] += 1
        if work == HEAVY:
            await self.release.wait()
        await context.post(OWNED, context.aggregate_id, toy.Echoed(effect.text))
        if work == LIGHT:
            self.is_light_done.set()


def make(address: Address, pool: Database, handler: Handler) -> Engine:
    made = Engine(address, pool, [OWNED], settings=QUICK)
    made.handlers.register(toy.Echo, handler.carry_out)
    return made


def ordering(id: str, work: str, effects: int = 1) -> Posting[str, toy.Tally, toy.TallyEvent]:
    texts = tuple(f"e@{n}" for n in range(effects))
    return Posting(OWNED, id, toy.Added(1, echoes=texts, padding=work), cause="only once")


async def order_many(engine: Engine) -> None:
    each = EFFECTS // AGGREGATES
    await engine.post_many([ordering(f"a{n}", HEAVY, each) for n in range(AGGREGATES)])


async def test_a_neighbour_is_served_while_ten_thousand_effects_are_open(
    database: Address, toy_pool: Database
) -> None:
    handler = Handler()
    engine = make(database, toy_pool, handler)
    async with engine:
        await engine.wait_until_leading()
        await order_many(engine)
        assert await toy_pool.fetchval("SELECT count(*) FROM outbox") == EFFECTS
        async with asyncio.timeout(DEADLINE_S):
            await engine.post_many([ordering("z", LIGHT)])
            await handler.is_light_done.wait()
        assert handler.begun[HEAVY] <= QUICK.retry.concurrency // 4


async def test_a_neighbour_is_served_after_a_restart_too(
    database: Address, toy_pool: Database
) -> None:
    first = make(database, toy_pool, Handler())
    async with first:
        await first.wait_until_leading()
        await order_many(first)
        await toy_pool.execute("UPDATE outbox SET claimed_epoch = 0")
    handler = Handler()
    second = make(database, toy_pool, handler)
    async with second:
        async with asyncio.timeout(DEADLINE_S):
            await second.wait_until_leading()
            await second.post_many([ordering("z", LIGHT)])
            await handler.is_light_done.wait()
        assert handler.begun[HEAVY] <= QUICK.retry.concurrency // 4


async def test_events_of_effects_are_their_owners_work(
    database: Address, toy_pool: Database
) -> None:
    """Events of a heavy work, to aggregates of any kind, leave room in each batch."""
    handler = Handler()
    handler.release.set()
    engine = make(database, toy_pool, handler)
    async with engine:
        await engine.wait_until_leading()
        await order_many(engine)
        async with asyncio.timeout(DEADLINE_S):
            await engine.post_many([ordering("z", LIGHT)])
            await handler.is_light_done.wait()
        left = await toy_pool.fetchval("SELECT count(*) FROM outbox")
    assert left > EFFECTS // 2, "the neighbour did not wait for the others"

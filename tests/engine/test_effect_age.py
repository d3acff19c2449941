"""The age of the oldest effect tells whether the master keeps up with its work."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master import clock
from determined_master.engine import Deferred, EffectContext
from determined_master.store.db import Address, Database

DEADLINE_S = 60


async def test_an_effect_that_could_be_carried_out_is_late_and_a_deferred_one_is_not(
    database: Address, toy_pool: Database
) -> None:
    passed = timedelta(0)
    begun: asyncio.Queue[str] = asyncio.Queue()
    release = asyncio.Event()

    async def carry_out(effect: toy.Echo, context: EffectContext) -> None:
        begun.put_nowait(effect.text)
        if effect.text == "waits":
            raise Deferred("an agent is away", retry_s=3600)
        await release.wait()

    engine = make_engine(database, toy_pool, echo=False, now=lambda: clock.now() + passed)
    engine.handlers.register(toy.Echo, carry_out)
    assert engine.oldest_effect_age_s() is None
    async with engine, asyncio.timeout(DEADLINE_S):
        await engine.wait_until_leading()
        assert engine.oldest_effect_age_s() == 0
        await engine.post(TALLY, "a", toy.Added(1, echoes=("waits", "behind")), cause="1")
        assert await begun.get() == "waits"
        passed = timedelta(hours=1)
        assert engine.oldest_effect_age_s() == 0
        await engine.post(TALLY, "b", toy.Added(1, echoes=("runs",)), cause="1")
        assert await begun.get() == "runs"
        passed = timedelta(hours=2)
        age_s = engine.oldest_effect_age_s()
        assert age_s is not None
        assert 3600 <= age_s < 3600 + DEADLINE_S
        release.set()

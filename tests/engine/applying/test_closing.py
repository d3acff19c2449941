"""Closing effects by one statement."""

from __future__ import annotations

import pytest

from determined_master.engine.applying.closing import close_all
from determined_master.engine.errors import StaleEpoch
from determined_master.engine.kind import EffectId
from determined_master.store.db import Database

CLOSED, OTHER = EffectId("tally", "a", 1, 0), EffectId("tally", "a", 1, 1)


async def order(pool: Database, *effects: EffectId, claimed_epoch: int) -> None:
    for effect in effects:
        await pool.execute(
            "INSERT INTO outbox (kind, id, version, n, effect, ordered_at, claimed_epoch) "
            "VALUES ($1, $2, $3, $4, '{}', now(), $5)",
            *(effect.kind, effect.aggregate, effect.version, effect.n, claimed_epoch),
        )


async def left(pool: Database) -> list[EffectId]:
    rows = await pool.fetch("SELECT kind, id, version, n FROM outbox ORDER BY n")
    return [EffectId(*row) for row in rows]


async def test_those_that_are_named_are_closed_once_or_twice(pool: Database) -> None:
    await pool.execute("UPDATE leader SET epoch = 3")
    await order(pool, CLOSED, OTHER, claimed_epoch=2)
    async with pool.acquire() as conn:
        for _ in range(2):
            assert await close_all(conn, 3, [CLOSED]) == {CLOSED}
    assert await left(pool) == [OTHER]


async def test_an_effect_claimed_by_a_later_leader_stays_its_own(pool: Database) -> None:
    await pool.execute("UPDATE leader SET epoch = 4")
    await order(pool, CLOSED, claimed_epoch=4)
    async with pool.acquire() as conn:
        with pytest.raises(StaleEpoch, match="epoch 4 has begun, this is 3"):
            await close_all(conn, 3, [CLOSED])
        assert await conn.fetchval("SELECT 1") == 1, "the connection can be used again"
    assert await left(pool) == [CLOSED]

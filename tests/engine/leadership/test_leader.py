import asyncio
from typing import Any

import pytest
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master import clock
from determined_master.domain.errors import FailedPrecondition
from determined_master.engine import Engine, NotLeader
from determined_master.engine.applying.queue import Post
from determined_master.engine.applying.transaction import Term, apply_batch
from determined_master.engine.connection import engine_connect
from determined_master.engine.errors import StaleEpoch
from determined_master.store.db import Address, Database

END_LOCK_HOLDER = """
    SELECT pg_terminate_backend(pid)
      FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def test_every_term_has_a_higher_epoch(database: Address, toy_pool: Database) -> None:
    epochs = []
    for _ in range(3):
        async with make_engine(database, toy_pool) as engine:
            epochs.append(await engine.wait_until_leading())
            assert engine.epoch == epochs[-1]
        assert engine.epoch is None
    assert epochs == [1, 2, 3]


@pytest.mark.slow
async def test_a_second_engine_takes_over_when_the_first_ends(
    database: Address, toy_pool: Database
) -> None:
    first, second = make_engine(database, toy_pool), make_engine(database, toy_pool)
    async with second, first:
        leader, other = await _leader_and_other(first, second)
        await leader.post(TALLY, "a", toy.Added(1), cause="1")
        assert not other.is_leader
        epoch = leader.epoch
        await leader.stop()
        assert await other.wait_until_leading() == epoch + 1
        assert (await other.post(TALLY, "a", toy.Added(2), cause="2")).version == 2


@pytest.mark.slow
async def test_a_process_that_does_not_lead_posts_through_the_leader(
    database: Address, toy_pool: Database
) -> None:
    first, second = make_engine(database, toy_pool), make_engine(database, toy_pool)
    async with first, second:
        leader, other = await _leader_and_other(first, second)

        assert (await other.post(TALLY, "a", toy.Added(1), cause="1")).version == 1
        again = await other.post(TALLY, "a", toy.Added(1), cause="1")
        assert (again.version, again.is_duplicate) == (1, True)
        with pytest.raises(FailedPrecondition, match="cannot take -1"):
            await other.post(TALLY, "a", toy.Added(-1), cause="2")
        assert (await other.wait_for(TALLY, "a", lambda t: t.total == 1, 60)).total == 1
        assert (await leader.read(TALLY, "a")).total == 1


@pytest.mark.slow
async def test_waiters_see_changes_of_another_leader(
    database: Address, toy_pool: Database
) -> None:
    first, second = make_engine(database, toy_pool), make_engine(database, toy_pool)
    async with first, second:
        leader, other = await _leader_and_other(first, second)
        await leader.post(TALLY, "a", toy.Added(1), cause="1")
        waiting = asyncio.ensure_future(leader.wait_for(TALLY, "a", lambda t: t.total == 3, 60))
        await _until_heard(leader, "a", waiting)
        await leader.stop()
        await other.wait_until_leading()
        await other.post(TALLY, "a", toy.Added(2), cause="2")
        assert (await waiting).total == 3


@pytest.mark.slow
async def test_waiters_see_commits_between_two_leaderships(
    database: Address, toy_pool: Database
) -> None:
    async with make_engine(database, toy_pool) as engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1), cause="1")
        waiting = asyncio.ensure_future(engine.wait_for(TALLY, "a", lambda t: t.total == 3, 60))
        await _until_heard(engine, "a", waiting)
        await engine.stop()
        async with make_engine(database, toy_pool) as other:
            await other.wait_until_leading()
            await other.post(TALLY, "a", toy.Added(2), cause="2")
        engine.start()
        assert (await waiting).total == 3


async def _until_heard(engine: Engine, id: str, waiting: asyncio.Future[Any]) -> None:
    """Until a wait has seen an event that does not end it, so that nothing is on its way."""
    await engine.post(TALLY, id, toy.Added(0), cause="heard")
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()


@pytest.mark.slow
async def test_sql_cannot_travel_to_the_leader(database: Address, toy_pool: Database) -> None:
    async def within(conn):
        raise AssertionError("never run")

    first, second = make_engine(database, toy_pool), make_engine(database, toy_pool)
    async with first, second:
        _, other = await _leader_and_other(first, second)
        with pytest.raises(NotLeader):
            await other.post(TALLY, "a", toy.Added(1), cause="1", within=within, deadline_s=0.1)


async def test_a_transaction_of_a_former_leader_is_refused(
    engine: Engine, database: Address, toy_pool: Database
) -> None:
    stale = Term(engine.epoch - 1, clock.now)
    future = asyncio.get_running_loop().create_future()
    post = Post(toy.TALLY, "a", toy.Added(1), "1", future)
    conn = await engine_connect(database)()
    try:
        with pytest.raises(StaleEpoch):
            await apply_batch(conn, stale, [post], [])
    finally:
        await conn.close()
    assert await engine.read(TALLY, "a") is None


async def test_raising_the_epoch_waits_for_open_transactions_and_stops_new_ones(
    engine: Engine, database: Address, toy_pool: Database
) -> None:
    """While someone holds the lock to raise the epoch, the leader cannot begin to commit."""
    async with toy_pool.acquire() as taker:
        transaction = taker.transaction()
        await transaction.start()
        await taker.execute("SELECT pg_advisory_xact_lock($1)", 0x64657402)
        epoch = await taker.fetchval("UPDATE leader SET epoch = epoch + 10 RETURNING epoch")
        post = asyncio.ensure_future(engine.post(TALLY, "a", toy.Added(1), cause="1"))
        async with asyncio.timeout(60):
            while engine.epoch == epoch - 10:  # noqa: ASYNC110 - until the refusal is noticed
                await asyncio.sleep(0.001)
        assert await taker.fetchval("SELECT count(*) FROM journal") == 0
        await transaction.commit()
    assert (await post).version == 1
    assert engine.epoch == epoch + 1


async def test_a_leader_that_loses_its_connection_settles_what_was_posted(
    engine: Engine, toy_pool: Database
) -> None:
    epoch = engine.epoch
    posts = [
        asyncio.ensure_future(engine.post(TALLY, "a", toy.Added(1), cause=str(n)))
        for n in range(50)
    ]
    await toy_pool.execute(END_LOCK_HOLDER)
    posts += [
        asyncio.ensure_future(engine.post(TALLY, "a", toy.Added(1), cause=str(n)))
        for n in range(50, 100)
    ]
    outcomes = await asyncio.gather(*posts)

    assert sorted(outcome.version for outcome in outcomes) == list(range(1, 101))
    assert (await engine.read(TALLY, "a")).total == 100
    async with asyncio.timeout(60):  # the server may take its time to end a connection
        await engine.wait_while_leading(epoch)
    assert await engine.wait_until_leading() > epoch


async def _leader_and_other(first: Engine, second: Engine) -> tuple[Engine, Engine]:
    waits = [asyncio.ensure_future(e.wait_until_leading()) for e in (first, second)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    return (first, second) if first.is_leader else (second, first)

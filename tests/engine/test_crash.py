import contextlib
import tempfile
from pathlib import Path

import pytest
from tests.engine import toy
from tests.engine.breaking import BreakPlan, Proxy, breaking_connect
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master.engine import EngineUnavailable
from determined_master.store.db import Address, Database

MAX_STATEMENTS = 40


async def assert_counted_once(pool: Database, id: str, version: int) -> None:
    """Whatever broke on the way, this is the end state of `post_all`."""
    told = await pool.fetch(
        "SELECT version, cause FROM journal WHERE kind = 'tally' AND id = $1 ORDER BY version", id
    )
    assert [row["version"] for row in told] == list(range(1, version + 1))
    assert len({row["cause"] for row in told}) == version
    assert await pool.fetchval("SELECT total FROM tallies WHERE id = $1", id) == 7
    lines = await pool.fetch("SELECT amount FROM lines WHERE id = $1 ORDER BY amount", id)
    assert [line["amount"] for line in lines] == [3, 4]
    within = await pool.fetchval("SELECT count(*) FROM lines WHERE id = $1", f"within {id}")
    assert within == 1
    assert await pool.fetchval("SELECT count(*) FROM outbox WHERE id = $1", id) == 0
    assert await pool.fetchval("SELECT count(*) FROM timers WHERE id = $1", id) == 0


async def post_all(engine, id: str) -> None:
    """Two events, two effects, a timer, SQL of the caller: every kind of write there is."""

    async def within(conn):
        await conn.execute("INSERT INTO lines (id, amount) VALUES ($1, 1)", f"within {id}")

    first = toy.Added(3, echoes=("x", "y"), tick_s=0.0)
    assert (await engine.post(TALLY, id, first, cause="1")).version == 1
    await engine.post(TALLY, id, toy.Added(4), cause="2", within=within)
    state = await engine.wait_for(TALLY, id, lambda t: t.echoes == 2 and t.ticks == 1, 60)
    assert state == toy.Tally(total=7, echoes=2, ticks=1)


@pytest.mark.slow
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
async def test_a_connection_lost_at_any_statement_changes_nothing_in_the_end(
    database: Address, toy_pool: Database, is_after: bool
) -> None:
    plan = BreakPlan()
    broken = 0
    async with make_engine(database, toy_pool, connect=breaking_connect(database, plan)) as engine:
        await engine.wait_until_leading()
        for at in range(1, MAX_STATEMENTS):
            plan.arm(at, is_after=is_after)
            await post_all(engine, f"t{at}")
            await engine.post(TALLY, f"t{at}", toy.Added(0), cause="last")
            broken += plan.has_broken
            plan.at = None
            await toy_pool.execute("DELETE FROM lines WHERE amount = 0")
            await assert_counted_once(toy_pool, f"t{at}", 6)
    assert broken > 20


async def begin(engine, id: str) -> None:
    """The same first event, by an engine that may fail at it or at what follows."""
    first = toy.Added(3, echoes=("x", "y"), tick_s=0.0)
    with contextlib.suppress(EngineUnavailable, TimeoutError):
        await engine.post(TALLY, id, first, cause="1", deadline_s=0.2)
        await engine.wait_for(TALLY, id, lambda t: t.echoes == 2 and t.ticks == 1, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
async def test_an_engine_that_ends_at_any_statement_is_resumed_by_the_next(
    database: Address, toy_pool: Database, is_after: bool
) -> None:
    """The first engine loses its connection and never gets another; the second continues."""
    for at in range(1, 20, 2):
        plan = BreakPlan()
        plan.arm(at, is_after=is_after)
        id = f"t{at}"
        healthy = breaking_connect(database, plan)

        async def connect(healthy=healthy, plan=plan):
            if plan.has_broken:
                raise ConnectionRefusedError("gone for good")
            return await healthy()

        first = make_engine(database, toy_pool, connect=connect)
        async with first:
            await first.wait_until_leading()
            await begin(first, id)
        async with make_engine(database, toy_pool) as second:
            await second.wait_until_leading()
            await post_all(second, id)
            await second.post(TALLY, id, toy.Added(0), cause="last")
            await toy_pool.execute("DELETE FROM lines WHERE amount = 0")
            await assert_counted_once(toy_pool, id, 6)


async def test_a_commit_whose_answer_is_lost_is_settled_by_its_cause(
    database: Address, toy_pool: Database
) -> None:
    proxy = Proxy()
    with tempfile.TemporaryDirectory(prefix="det-", dir="/tmp") as directory:
        async with (
            proxy.before(database, Path(directory)) as address,
            make_engine(address, toy_pool) as engine,
        ):
            await engine.wait_until_leading()
            proxy.is_armed = True
            outcome = await engine.post(TALLY, "a", toy.Added(3, echoes=("x",)), cause="1")

            assert proxy.cuts == 1
            assert outcome.version == 1
            state = await engine.wait_for(TALLY, "a", lambda t: t.echoes == 1, 60)
            assert state.total == 3
    assert await toy_pool.fetchval("SELECT count(*) FROM journal") == 2

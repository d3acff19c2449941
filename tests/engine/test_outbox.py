import asyncio

from tests.engine import toy
from tests.engine.conftest import make_engine

from determined_master.domain.errors import FailedPrecondition
from determined_master.engine import Deferred, Engine
from determined_master.store.pool import Address, Pool


def silent_engine(database: Address, pool: Pool) -> Engine:
    """An engine whose test registers the handler."""
    return make_engine(database, pool, echo=False)


async def until(claim) -> None:
    """Poll a condition; the test's own deadline is the fixture of last resort."""
    async with asyncio.timeout(10):
        while not await claim():  # noqa: ASYNC110 - a row in a table tells nobody
            await asyncio.sleep(0.005)


async def test_effects_of_one_aggregate_are_carried_out_in_their_order(
    database: Address, toy_pool: Pool
) -> None:
    engine = silent_engine(database, toy_pool)
    seen = []

    async def handle(effect, context):
        seen.append(effect.text)
        await asyncio.sleep(0)

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        for n in range(5):
            echoes = tuple(str(10 * n + k) for k in range(10))
            await engine.post("tally", "a", toy.Added(1, echoes=echoes), cause=str(n))

        async def are_closed():
            return await toy_pool.fetchval("SELECT count(*) FROM outbox") == 0

        await until(are_closed)
    assert seen == [str(n) for n in range(50)]


async def test_a_failing_effect_is_retried_and_holds_back_its_followers(
    database: Address, toy_pool: Pool
) -> None:
    engine = silent_engine(database, toy_pool)
    seen = []

    async def handle(effect, context):
        seen.append((effect.text, context.attempt))
        if effect.text == "x" and context.attempt < 3:
            raise RuntimeError("not yet")
        await context.post("tally", context.aggregate_id, toy.Echoed(effect.text))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post("tally", "a", toy.Added(1, echoes=("x", "y")), cause="1")
        await engine.wait_for("tally", "a", lambda tally: tally.echoes == 2, 10)
    assert seen == [("x", 1), ("x", 2), ("x", 3), ("y", 1)]


async def test_an_effect_given_up_becomes_an_event_with_the_effects_fields(
    database: Address, toy_pool: Pool
) -> None:
    engine = silent_engine(database, toy_pool)

    async def handle(effect, context):
        if effect.text == "x":
            raise RuntimeError("never")

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post("tally", "a", toy.Added(1, echoes=("x", "y")), cause="1")
        tally = await engine.wait_for("tally", "a", lambda tally: tally.failures, 10)
    assert tally.failures == ("x",)
    told = await toy_pool.fetchval("SELECT event FROM journal WHERE version = 2")
    assert '"error":"never"' in told


async def test_an_effect_that_nobody_carries_out_is_given_up_at_once(
    database: Address, toy_pool: Pool
) -> None:
    async with silent_engine(database, toy_pool) as engine:
        await engine.wait_until_leading()
        await engine.post("tally", "a", toy.Added(1, echoes=("x",)), cause="1")
        tally = await engine.wait_for("tally", "a", lambda tally: tally.failures, 10)
    assert tally.failures == ("x",)


async def test_a_deferred_effect_waits_for_a_nudge_and_does_not_count(
    database: Address, toy_pool: Pool
) -> None:
    engine = silent_engine(database, toy_pool)
    attempts = []
    is_ready = False

    async def handle(effect, context):
        attempts.append(context.attempt)
        if not is_ready:
            raise Deferred("the agent is away", retry_s=60)
        await context.post("tally", context.aggregate_id, toy.Echoed(effect.text))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post("tally", "a", toy.Added(1, echoes=("x",)), cause="1")

        async def was_asked():
            engine.retry_deferred()
            return len(attempts) > 5

        await until(was_asked)
        is_ready = True
        await until(lambda: _echoed(engine))
    assert set(attempts) == {1}


async def test_open_effects_are_handed_out_again_after_a_restart(
    database: Address, toy_pool: Pool
) -> None:
    first = silent_engine(database, toy_pool)
    started = asyncio.Event()

    async def hang(effect, context):
        started.set()
        await asyncio.Event().wait()

    first.handlers.register(toy.Echo, hang)
    async with first:
        await first.wait_until_leading()
        await first.post("tally", "a", toy.Added(1, echoes=("x", "y")), cause="1")
        await started.wait()

    async with make_engine(database, toy_pool) as second:
        await second.wait_until_leading()
        tally = await second.wait_for("tally", "a", lambda tally: tally.echoes == 2, 10)
    assert tally.failures == ()


async def test_an_outcome_and_the_end_of_its_effect_commit_together(
    database: Address, toy_pool: Pool
) -> None:
    engine = silent_engine(database, toy_pool)
    open_after = []

    async def handle(effect, context):
        try:
            await context.post("tally", context.aggregate_id, toy.Added(-1))
        except FailedPrecondition:
            open_after.append(await toy_pool.fetchval("SELECT count(*) FROM outbox"))
        await context.post("tally", context.aggregate_id, toy.Echoed("x"))
        open_after.append(await toy_pool.fetchval("SELECT count(*) FROM outbox"))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post("tally", "a", toy.Added(1, echoes=("x",)), cause="1")

        async def has_ended():
            return len(open_after) == 2

        await until(has_ended)
    assert open_after == [1, 0]


async def test_sql_that_closes_an_effect_is_run_once(database: Address, toy_pool: Pool) -> None:
    engine = silent_engine(database, toy_pool)

    async def handle(effect, context):
        async def within(conn):
            await conn.execute("INSERT INTO lines (id, amount) VALUES ('closed', 1)")

        for _ in range(2):
            await engine.close(context.effect_id, within=within)

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post("tally", "a", toy.Added(1, echoes=("x",)), cause="1")

        async def is_closed():
            return await toy_pool.fetchval("SELECT count(*) FROM outbox") == 0

        await until(is_closed)
        await engine.post("tally", "a", toy.Added(1), cause="2")
    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'closed'") == 1


async def _echoed(engine: Engine) -> bool:
    return (await engine.read("tally", "a")).echoes == 1

import asyncio

import pytest
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.refusing import DISK_FULL, refusing_updates, until_told
from tests.engine.toy import TALLY

from determined_master.domain.errors import FailedPrecondition
from determined_master.engine import Deferred, Engine, EngineSettings
from determined_master.engine.effects import outbox
from determined_master.store.db import Address, Database


def silent_engine(database: Address, pool: Database) -> Engine:
    """An engine whose test registers the handler."""
    return make_engine(database, pool, echo=False)


async def until(claim) -> None:
    """Poll a condition; the test's own deadline is the fixture of last resort."""
    async with asyncio.timeout(60):
        while not await claim():  # noqa: ASYNC110 - a row in a table tells nobody
            await asyncio.sleep(0.005)


async def test_effects_of_one_aggregate_are_carried_out_in_their_order(
    database: Address, toy_pool: Database
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
            await engine.post(TALLY, "a", toy.Added(1, echoes=echoes), cause=str(n))

        async def are_closed():
            return await toy_pool.fetchval("SELECT count(*) FROM outbox") == 0

        await until(are_closed)
    assert seen == [str(n) for n in range(50)]


async def test_a_failing_effect_is_retried_and_holds_back_its_followers(
    database: Address, toy_pool: Database
) -> None:
    engine = silent_engine(database, toy_pool)
    seen = []

    async def handle(effect, context):
        seen.append((effect.text, context.attempt))
        if effect.text == "x" and context.attempt < 3:
            raise RuntimeError("not yet")
        await context.post(TALLY, context.aggregate_id, toy.Echoed(effect.text))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1, echoes=("x", "y")), cause="1")
        await engine.wait_for(TALLY, "a", lambda tally: tally.echoes == 2, 60)
    assert seen == [("x", 1), ("x", 2), ("x", 3), ("y", 1)]


async def test_an_effect_given_up_becomes_an_event_with_the_effects_fields(
    database: Address, toy_pool: Database
) -> None:
    engine = silent_engine(database, toy_pool)

    async def handle(effect, context):
        if effect.text == "x":
            raise RuntimeError("never")

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1, echoes=("x", "y")), cause="1")
        tally = await engine.wait_for(TALLY, "a", lambda tally: tally.failures, 60)
    assert tally.failures == ("x",)
    told = await toy_pool.fetchval("SELECT event FROM journal WHERE version = 2")
    assert '"error":"never"' in told


async def test_an_effect_given_up_on_a_full_disk_is_reported_once_there_is_room(
    database: Address, toy_pool: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async with silent_engine(database, toy_pool) as engine:  # nobody carries the effect out
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1), cause="1")
        await toy_pool.execute(refusing_updates(DISK_FULL, "new.total = old.total"))
        await engine.post(TALLY, "a", toy.Added(1, echoes=("x",)), cause="2")
        await until_told(caplog, "failed to report a failed effect to its aggregate", times=2)
        await toy_pool.execute("DROP TRIGGER refusing ON tallies")
        tally = await engine.wait_for(TALLY, "a", lambda tally: tally.failures, 60)
    assert tally.failures == ("x",)


async def test_an_effect_that_nobody_carries_out_is_given_up_at_once(
    database: Address, toy_pool: Database
) -> None:
    async with silent_engine(database, toy_pool) as engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1, echoes=("x",)), cause="1")
        tally = await engine.wait_for(TALLY, "a", lambda tally: tally.failures, 60)
    assert tally.failures == ("x",)


async def test_a_deferred_effect_waits_for_a_nudge_and_does_not_count(
    database: Address, toy_pool: Database
) -> None:
    engine = silent_engine(database, toy_pool)
    attempts = []
    is_ready = False

    async def handle(effect, context):
        attempts.append(context.attempt)
        if not is_ready:
            raise Deferred("the agent is away", retry_s=3600)
        await context.post(TALLY, context.aggregate_id, toy.Echoed(effect.text))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1, echoes=("x",)), cause="1")

        async def was_asked():
            engine.retry_deferred()
            return len(attempts) > 5

        await until(was_asked)
        is_ready = True
        await until(lambda: _echoed(engine))
    assert set(attempts) == {1}


async def test_open_effects_are_handed_out_again_after_a_restart(
    database: Address, toy_pool: Database
) -> None:
    first = silent_engine(database, toy_pool)
    started = asyncio.Event()

    async def hang(effect, context):
        started.set()
        await asyncio.Event().wait()

    first.handlers.register(toy.Echo, hang)
    async with first:
        await first.wait_until_leading()
        await first.post(TALLY, "a", toy.Added(1, echoes=("x", "y")), cause="1")
        await started.wait()

    async with make_engine(database, toy_pool) as second:
        await second.wait_until_leading()
        tally = await second.wait_for(TALLY, "a", lambda tally: tally.echoes == 2, 60)
    assert tally.failures == ()


async def test_an_outcome_and_the_end_of_its_effect_commit_together(
    database: Address, toy_pool: Database
) -> None:
    engine = silent_engine(database, toy_pool)
    open_after = []

    async def handle(effect, context):
        try:
            await context.post(TALLY, context.aggregate_id, toy.Added(-1))
        except FailedPrecondition:
            open_after.append(await toy_pool.fetchval("SELECT count(*) FROM outbox"))
        await context.post(TALLY, context.aggregate_id, toy.Echoed("x"))
        open_after.append(await toy_pool.fetchval("SELECT count(*) FROM outbox"))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1, echoes=("x",)), cause="1")

        async def has_ended():
            return len(open_after) == 2

        await until(has_ended)
    assert open_after == [1, 0]


async def test_sql_that_closes_an_effect_is_run_once(
    database: Address, toy_pool: Database
) -> None:
    engine = silent_engine(database, toy_pool)

    async def handle(effect, context):
        async def within(conn):
            await conn.execute("INSERT INTO lines (id, amount) VALUES ('closed', 1)")

        for _ in range(2):
            await engine.close(context.effect_id, within=within)

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1, echoes=("x",)), cause="1")

        async def is_closed():
            return await toy_pool.fetchval("SELECT count(*) FROM outbox") == 0

        await until(is_closed)
        await engine.post(TALLY, "a", toy.Added(1), cause="2")
    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'closed'") == 1


async def test_effects_about_different_things_do_not_wait_for_each_other(
    database: Address, toy_pool: Database
) -> None:
    engine = silent_engine(database, toy_pool)
    seen = []
    is_b_done = asyncio.Event()

    async def handle(effect, context):
        if effect.text == "1@a":
            await is_b_done.wait()
        seen.append(effect.text)
        if effect.text == "2@b":
            is_b_done.set()
        await context.post(TALLY, context.aggregate_id, toy.Echoed(effect.text))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        echoes = ("1@a", "2@b", "3@a", "4", "5@c")
        await engine.post(TALLY, "a", toy.Added(1, echoes=echoes), cause="1")
        await engine.wait_for(TALLY, "a", lambda tally: tally.echoes == 5, 60)
    assert seen == ["2@b", "1@a", "3@a", "4", "5@c"]


async def test_a_group_handler_gets_what_waits_and_then_alone_what_it_left_open(
    database: Address, toy_pool: Database
) -> None:
    engine = silent_engine(database, toy_pool)
    calls = []

    async def handle(orders):
        calls.append([(effect.text, context.attempt) for effect, context in orders])
        for effect, context in orders:
            if effect.text == "2@b" and len(calls) < 3:
                raise RuntimeError("not yet")
            await context.post(TALLY, context.aggregate_id, toy.Echoed(effect.text))

    engine.handlers.register_group(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        echoes = ("1@a", "2@b", "3@c")
        await engine.post(TALLY, "a", toy.Added(1, echoes=echoes), cause="1")
        await engine.wait_for(TALLY, "a", lambda tally: tally.echoes == 3, 60)
    together, *alone = calls
    assert together == [("1@a", 1), ("2@b", 1), ("3@c", 1)]
    assert sorted(alone) == [[("2@b", 1)], [("2@b", 2)], [("3@c", 1)]]


async def test_more_open_effects_than_a_page_are_handed_out_in_order_after_a_restart(
    database: Address, toy_pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_PAGE", 7)
    first = silent_engine(database, toy_pool)

    async def hang(effect, context):
        await asyncio.Event().wait()

    first.handlers.register(toy.Echo, hang)
    async with first:
        await first.wait_until_leading()
        echoes = tuple(str(n) for n in range(30))
        await first.post(TALLY, "a", toy.Added(1, echoes=echoes), cause="1")
        await first.post(TALLY, "b", toy.Added(1, echoes=("b",)), cause="1")

    second = silent_engine(database, toy_pool)
    seen = []

    async def handle(effect, context):
        seen.append(effect.text)

    second.handlers.register(toy.Echo, handle)
    async with second:
        await second.wait_until_leading()
        await second.post(TALLY, "a", toy.Added(1, echoes=("last",)), cause="2")

        async def are_closed():
            return await toy_pool.fetchval("SELECT count(*) FROM outbox") == 0

        await until(are_closed)
    assert [text for text in seen if text != "b"] == [*echoes, "last"]


async def test_an_old_effect_that_no_lane_has_is_taken_up_by_the_sweep(
    database: Address, toy_pool: Database
) -> None:
    settings = EngineSettings(sweep_s=0.02)
    engine = Engine(database, toy_pool, [toy.TALLY], settings=settings)

    async def handle(effect, context):
        await context.post(TALLY, context.aggregate_id, toy.Echoed(effect.text))

    engine.handlers.register(toy.Echo, handle)
    async with engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "a", toy.Added(1), cause="1")
        await toy_pool.execute(
            "INSERT INTO outbox (kind, id, version, n, effect, ordered_at, claimed_epoch) VALUES "
            """('tally', 'a', 1, 0, '{"effect":"echo","text":"x"}', now() - interval '1 hour',"""
            " (SELECT epoch FROM leader))"
        )
        await until(lambda: _echoed(engine))


async def _echoed(engine: Engine) -> bool:
    return (await engine.read(TALLY, "a")).echoes == 1

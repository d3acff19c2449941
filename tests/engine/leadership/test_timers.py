import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.refusing import (
    DISK_FULL,
    NO_SUCH_REFERENCE,
    refusing_updates,
    told,
    until_told,
)
from tests.engine.toy import TALLY

from determined_master.engine import Engine
from determined_master.engine.leadership import timers
from determined_master.store.db import Address, Database
from determined_wire.backoff import Backoff


async def test_a_timer_fires_once_with_a_cause_of_its_own(
    engine: Engine, toy_pool: Database
) -> None:
    await engine.post(TALLY, "a", toy.Added(1, tick_s=0.01), cause="1")
    await engine.wait_for(TALLY, "a", lambda tally: tally.ticks == 1, 60)

    causes = await toy_pool.fetch("SELECT cause FROM journal WHERE version = 2")
    assert [row["cause"] for row in causes] == ["timer:tick:1"]
    assert await toy_pool.fetchval("SELECT count(*) FROM timers") == 0


async def test_a_timer_that_is_cancelled_does_not_fire(engine: Engine, toy_pool: Database) -> None:
    await engine.post(TALLY, "a", toy.Added(1, tick_s=30), cause="1")
    await engine.post(TALLY, "a", toy.Added(1, cancel_tick=True), cause="2")

    assert await toy_pool.fetchval("SELECT count(*) FROM timers") == 0


async def test_a_timer_that_is_set_again_replaces_the_first(
    engine: Engine, toy_pool: Database
) -> None:
    await engine.post(TALLY, "a", toy.Added(1, tick_s=30), cause="1")
    await engine.post(TALLY, "a", toy.Added(1, tick_s=0.0), cause="2")
    await engine.wait_for(TALLY, "a", lambda tally: tally.ticks == 1, 60)

    assert await toy_pool.fetchval("SELECT cause FROM journal WHERE version = 3") == "timer:tick:2"


async def test_the_earliest_of_many_timers_is_not_kept_waiting_by_later_ones(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timers, "_LOOK_S", 3600.0)  # nothing but the news can wake it
    for n in range(5):
        await engine.post(TALLY, f"later{n}", toy.Added(1, tick_s=3600), cause="1")
    await engine.post(TALLY, "a", toy.Added(1, tick_s=0.01), cause="1")

    assert (await engine.wait_for(TALLY, "a", lambda tally: tally.ticks == 1, 60)).ticks == 1


async def test_a_timer_outlives_the_engine_that_set_it(
    database: Address, toy_pool: Database
) -> None:
    async with make_engine(database, toy_pool) as first:
        await first.wait_until_leading()
        await first.post(TALLY, "a", toy.Added(1, tick_s=0.1), cause="1")
    async with make_engine(database, toy_pool) as second:
        await second.wait_until_leading()
        assert (await second.wait_for(TALLY, "a", lambda tally: tally.ticks, 60)).ticks == 1


@pytest.fixture
def three_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer that fails is tried again at once, three times in all."""
    monkeypatch.setattr(timers, "_BACKOFF", Backoff(0.0, 0.0))
    monkeypatch.setattr(timers, "_ATTEMPTS", 3)


@pytest.mark.usefixtures("three_tries")
async def test_a_timer_that_always_fails_is_tried_a_bounded_number_of_times(
    engine: Engine, toy_pool: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await engine.post(TALLY, "a", toy.Added(1, tick_s=3600), cause="1")
    await toy_pool.execute("""UPDATE timers SET due_at = now(), event = '{"event":"exploded"}'""")
    await engine.post(TALLY, "b", toy.Added(1, tick_s=0.0), cause="1")

    await until_told(caplog, "gave up a timer until the next start")
    await engine.post(TALLY, "c", toy.Added(1, tick_s=0.0), cause="1")
    await engine.wait_for(TALLY, "c", lambda tally: tally.ticks, 60)
    assert told(caplog, "a timer's event failed") == 2
    assert await toy_pool.fetchval("SELECT id FROM timers") == "a"


@pytest.mark.usefixtures("three_tries")
async def test_a_timer_whose_rows_the_database_refuses_is_tried_a_bounded_number_of_times(
    engine: Engine, toy_pool: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await engine.post(TALLY, "a", toy.Added(1), cause="1")
    await toy_pool.execute(refusing_updates(NO_SUCH_REFERENCE))  # what it refers to is gone
    await engine.post(TALLY, "b", toy.Added(1, tick_s=0.0), cause="1")

    await until_told(caplog, "gave up a timer until the next start")
    assert told(caplog, "a timer's event failed") == 2


async def test_a_timer_that_meets_a_full_disk_is_tried_at_a_distance_until_there_is_room(
    engine: Engine,
    toy_pool: Database,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(timers, "_BACKOFF", Backoff(0.01, 0.01))
    monkeypatch.setattr(timers, "_ATTEMPTS", 2)
    await toy_pool.execute(refusing_updates(DISK_FULL))
    await engine.post(TALLY, "a", toy.Added(1, tick_s=0.0), cause="1")

    await until_told(caplog, "a timer's event failed", times=4)
    await toy_pool.execute("DROP TRIGGER refusing ON tallies")
    await engine.wait_for(TALLY, "a", lambda tally: tally.ticks == 1, 60)


@pytest.mark.slow
async def test_a_jump_of_the_clock_makes_no_timer_shorter_or_longer(
    database: Address, toy_pool: Database
) -> None:
    clock = Shifted()
    async with make_engine(database, toy_pool, now=clock.now) as engine:
        await engine.wait_until_leading()
        await engine.post(TALLY, "long", toy.Added(1, tick_s=600), cause="1")
        await engine.post(TALLY, "short", toy.Added(1, tick_s=2), cause="1")
        for hours in (2, -3):
            clock.ahead += timedelta(hours=hours)
            async with asyncio.timeout(60):
                while not 500 < await seconds_left(toy_pool, clock) <= 600:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        await engine.wait_for(TALLY, "short", lambda tally: tally.ticks == 1, 60)
        assert (await engine.read(TALLY, "long")).ticks == 0


class Shifted:
    """A clock that can be set."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


async def seconds_left(pool: Database, clock: Shifted) -> float:
    """Until the long timer is due."""
    due_at = await pool.fetchval("SELECT due_at FROM timers WHERE id = 'long'")
    return float((due_at - clock.now()).total_seconds())

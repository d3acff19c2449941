import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master.domain.errors import FailedPrecondition
from determined_master.engine import Changed, Engine, InternalError, Posting, list_story
from determined_master.store.db import Address, Database


async def test_an_event_changes_the_state_and_its_rows(engine: Engine, toy_pool: Database) -> None:
    outcome = await engine.post(TALLY, "a", toy.Added(3), cause="request:1")

    assert (outcome.version, outcome.is_duplicate) == (1, False)
    current = await engine.find(TALLY, "a")
    assert current is not None
    assert (current.version, current.state) == (1, toy.Tally(total=3))
    assert await toy_pool.fetchval("SELECT total FROM tallies WHERE id = 'a'") == 3
    assert await toy_pool.fetchval("SELECT amount FROM lines WHERE id = 'a'") == 3


async def test_a_cause_counts_once_and_is_answered_as_the_first_time(engine: Engine) -> None:
    first = await engine.post(TALLY, "a", toy.Added(3), cause="request:1")
    await engine.post(TALLY, "a", toy.Added(4), cause="request:2")
    again = await engine.post(TALLY, "a", toy.Added(3), cause="request:1")

    assert (again.version, again.is_duplicate) == (first.version, True)
    assert (await engine.find(TALLY, "a")).state.total == 7


async def test_a_cause_that_is_posted_twice_at_once_counts_once(engine: Engine) -> None:
    outcomes = await asyncio.gather(
        *(engine.post(TALLY, "a", toy.Added(3), cause="request:1") for _ in range(20))
    )

    assert sorted(outcome.is_duplicate for outcome in outcomes) == [False] + [True] * 19
    assert (await engine.find(TALLY, "a")).state.total == 3


async def test_events_that_wait_together_are_applied_in_their_order(engine: Engine) -> None:
    outcomes = await engine.post_many(
        [Posting(TALLY, "a", toy.Added(n), cause=f"request:{n}") for n in range(1, 301)]
    )

    assert [outcome.version for outcome in outcomes] == list(range(1, 301))
    assert (await engine.find(TALLY, "a")).state.total == 300 * 301 // 2


async def test_a_refused_event_reaches_its_caller_and_changes_nothing(engine: Engine) -> None:
    results = await engine.post_many(
        [
            Posting(TALLY, "a", toy.Added(1), cause="1"),
            Posting(TALLY, "a", toy.Added(-1), cause="2"),
            Posting(TALLY, "b", toy.Added(2), cause="3"),
            Posting(TALLY, "a", toy.Added(4), cause="4"),
        ]
    )

    assert isinstance(results[1], FailedPrecondition)
    assert (await engine.find(TALLY, "a")).state.total == 5
    assert (await engine.find(TALLY, "b")).state.total == 2


async def test_a_defect_in_one_event_costs_its_neighbours_nothing(engine: Engine) -> None:
    results = await engine.post_many(
        [
            Posting(TALLY, "a", toy.Added(1), cause="1"),
            Posting(TALLY, "a", toy.Exploded(), cause="2"),
            Posting(TALLY, "a", toy.Added(4), cause="3"),
            Posting(TALLY, "b", toy.Added(2), cause="4"),
        ]
    )

    assert isinstance(results[1], InternalError)
    assert (await engine.find(TALLY, "a")).state.total == 5
    assert (await engine.find(TALLY, "b")).state.total == 2


async def test_sql_within_the_event_commits_with_it_and_once(
    engine: Engine, toy_pool: Database
) -> None:
    async def within(conn):
        await conn.execute("INSERT INTO lines (id, amount) VALUES ('within', 1)")

    for _ in range(2):
        await engine.post(TALLY, "a", toy.Added(1), cause="1", within=within)

    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'within'") == 1


async def test_sql_within_a_refused_event_leaves_nothing(
    engine: Engine, toy_pool: Database
) -> None:
    async def within(conn):
        await conn.execute("INSERT INTO lines (id, amount) VALUES ('within', 1)")

    neighbour = asyncio.ensure_future(engine.post(TALLY, "b", toy.Added(2), cause="1"))
    with pytest.raises(FailedPrecondition):
        await engine.post(TALLY, "a", toy.Added(-1), cause="1", within=within)

    assert (await neighbour).version == 1
    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'within'") == 0
    assert await engine.find(TALLY, "a") is None


async def test_broken_sql_within_an_event_costs_its_neighbours_nothing(engine: Engine) -> None:
    async def within(conn):
        await conn.execute("INSERT INTO nowhere VALUES (1)")

    results = await engine.post_many(
        [
            Posting(TALLY, "a", toy.Added(1), cause="1"),
            Posting(TALLY, "a", toy.Added(2), cause="2", within=within),
            Posting(TALLY, "a", toy.Added(4), cause="3"),
        ]
    )

    assert isinstance(results[1], InternalError)
    assert (await engine.find(TALLY, "a")).state.total == 5


async def test_a_state_over_ten_kib_is_refused(engine: Engine) -> None:
    with pytest.raises(InternalError):
        await engine.post(TALLY, "a", toy.Added(1, padding="x" * 11_000), cause="1")
    assert await engine.find(TALLY, "a") is None


async def test_the_story_lists_events_causes_and_effects_page_by_page(
    engine: Engine, toy_pool: Database
) -> None:
    await engine.post(TALLY, "a", toy.Added(1, echoes=("hey",)), cause="request:1")
    await engine.wait_for(TALLY, "a", lambda tally: tally.echoes == 1, 60)
    await engine.post(TALLY, "b", toy.Added(2), cause="request:2")

    async with toy_pool.acquire() as conn:
        keys = [("tally", "a"), ("tally", "b")]
        first = await list_story(conn, keys, limit=2)
        rest = await list_story(conn, keys, after=first[-1].cursor)

    told = [(line.id, line.version, line.cause, line.event["event"]) for line in first + rest]
    assert told == [
        ("a", 1, "request:1", "added"),
        ("a", 2, "effect:tally/a/1/0", "echoed"),
        ("b", 1, "request:2", "added"),
    ]
    assert first[0].effects == [{"effect": "echo", "text": "hey"}]


async def test_listeners_get_each_version_before_its_event_is_answered(
    engine: Engine,
) -> None:
    heard = []
    stop = engine.feed.listen(TALLY, lambda c: heard.append((c.id, c.version, c.state.total)))
    await engine.post(TALLY, "a", toy.Added(3), cause="1")
    assert heard == [("a", 1, 3)]
    stop()
    await engine.post(TALLY, "a", toy.Added(4), cause="2")
    assert heard == [("a", 1, 3)]


async def test_waiting_for_a_state_ends_when_it_is_reached(engine: Engine) -> None:
    waiting = asyncio.ensure_future(engine.wait_for(TALLY, "a", lambda t: t.total >= 3, 60))
    for n in range(3):
        await engine.post(TALLY, "a", toy.Added(1), cause=str(n))

    assert (await waiting).total == 3
    with pytest.raises(TimeoutError):
        await engine.wait_for(TALLY, "a", lambda t: t.total >= 4, 0.02)


async def test_the_feed_reports_posts_settled_by_their_cause(engine: Engine) -> None:
    await engine.post(TALLY, "a", toy.Added(3), cause="1")
    told: list[Changed] = []
    engine.feed.listen(TALLY, told.append)
    outcome = await engine.post(TALLY, "a", toy.Added(3), cause="1")
    assert outcome.is_duplicate
    assert [(change.version, change.state.total) for change in told] == [(1, 3)]


async def test_an_event_that_fails_first_in_a_new_month_does_not_cost_those_after_it(
    database: Address, toy_pool: Database
) -> None:
    ahead = timedelta(0)
    async with make_engine(database, toy_pool, now=lambda: datetime.now(UTC) + ahead) as engine:
        await engine.wait_until_leading()
        ahead = timedelta(days=70)  # no upkeep has made the journal's partition yet
        with pytest.raises(InternalError):
            await engine.post(TALLY, "a", toy.Exploded(), cause="1")
        assert (await engine.post(TALLY, "b", toy.Added(1), cause="1")).version == 1


async def test_aggregates_that_are_read_at_the_same_time_cost_one_query(
    database: Address, toy_pool: Database, engine: Engine
) -> None:
    ids = [f"a{n}" for n in range(100)]
    await engine.post_many([Posting(TALLY, id, toy.Added(n), "1") for n, id in enumerate(ids)])
    counting = Counting(toy_pool)
    reader = make_engine(database, cast(Database, counting))

    states = await asyncio.gather(*(reader.read(TALLY, id) for id in (*ids, "none")))

    assert [state.total for state in states[:-1] if state] == list(range(100))
    assert states[-1] is None
    assert counting.queries == 1


class Counting:
    """Counts the queries of a database."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.queries = 0

    async def fetch(self, query: str, *args: Any) -> Any:
        self.queries += 1
        return await self._db.fetch(query, *args)

"""Rows that go with events: written once, together for all that are applied together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.engine import toy
from tests.engine.breaking import BreakPlan, breaking_connect
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master.domain.errors import DetError, FailedPrecondition, InvalidArgument
from determined_master.engine import Engine, Inserting, Rows
from determined_master.store.db import Address, Conn, Database


class Lines:
    """Writes a line an item, refuses zero, and notes what it got at a time."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    async def write(self, conn: Conn, items: Sequence[int]) -> Sequence[DetError | None]:
        self.calls.append(list(items))
        await conn.executemany(
            "INSERT INTO lines (id, amount) VALUES ('row', 100 / (5 - $1))", [(i,) for i in items]
        )
        return [None if i else InvalidArgument("nothing is refused") for i in items]


async def post_all(engine: Engine, writer: Any, items: Sequence[int]) -> list[Any]:
    """One event an item, posted at once so that they wait together behind a first one."""
    posts = [
        engine.post(TALLY, "a", toy.Added(item), cause=f"c{n}", within=Rows(writer, item))
        for n, item in enumerate(items)
    ]
    first = engine.post(TALLY, "a", toy.Added(0), cause="first")
    _, *outcomes = await asyncio.gather(first, *posts, return_exceptions=True)
    return outcomes


async def total(pool: Database) -> int:
    return await pool.fetchval("SELECT total FROM tallies")


async def test_rows_of_events_that_wait_together_are_written_together(
    engine: Engine, toy_pool: Database
) -> None:
    writer = Lines()
    await post_all(engine, writer, [1, 2, 3, 4])
    assert [item for call in writer.calls for item in call] == [1, 2, 3, 4]
    assert len(writer.calls) < 4
    assert await total(toy_pool) == 10
    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'row'") == 4


async def test_an_event_whose_rows_are_refused_is_not_applied_and_its_neighbours_are(
    engine: Engine, toy_pool: Database
) -> None:
    outcomes = await post_all(engine, Lines(), [1, 0, 3])
    assert [type(o).__name__ for o in outcomes] == ["Outcome", "InvalidArgument", "Outcome"]
    assert await toy_pool.fetchval("SELECT count(*) FROM journal") == 3
    assert await total(toy_pool) == 4


async def test_rows_that_cannot_be_written_do_not_cost_the_neighbours(
    engine: Engine, toy_pool: Database
) -> None:
    outcomes = await post_all(engine, Lines(), [1, 5, 3])
    assert [type(o).__name__ for o in outcomes] == ["Outcome", "InvalidArgument", "Outcome"]
    assert await total(toy_pool) == 4


async def test_the_rows_of_an_event_that_the_domain_refuses_are_taken_back(
    engine: Engine, toy_pool: Database
) -> None:
    outcomes = await post_all(engine, Lines(), [1, -1, 3])
    assert isinstance(outcomes[1], FailedPrecondition)
    assert await total(toy_pool) == 4
    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'row'") == 2


async def test_rows_are_written_once_for_a_cause(engine: Engine, toy_pool: Database) -> None:
    posts = [
        engine.post(TALLY, "a", toy.Added(1), cause="same", within=Rows(Lines(), 1))
        for _ in range(3)
    ]
    assert {outcome.version for outcome in await asyncio.gather(*posts)} == {1}
    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'row'") == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
async def test_rows_are_written_once_whatever_statement_loses_the_connection(
    database: Address, toy_pool: Database, is_after: bool
) -> None:
    plan = BreakPlan()
    count = 0

    async def insert(conn: Conn, items: Sequence[int]) -> None:
        await conn.executemany(
            "INSERT INTO lines (id, amount) VALUES ('row', $1)", [(i,) for i in items]
        )

    async with make_engine(database, toy_pool, connect=breaking_connect(database, plan)) as engine:
        await engine.wait_until_leading()
        for at in range(1, 12):
            plan.arm(at, is_after=is_after)
            await engine.post(
                TALLY, "a", toy.Added(1), cause=str(at), within=Rows(Inserting(insert), at)
            )
            count += plan.has_broken
            plan.at = None
    assert count >= 6
    assert await toy_pool.fetchval("SELECT count(*) FROM lines WHERE id = 'row'") == 11
    assert await total(toy_pool) == 11

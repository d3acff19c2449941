"""What of a state grows is kept in rows beside it: on a choir, whose singers are its parts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.engine.breaking import BreakPlan, breaking_connect
from tests.engine.conftest import QUICK

from determined_master.domain.messages import Event, State
from determined_master.engine import Engine, Kind, Parts
from determined_master.engine.kind import STATE_LIMIT_BYTES
from determined_master.store.aggregates import PARTS
from determined_master.store.db import Address, Database

IN_STATE = 2


class Singer(State, frozen=True):
    name: str
    songs: int = 0


class Choir(State, frozen=True):
    singers: tuple[Singer, ...] = ()
    rows: int = 0


class Joined(Event, frozen=True, tag="joined"):
    names: tuple[str, ...]


class Sang(Event, frozen=True, tag="sang"):
    name: str


def step(choir: Choir | None, event: Joined | Sang, context: object) -> tuple[Choir, list[object]]:
    before = choir or Choir()
    if isinstance(event, Joined):
        new = tuple(Singer(name=name) for name in event.names)
        return replace(before, singers=before.singers + new), []
    after = tuple(
        replace(s, songs=s.songs + 1) if s.name == event.name else s for s in before.singers
    )
    return replace(before, singers=after), []


def split(choir: Choir) -> tuple[Choir, Sequence[Singer]]:
    if len(choir.singers) <= IN_STATE:
        return choir, ()
    return Choir(rows=len(choir.singers)), choir.singers


CHOIR = Kind(
    name="choir",
    state=Choir,
    event=Joined | Sang,
    effect=None,
    step=step,
    given_up=None,
    parts=Parts(Singer, split, lambda c: c.rows, lambda c, parts: Choir(tuple(parts))),
)


def engine_on(database: Address, pool: Database, **options: object) -> Engine:
    return Engine(database, pool, [CHOIR], settings=QUICK, **options)


async def stored(pool: Database, id: str) -> tuple[str, list[str]]:
    query = f"SELECT a.state, {PARTS} FROM aggregates a WHERE a.id = $1"
    row = await pool.fetchrow(query, id)
    return row["state"], row["parts"]


async def test_a_small_state_has_no_rows_beside_it(database: Address, pool: Database) -> None:
    async with engine_on(database, pool) as engine:
        await engine.wait_until_leading()
        await engine.post(CHOIR, "a", Joined(("x", "y")), cause="1")
        assert await stored(pool, "a") == ('{"singers":[{"name":"x"},{"name":"y"}]}', [])
        await engine.post(CHOIR, "a", Joined(("z",)), cause="2")
    assert await stored(pool, "a") == (
        '{"rows":3}',
        ['{"name":"x"}', '{"name":"y"}', '{"name":"z"}'],
    )


async def test_a_state_of_a_thousand_parts_is_stored_below_the_bound_and_read_whole(
    database: Address, pool: Database
) -> None:
    names = tuple(f"a singer whose name is long, number {n}" for n in range(1000))
    heard: list[Choir] = []
    async with engine_on(database, pool) as engine:
        await engine.wait_until_leading()
        engine.feed.listen(CHOIR, lambda change: heard.append(change.state))
        await engine.post(CHOIR, "a", Joined(names), cause="1")
        outcome = await engine.post(CHOIR, "a", Sang(names[7]), cause="2")
        choir = await engine.read(CHOIR, "a")
    assert choir == outcome.state == heard[-1]
    assert [s.name for s in choir.singers] == list(names)
    assert [n for n, s in enumerate(choir.singers) if s.songs] == [7]
    assert len((await stored(pool, "a"))[0]) < STATE_LIMIT_BYTES


async def test_only_parts_that_have_changed_are_written(database: Address, pool: Database) -> None:
    versions = "SELECT n, xmin::text FROM aggregate_parts ORDER BY n"
    async with engine_on(database, pool) as engine:
        await engine.wait_until_leading()
        await engine.post(CHOIR, "a", Joined(tuple("abcde")), cause="1")
        before = dict(await pool.fetch(versions))
        await engine.post(CHOIR, "a", Sang("c"), cause="2")
    after = dict(await pool.fetch(versions))
    assert [n for n in after if after[n] != before[n]] == [2]


async def test_a_state_stored_whole_by_an_earlier_release_is_taken_apart(
    database: Address, pool: Database
) -> None:
    async with engine_on(database, pool) as engine:
        await engine.wait_until_leading()
        await engine.post(CHOIR, "a", Joined(("x",)), cause="1")
        whole = '{"singers":[{"name":"x"},{"name":"y"},{"name":"z"}]}'
        await pool.execute("UPDATE aggregates SET state = $1", whole)
        await engine.post(CHOIR, "a", Sang("z"), cause="2")
    state, parts = await stored(pool, "a")
    assert (state, len(parts)) == ('{"rows":3}', 3)
    assert parts[2] == '{"name":"z","songs":1}'


@pytest.mark.slow
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
async def test_a_connection_that_breaks_at_any_statement_costs_no_part_and_doubles_none(
    database: Address, pool: Database, is_after: bool
) -> None:
    plan = BreakPlan()
    broken = 0
    async with engine_on(database, pool, connect=breaking_connect(database, plan)) as engine:
        await engine.wait_until_leading()
        for at in range(1, 18):
            plan.arm(at, is_after=is_after)
            id = f"c{at}"
            await engine.post(CHOIR, id, Joined(tuple("abcd")), cause="1")
            await engine.post(CHOIR, id, Sang("b"), cause="2")
            await engine.post(CHOIR, id, Sang("b"), cause="3")
            broken += plan.has_broken
            plan.at = None
            choir = await engine.read(CHOIR, id)
            assert [(s.name, s.songs) for s in choir.singers] == [
                ("a", 0),
                ("b", 2),
                ("c", 0),
                ("d", 0),
            ]
    assert broken > 12

"""The leader's ordered copy of rows, on a ranking that gives each entry its place."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

import pytest
from tests.engine.breaking import BreakPlan, breaking_connect
from tests.engine.conftest import QUICK

from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.messages import Event, Record, State
from determined_master.engine import Change, Engine, Kind
from determined_master.store.db import Address, Conn, Database


class Ranking(State, frozen=True):
    count: int = 0
    last_place: int = 0


class Entered(Event, frozen=True, tag="entered"):
    value: int


class Entry(Record, frozen=True, tag="entry"):
    value: int


class Entries:
    """Loads the entries in order; counts how often."""

    def __init__(self) -> None:
        self.loads = 0
        self.kind: Kind[str, Ranking, Entered, Record] = Kind(
            name="ranking",
            state=Ranking,
            event=Entered,
            effect=Record,
            step=step,
            given_up=None,
            project=project,
            context=self,
        )

    async def load(self, conn: Conn, id: str, state: Ranking | None) -> list[int]:
        self.loads += 1
        rows = await conn.fetch("SELECT value FROM entries WHERE id = $1 ORDER BY value", id)
        return [row["value"] for row in rows]

    def advance(self, context: list[int], records: Sequence[Record]) -> list[int]:
        for record in records:
            assert isinstance(record, Entry)
            bisect.insort(context, record.value)
        return context


def step(
    ranking: Ranking | None, event: Entered, entries: list[int]
) -> tuple[Ranking, Sequence[Record]]:
    before = ranking or Ranking()
    if event.value in entries:
        raise FailedPrecondition(f"{event.value} has entered already")
    place = bisect.bisect(entries, event.value)
    return Ranking(before.count + 1, place), [Entry(event.value)]


async def project(conn: Conn, changes: Sequence[Change[Ranking, Entered]]) -> None:
    rows = [(c.id, r.value) for c in changes for r in c.records if isinstance(r, Entry)]
    await conn.executemany("INSERT INTO entries (id, value) VALUES ($1, $2)", rows)


def ranking_engine(database: Address, pool: Database, entries: Entries, **options: Any) -> Engine:
    return Engine(database, pool, [entries.kind], settings=QUICK, **options)


@pytest.fixture
async def entries(pool: Database) -> Entries:
    await pool.execute("CREATE TABLE entries (id text, value int, UNIQUE (id, value))")
    return Entries()


async def test_a_context_is_loaded_once_and_sees_every_earlier_record(
    database: Address, pool: Database, entries: Entries
) -> None:
    async with ranking_engine(database, pool, entries) as engine:
        await engine.wait_until_leading()
        for n, value in enumerate([50, 10, 90, 20]):
            outcome = await engine.post(entries.kind, "a", Entered(value), cause=str(n))
        assert outcome.state == Ranking(count=4, last_place=1)
        with pytest.raises(FailedPrecondition):
            await engine.post(entries.kind, "a", Entered(90), cause="again")
        await engine.post(entries.kind, "a", Entered(91), cause="last")
    assert entries.loads == 1


async def test_a_context_is_dropped_when_its_commit_fails(
    database: Address, pool: Database, entries: Entries
) -> None:
    plan = BreakPlan()
    connect = breaking_connect(database, plan)
    async with ranking_engine(database, pool, entries, connect=connect) as engine:
        await engine.wait_until_leading()
        await engine.post(entries.kind, "a", Entered(1), cause="first")
        for at in range(1, 7):
            for is_after in (False, True):
                plan.arm(at, is_after=is_after)
                value = 10 * at + is_after
                await engine.post(entries.kind, "a", Entered(value), cause=str(value))
                assert plan.has_broken or at == 6
        stored = await pool.fetch("SELECT value FROM entries ORDER BY value")
        outcome = await engine.post(entries.kind, "a", Entered(1000), cause="last")
    assert outcome.state.last_place == len(stored) == 13
    assert entries.loads > 5


async def test_a_context_of_another_version_is_not_used(
    database: Address, pool: Database, entries: Entries
) -> None:
    async with ranking_engine(database, pool, entries) as engine:
        await engine.wait_until_leading()
        await engine.post(entries.kind, "a", Entered(1), cause="1")
        await pool.execute("INSERT INTO entries VALUES ('a', 2)")
        await pool.execute("UPDATE aggregates SET version = version + 1")
        outcome = await engine.post(entries.kind, "a", Entered(3), cause="2")
    assert outcome.state.last_place == 2

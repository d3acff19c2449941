"""The values that lines can be filtered by: those that occur, without reading the lines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from determined_master.store import migrate
from determined_master.store.db import Conn, Database
from determined_master.store.logs.log_values import delete_values, list_values
from determined_master.store.logs.task_logs import copy_lines

pytestmark = pytest.mark.slow

AT = datetime(2026, 1, 1, tzinfo=UTC)


def line(task_id: str = "1.t", **fields: Any) -> tuple[Any, ...]:
    found = {
        name: fields.pop(name, None)
        for name in ("allocation_id", "agent_id", "container_id", "rank_id", "source", "stdtype")
    }
    assert not fields
    *ids, source, stdtype = found.values()
    return (task_id, *ids, AT, 3, source, stdtype, "text\n")


async def test_each_value_is_listed_once_in_order(pool: Database) -> None:
    lines = [
        line(agent_id="a2", rank_id=10, source="task", stdtype="stderr"),
        line(agent_id="a1", rank_id=2, source="task", stdtype="stdout"),
        line(agent_id="a1", allocation_id="1.t.1", container_id="c1"),
        line("2.t", agent_id="of another task"),
    ]
    async with pool.acquire() as conn:
        await copy_lines(conn, lines)
        await copy_lines(conn, lines)
        assert await list_values(conn, ["1.t"]) == {
            "allocation_ids": ["1.t.1"],
            "agent_ids": ["a1", "a2"],
            "container_ids": ["c1"],
            "rank_ids": [-1, 2, 10],
            "sources": ["task"],
            "stdtypes": ["stderr", "stdout"],
        }
        assert await conn.fetchval("SELECT count(*) FROM log_values WHERE task_id = '1.t'") == 10


async def test_they_are_the_values_of_all_these_tasks_and_of_none_without_lines(
    pool: Database,
) -> None:
    async with pool.acquire() as conn:
        await copy_lines(conn, [line(agent_id="a1"), line("2.t", agent_id="a2")])
        assert (await list_values(conn, ["1.t", "2.t"]))["agent_ids"] == ["a1", "a2"]
        assert set(map(tuple, (await list_values(conn, ["3.t"])).values())) == {()}


async def test_only_values_that_are_not_known_are_stored(pool: Database) -> None:
    async with pool.acquire() as conn:
        known = await copy_lines(conn, [line(agent_id="a1")])
        assert known == {("1.t", "agent_id", "a1"), ("1.t", "rank_id", "-1")}
        await delete_values(conn, ["1.t"])
        new = await copy_lines(conn, [line(agent_id="a1"), line(agent_id="a2")], known)
        assert new == {("1.t", "agent_id", "a2")}
        assert (await list_values(conn, ["1.t"]))["agent_ids"] == ["a2"]


async def test_long_values_that_begin_alike_differ(pool: Database) -> None:
    long = "a" * 5000
    async with pool.acquire() as conn:
        for agent_id in (long, f"{long}b", long):
            await copy_lines(conn, [line(agent_id=agent_id)])
        assert (await list_values(conn, ["1.t"]))["agent_ids"] == [long, f"{long}b"]


@pytest.mark.parametrize("count", [10, 5000])
async def test_listing_reads_no_line(pool: Database, count: int) -> None:
    async with pool.acquire() as conn:
        await copy_lines(conn, [line(agent_id="a1", rank_id=n % 3) for n in range(count)])
        before = await rows_read(conn)
        async with conn.transaction():
            assert (await list_values(conn, ["1.t"]))["rank_ids"] == [0, 1, 2]
            assert await rows_read(conn) - before <= 4


async def rows_read(conn: Conn) -> int:
    """How many rows the current transaction has read in the tables of lines and their values."""
    query = """
        SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
          FROM pg_stat_xact_user_tables WHERE relname LIKE 'task_logs%' OR relname = 'log_values'
    """
    return int(await conn.fetchval(query))


async def test_lines_of_a_database_before_these_values_have_theirs(pool: Database) -> None:
    path = Path(migrate.__file__).parent / "migrations" / "0045_log_values.sql"
    lines = [line(agent_id="a1"), line(agent_id="a1", rank_id=4), line("2.t", stdtype="stdout")]
    async with pool.acquire() as conn:
        await copy_lines(conn, lines)
        before = [await list_values(conn, [task_id]) for task_id in ("1.t", "2.t")]
        await conn.execute("DROP TABLE log_values")
        await conn.execute(path.read_text())
        after = [await list_values(conn, [task_id]) for task_id in ("1.t", "2.t")]
    assert before == after
    assert before[0]["rank_ids"] == [-1, 4]

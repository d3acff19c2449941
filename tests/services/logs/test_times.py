"""Pages of long logs by time: the same lines as without parts, from few of them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.log_searches import searches_in
from tests.store.rows import STARTED

from determined_master.domain.access.rules import Caller
from determined_master.records.logs import LogFilter
from determined_master.services.logs import times as log_times
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.services.logs.times import LogTimes
from determined_master.store.db import Database

pytestmark = pytest.mark.slow
ADMIN = Caller(user_id=1, username="admin", is_admin=True)
LINES = 500
PART = 10


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part has ten lines, all lines are settled, and each request looks for new parts."""
    monkeypatch.setattr(log_times, "PART_LINES", PART)
    monkeypatch.setattr(log_times, "SETTLED", timedelta(seconds=-60))
    monkeypatch.setattr(log_times, "CHECK_S", 0.0)


async def add_lines(pool: Database, seconds: list[int], task_id: str = "1.t") -> None:
    """A line for each of these times."""
    query = """
        INSERT INTO task_logs (task_id, logged_at, level, log)
        SELECT $1, at, 3, 'line ' || n || CASE WHEN n % 7 = 0 THEN ' seventh' ELSE '' END
          FROM unnest($2::timestamptz[]) WITH ORDINALITY AS l (at, n)
    """
    await pool.execute(query, task_id, [STARTED + timedelta(seconds=s) for s in seconds])


def at(after: int | None, before: int | None, text: str = "") -> LogFilter:
    return LogFilter(
        after=None if after is None else STARTED + timedelta(seconds=after),
        before=None if before is None else STARTED + timedelta(seconds=before),
        search_text=text,
    )


async def read(
    logs: TaskLogs, wanted: LogFilter, limit: int, *, newest_first: bool, task_ids: list[str]
) -> list[str]:
    pages = logs.read(ADMIN, task_ids, wanted, limit=limit, newest_first=newest_first)
    return [row.log async for page in pages for row in page]


@pytest.fixture
async def logs(pool: Database) -> AsyncIterator[TaskLogs]:
    searches = searches_in(pool)
    yield TaskLogs(pool, [], searches)
    searches.close()


def disordered(seed: int) -> list[int]:
    """Times that mostly follow each other; some lines come late, and one from the future."""
    draw = random.Random(seed)
    times = list(range(LINES))
    for _ in range(20):
        n = draw.randrange(LINES)
        times.insert(draw.randrange(n, LINES), times.pop(n))
    times[100] = 10 * LINES
    return times


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("text", ["", "seventh"])
async def test_a_filter_by_time_finds_every_line_in_order(
    pool: Database, logs: TaskLogs, seed: int, newest_first: bool, text: str
) -> None:
    times = disordered(seed)
    await add_lines(pool, times)
    draw = random.Random(seed)
    for _ in range(12):
        after = draw.choice([None, draw.randrange(LINES)])
        before = draw.choice([None, draw.randrange(LINES)])
        limit = draw.choice([0, 3, 25])
        expected = [
            f"line {n}" + (" seventh" if n % 7 == 0 else "")
            for n, second in enumerate(times, 1)
            if (after is None or second > after)
            and (before is None or second < before)
            and (not text or n % 7 == 0)
        ]
        if newest_first:
            expected.reverse()
        found = await read(
            logs, at(after, before, text), limit, newest_first=newest_first, task_ids=["1.t"]
        )
        assert found == (expected[:limit] if limit else expected), (after, before, limit)


async def test_lines_that_came_since_are_found(pool: Database, logs: TaskLogs) -> None:
    await add_lines(pool, list(range(25)))
    wanted = at(20, None)
    before = await read(logs, wanted, 0, newest_first=False, task_ids=["1.t"])
    await add_lines(pool, list(range(25, 60)))
    found = await read(logs, wanted, 0, newest_first=False, task_ids=["1.t"])
    assert (len(before), len(found)) == (4, 39)
    assert found[:4] == before


async def test_lines_of_several_tasks_are_merged(pool: Database, logs: TaskLogs) -> None:
    await add_lines(pool, list(range(0, 100)), "1.t")
    await add_lines(pool, list(range(100, 200)), "1.u")
    found = await read(logs, at(95, 105), 0, newest_first=False, task_ids=["1.t", "1.u"])
    assert found == [
        f"line {n}" + " seventh" * (n % 7 == 0) for n in (*range(97, 101), *range(1, 6))
    ]


async def test_only_parts_that_may_hold_the_lines_are_read(pool: Database) -> None:
    await add_lines(pool, list(range(LINES)))
    first = await pool.fetchval("SELECT min(id) FROM task_logs") - 1
    times = LogTimes(pool)
    assert await times.spans(["1.t"], at(None, None)) == [(0, None)]
    middle = await times.spans(["1.t"], at(203, 207))
    assert middle == [(first + 200, first + 210), (first + LINES, None)]
    assert await times.spans(["1.t"], at(485, None)) == [(first + 480, None)]


async def test_lines_that_are_not_settled_are_in_no_part(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_times, "SETTLED", timedelta(seconds=60))
    await add_lines(pool, list(range(LINES)))
    assert await LogTimes(pool).spans(["1.t"], at(203, 207)) == [(0, None)]

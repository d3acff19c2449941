"""Many lines of a task at once: stored in pieces, all of them or none, and looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
import pytest
from tests.log_searches import searches_in
from tests.store.rows import add_allocation, add_experiment, add_project

from determined_master.domain.access.rules import Caller
from determined_master.domain.config.sections.log_policies import LogPolicy
from determined_master.domain.errors import InvalidArgument
from determined_master.ports.orders import LogPlace, StoredOutput
from determined_master.services.logs import incoming
from determined_master.services.logs import policies as log_policies
from determined_master.services.logs.incoming import PostedLine
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.store.db import Database
from determined_wire.agent_link import LogBatch, LogSpan

pytestmark = pytest.mark.slow

ADMIN = Caller(user_id=1, username="admin", is_admin=True)


class Seen:
    """Log policies that remember what they were shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def look_at(self, task_id: str, agent_id: str | None, lines: Sequence[str]) -> None:
        self.lines += lines


@pytest.fixture
async def task_id(pool: Database, monkeypatch: pytest.MonkeyPatch) -> str:
    """A trial's task; lines go three at a time."""
    monkeypatch.setattr(incoming, "PIECE_LINES", 3)
    allocation_id = await add_allocation(pool, await add_experiment(pool, await add_project(pool)))
    return allocation_id.rpartition(".")[0]


def batch(task_id: str, first: int, count: int) -> LogBatch:
    return LogBatch(
        container_id="0d9b9c1e-5a1c-4d0e-9f7e-2f1c1f0e0a11",
        allocation_id=f"{task_id}.1",
        task_id=task_id,
        first_seq=first,
        text="\n".join(f"line {n}" for n in range(first, first + count)),
        spans=(LogSpan(1, 0), LogSpan(count - 1, 1)),
    )


async def stored(pool: Database) -> list[str]:
    return [row["log"] for row in await pool.fetch("SELECT log FROM task_logs ORDER BY id")]


@pytest.mark.parametrize("again_from", [1, 2, 4, 6, 8])
async def test_lines_that_are_sent_again_are_stored_once_wherever_pieces_end(
    pool: Database, task_id: str, again_from: int
) -> None:
    seen: Any = Seen()
    logs = TaskLogs(pool, [seen], searches_in(pool))
    assert await logs.store_batch("a1", batch(task_id, 1, 7)) == 7
    assert await logs.store_batch("a1", batch(task_id, again_from, 11 - again_from)) == 10
    assert await stored(pool) == [f"line {n}\n" for n in range(1, 11)]
    assert seen.lines == [f"line {n}\n" for n in (*range(1, 8), *range(again_from, 11))]


async def test_the_place_of_the_last_line_in_a_pods_log_is_stored_with_it(
    pool: Database, task_id: str
) -> None:
    logs = TaskLogs(pool, [], searches_in(pool))
    container_id = batch(task_id, 1, 7).container_id
    assert await logs.stored_output(task_id, container_id) == StoredOutput()
    place = LogPlace(total=7, first_at_us=1, last_at_us=9, since_us=5, since_count=4)
    await logs.store_batch("a1", batch(task_id, 1, 7), place)
    found = await logs.stored_output(task_id, container_id)
    assert found == StoredOutput(last_seq=7, place=place)


async def test_output_that_was_stored_without_a_place_is_read_from_its_beginning(
    pool: Database, task_id: str
) -> None:
    logs = TaskLogs(pool, [], searches_in(pool))
    sent = msgspec.structs.replace(batch(task_id, 1, 7), spans=(LogSpan(1, 5), LogSpan(6, 9)))
    await logs.store_batch("a1", sent)
    found = await logs.stored_output(task_id, sent.container_id)
    whole = LogPlace.whole(total=7, first_at_us=5, last_at_us=9)
    assert found == StoredOutput(last_seq=7, place=whole)


async def test_of_posted_lines_all_are_stored_or_none(pool: Database, task_id: str) -> None:
    seen: Any = Seen()
    logs = TaskLogs(pool, [seen], searches_in(pool))
    lines = [PostedLine(task_id=task_id, log=f"line {n}\n") for n in range(8)]
    beyond = datetime.fromisoformat("9999-12-31T23:59:59-05:00")
    with pytest.raises(InvalidArgument, match="years 1 to 9999"):
        await logs.post(ADMIN, [*lines, PostedLine(task_id=task_id, log="x\n", at=beyond)])
    assert await stored(pool) == []
    await logs.post(ADMIN, lines)
    assert await stored(pool) == seen.lines == [line.log for line in lines]


def test_a_policy_that_has_acted_is_not_matched_again() -> None:
    policies = [
        LogPolicy(name="first", pattern="^x$", action="exclude_node"),
        LogPolicy(name="second", pattern="y"),
    ]
    compiled = log_policies._compile(policies, trial_id=1)
    assert compiled is not None
    assert compiled.may_match(["a", "x"], "a1")
    compiled.matched.add((0, "a1"))
    assert not compiled.may_match(["a", "x"], "a1")
    assert compiled.may_match(["x", "y"], "a1")
    assert compiled.may_match(["x"], "a2")
    compiled.matched.add((1, ""))
    assert not compiled.may_match(["x", "y"], "a1")
    assert not compiled.may_match(["y"], "a2"), "only agents are excluded one by one"

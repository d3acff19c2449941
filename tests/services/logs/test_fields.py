"""The values that a task's lines can be filtered by: stored with the lines, told as they come."""

from __future__ import annotations

from typing import Any

import pytest
from tests.log_searches import searches_in
from tests.store.rows import add_allocation, add_experiment, add_project

from determined_master import clock
from determined_master.domain.access.rules import Caller
from determined_master.services.logs import fields as fields_module
from determined_master.services.logs.fields import KnownValues
from determined_master.services.logs.incoming import PostedLine
from determined_master.services.logs.retention import LogRetention
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.store.db import Database
from determined_wire.agent_link import LogBatch, LogSpan

pytestmark = pytest.mark.slow

ADMIN = Caller(user_id=1, username="admin", is_admin=True)
CONTAINER = "0d9b9c1e-5a1c-4d0e-9f7e-2f1c1f0e0a11"


@pytest.fixture
async def task_id(pool: Database, monkeypatch: pytest.MonkeyPatch) -> str:
    """A trial's task; its fields are looked at at each notification."""
    monkeypatch.setattr(fields_module, "FOLLOW_EVERY_S", 0.0)
    allocation_id = await add_allocation(pool, await add_experiment(pool, await add_project(pool)))
    return allocation_id.rpartition(".")[0]


@pytest.fixture
def logs(pool: Database) -> TaskLogs:
    return TaskLogs(pool, [], searches_in(pool))


def batch(task_id: str, *lines: str) -> LogBatch:
    return LogBatch(
        container_id=CONTAINER,
        allocation_id=f"{task_id}.1",
        task_id=task_id,
        first_seq=1,
        text="\n".join(lines),
        spans=(LogSpan(len(lines), 0),),
    )


async def fields_of(logs: TaskLogs, task_id: str) -> dict[str, list[Any]]:
    [fields] = [fields async for fields in logs.fields(ADMIN, [task_id])]
    return fields


async def test_lines_of_an_agent_and_of_a_client_have_their_values(
    logs: TaskLogs, task_id: str
) -> None:
    await logs.store_batch("a1", batch(task_id, "[rank=3] one", "two"))
    await logs.post(ADMIN, [PostedLine(task_id=task_id, log="x\n", source="mine", agent_id="a2")])
    assert await fields_of(logs, task_id) == {
        "allocation_ids": [f"{task_id}.1"],
        "agent_ids": ["a1", "a2"],
        "container_ids": [CONTAINER],
        "rank_ids": [-1, 3],
        "sources": ["mine", "task"],
        "stdtypes": ["stdout"],
    }


async def test_a_follower_gets_new_values_until_the_last_line_is_stored(
    pool: Database, logs: TaskLogs, task_id: str
) -> None:
    found = aiter(logs.fields(ADMIN, [task_id], follow=True))
    assert (await anext(found))["agent_ids"] == []
    for agent_ids in (["a1"], ["a1", "a2"]):
        posted = [PostedLine(task_id=task_id, log="x\n", agent_id=agent_ids[-1])]
        await logs.post(ADMIN, posted)
        assert (await anext(found))["agent_ids"] == agent_ids
        await logs.post(ADMIN, posted)  # nothing new
    await pool.execute("UPDATE tasks SET ended_at = now() WHERE id = $1", task_id)
    logs.notify(task_id)
    assert [fields async for fields in found] == []


async def test_values_are_stored_again_after_old_lines_were_removed(
    pool: Database, logs: TaskLogs, task_id: str
) -> None:
    posted = [PostedLine(task_id=task_id, log="x\n", agent_id="a1")]
    await logs.post(ADMIN, posted)
    await pool.execute("UPDATE tasks SET ended_at = $2 WHERE id = $1", task_id, clock.now())
    assert await LogRetention(pool, 0, None, logs.forget_values).sweep() == 1
    assert (await fields_of(logs, task_id))["agent_ids"] == []
    await logs.post(ADMIN, posted)
    assert (await fields_of(logs, task_id))["agent_ids"] == ["a1"]


def test_only_so_many_values_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields_module, "MAX_KNOWN", 3)
    known = KnownValues()
    known.add({("t", "agent_id", "a"), ("t", "agent_id", "b" * 201)})
    assert known.stored == {("t", "agent_id", "a")}
    known.add({("t", "rank_id", str(n)) for n in range(3)})
    assert known.stored == {("t", "rank_id", str(n)) for n in range(3)}
    known.add({("t", "rank_id", str(n)) for n in range(4)})
    assert known.stored == set()

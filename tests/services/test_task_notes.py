"""Lines that a backend adds to a task's log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.log_searches import searches_in
from tests.store.rows import STARTED, add_allocation, add_experiment, add_project

from determined_master.ports.orders import TaskNote
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.store.db import Database

NO_POLICIES: Any = None  # a backend's own lines are not looked at


def note(allocation: str, text: str, **more: Any) -> TaskNote:
    return TaskNote(
        task_id=allocation.rpartition(".")[0],
        allocation_id=allocation,
        container_id="c",
        agent_id="node",
        text=text,
        **more,
    )


async def test_a_note_with_a_key_is_logged_once_at_the_time_of_its_event(pool: Database) -> None:
    number = await add_experiment(pool, await add_project(pool))
    first, second = [await add_allocation(pool, number) for _ in range(2)]
    at = STARTED + timedelta(seconds=5)
    for _ in range(2):  # one master after the other
        logs = TaskLogs(pool, [NO_POLICIES], searches_in(pool))
        await logs.note(note(first, "pulled", key="event:u:1", at=at))
        await logs.note(note(second, "pulled", key="event:u:1", at=at))
        await logs.note(note(first, "looked"))
    await logs.note(note("gone.1", "pulled", key="event:u:1"))
    found = await pool.fetch("SELECT allocation_id, log, logged_at FROM task_logs ORDER BY id")
    assert [(row["allocation_id"], row["log"]) for row in found] == [
        (first, "pulled\n"),
        (second, "pulled\n"),
        (first, "looked\n"),
        (first, "looked\n"),
    ]
    assert [row["logged_at"] for row in found[:2]] == [at, at]
    await pool.execute("DELETE FROM allocations")
    await pool.execute("DELETE FROM tasks")
    assert await pool.fetchval("SELECT count(*) FROM told_notes") == 0

"""Rows of tasks of every type."""

from __future__ import annotations

import msgspec

from determined_master.records.tasks import TaskRow
from determined_master.store.db import Conn


class TaskOwner(msgspec.Struct, frozen=True):
    """The trial and experiment of a task; None for tasks without them."""

    trial_id: int | None
    experiment_id: int | None


async def find_user(conn: Conn, task_id: str) -> int | None:
    """The id of the user who owns a task."""
    owner: int | None = await conn.fetchval("SELECT user_id FROM tasks WHERE id = $1", task_id)
    return owner


async def find_task(conn: Conn, task_id: str) -> TaskRow | None:
    """One task."""
    query = """
        SELECT id, type, job_id::text, trial_id, experiment_id, user_id, started_at, ended_at
          FROM tasks WHERE id = $1
    """
    row = await conn.fetchrow(query, task_id)
    return None if row is None else TaskRow(**row)


async def find_owner(conn: Conn, task_id: str) -> TaskOwner | None:
    """The trial and experiment of a task; None when there is no such task."""
    row = await conn.fetchrow("SELECT trial_id, experiment_id FROM tasks WHERE id = $1", task_id)
    return None if row is None else TaskOwner(**row)

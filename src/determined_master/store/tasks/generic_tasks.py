"""Rows of generic tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.domain.config.task import TaskConfig, typed_task
from determined_master.store.db import Conn


class NewGenericTask(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new task's row."""

    id: str
    job_id: str
    user_id: int
    started_at: datetime
    submitted: dict[str, Any]
    config: dict[str, Any]
    context: bytes | None
    """The SHA-256 of its directory."""
    parent_id: str | None
    forked_from: str | None
    no_pause: bool | None
    project_id: int
    workspace_id: int


class GenericTaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One generic task."""

    id: str
    job_id: str
    user_id: int
    username: str
    started_at: datetime
    ended_at: datetime | None
    state: str
    reason: str
    submitted: dict[str, Any]
    config: dict[str, Any]
    context: bytes | None
    parent_id: str | None
    forked_from: str | None
    no_pause: bool | None
    workspace_id: int | None
    queue_position: Decimal | None

    @property
    def typed(self) -> TaskConfig:
        """The configuration as decisions read it."""
        return typed_task(self.config)


_ROWS = """
    SELECT g.task_id AS id, k.job_id::text, k.user_id, u.username, k.started_at, k.ended_at,
           g.state, g.reason, g.submitted, g.config, g.context, g.parent_id, g.forked_from,
           g.no_pause, g.workspace_id, g.queue_position
      FROM generic_tasks g JOIN tasks k ON k.id = g.task_id JOIN users u ON u.id = k.user_id
"""


async def insert_generic_task(conn: Conn, new: NewGenericTask) -> None:
    """Store a task and what is known of it as a generic one."""
    task = """
        INSERT INTO tasks (id, type, job_id, user_id, started_at)
        VALUES ($1, 'GENERIC', $2::uuid, $3, $4)
    """
    await conn.execute(task, new.id, new.job_id, new.user_id, new.started_at)
    query = """
        INSERT INTO generic_tasks (task_id, state, submitted, config, context, parent_id,
                                   forked_from, no_pause, project_id, workspace_id)
        VALUES ($1, 'ACTIVE', $2, $3, $4, $5, $6, $7, $8, $9)
    """
    await conn.execute(
        query,
        new.id,
        new.submitted,
        new.config,
        new.context,
        new.parent_id,
        new.forked_from,
        new.no_pause,
        new.project_id,
        new.workspace_id,
    )


async def find_generic_task(conn: Conn, task_id: str) -> GenericTaskRow | None:
    """The generic task of that id."""
    row = await conn.fetchrow(f"{_ROWS} WHERE g.task_id = $1", task_id)
    return GenericTaskRow(**row) if row else None


async def list_unended(conn: Conn, project_ids: Sequence[int]) -> list[str]:
    """Ids of the tasks of projects that are not over, and that nobody ends; the oldest first."""
    query = """
        SELECT k.id FROM generic_tasks g JOIN tasks k ON k.id = g.task_id
         WHERE g.project_id = ANY ($1) AND k.ended_at IS NULL
           AND g.state <> 'STOPPING_CANCELED'
         ORDER BY k.started_at, k.id
    """
    return [row["id"] for row in await conn.fetch(query, list(project_ids))]


async def find_root(conn: Conn, task_id: str) -> str:
    """The first of the tasks that a task descends from; itself when it has no parent."""
    query = """
        WITH RECURSIVE up AS (
            SELECT task_id, parent_id FROM generic_tasks WHERE task_id = $1
            UNION
            SELECT g.task_id, g.parent_id FROM generic_tasks g JOIN up ON g.task_id = up.parent_id)
        SELECT task_id FROM up WHERE parent_id IS NULL
    """
    root: str | None = await conn.fetchval(query, task_id)
    return root or task_id


async def list_tree(conn: Conn, task_id: str) -> list[GenericTaskRow]:
    """A task and all that descend from it, the oldest first."""
    query = f"""
        WITH RECURSIVE down AS (
            SELECT task_id FROM generic_tasks WHERE task_id = $1
            UNION
            SELECT g.task_id FROM generic_tasks g JOIN down ON g.parent_id = down.task_id)
        {_ROWS} WHERE g.task_id IN (SELECT task_id FROM down) ORDER BY k.started_at, g.task_id
    """
    return [GenericTaskRow(**row) for row in await conn.fetch(query, task_id)]


async def find_context(conn: Conn, task_id: str) -> bytes | None:
    """The directory of a generic task as tar.gz; None when there is none."""
    query = """
        SELECT m.tgz FROM generic_tasks g JOIN model_definitions m ON m.digest = g.context
         WHERE g.task_id = $1
    """
    context: bytes | None = await conn.fetchval(query, task_id)
    return context


async def update_generic_tasks(
    conn: Conn, rows: Sequence[tuple[str, str, str, datetime | None]]
) -> None:
    """Write states: of each task its id, its state, the reason, and when it ended."""
    states = """
        UPDATE generic_tasks g SET state = n.state, reason = n.reason
          FROM unnest($1::text[], $2::text[], $3::text[]) AS n (id, state, reason)
         WHERE g.task_id = n.id
    """
    ids, names, reasons, ended = zip(*rows, strict=True)
    await conn.execute(states, ids, names, reasons)
    ends = """
        UPDATE tasks k SET ended_at = n.ended_at
          FROM unnest($1::text[], $2::timestamptz[]) AS n (id, ended_at)
         WHERE k.id = n.id AND n.ended_at IS NOT NULL AND k.ended_at IS NULL
    """
    await conn.execute(ends, ids, ended)

"""Rows of commands, notebooks, shells and TensorBoards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.listing.paging import Page, page_of
from determined_master.domain.task.kinds import InteractiveKind
from determined_master.records.tasks import InteractiveRow, ListedTask, TaskQuery
from determined_master.store.db import Conn


class NewInteractiveTask(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a new task's row."""

    id: str
    kind: InteractiveKind
    job_id: str
    user_id: int
    started_at: datetime
    config: dict[str, Any]
    context: bytes | None
    """The SHA-256 of its directory."""
    workspace_id: int
    port: int | None
    experiment_ids: Sequence[int] = ()
    trial_ids: Sequence[int] = ()


class WatchedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is ended when nobody uses it."""

    id: str
    kind: InteractiveKind
    idle_timeout: str
    active_at: datetime | None


SORTS: Mapping[str, str] = {
    "id": "i.task_id",
    "description": "i.config ->> 'description'",
    "start_time": "k.started_at",
    "workspace_id": "i.workspace_id",
}
"""Sort keys of a list; ties go by id."""

_LISTED = """
    i.task_id AS id, k.type AS kind, k.job_id::text, k.user_id, u.username, u.display_name,
    k.started_at, k.ended_at, i.state, i.exit_status,
    coalesce(i.config ->> 'description', '') AS description,
    i.config #>> '{resources,resource_pool}' AS resource_pool, i.workspace_id,
    i.experiment_ids, i.trial_ids, a.state AS allocation_state
"""
_FROM = """
      FROM interactive_tasks i JOIN tasks k ON k.id = i.task_id JOIN users u ON u.id = k.user_id
      LEFT JOIN allocations a ON a.id = i.task_id || '.1'
"""
_MATCHING = """
     WHERE k.type = $1 AND k.trial_id IS NULL AND k.experiment_id IS NULL
       AND coalesce(k.ended_at, 'infinity') >= $2
       AND (cardinality($3::text[]) = 0 AND cardinality($4::int[]) = 0
            OR u.username = ANY ($3) OR k.user_id = ANY ($4))
       AND ($5 = 0 OR i.workspace_id = $5)
       AND EXISTS (SELECT FROM workspaces w
                    WHERE w.id = i.workspace_id AND w.state <> 'DELETING')
       AND ($6::int[] IS NULL OR i.workspace_id = ANY ($6))
"""


async def insert_interactive_task(conn: Conn, new: NewInteractiveTask) -> None:
    """Store a task and what is known of it as an interactive one."""
    task = """
        INSERT INTO tasks (id, type, job_id, user_id, started_at)
        VALUES ($1, $2, $3::uuid, $4, $5)
    """
    await conn.execute(task, new.id, new.kind, new.job_id, new.user_id, new.started_at)
    query = """
        INSERT INTO interactive_tasks (task_id, state, config, context, workspace_id, port,
                                       experiment_ids, trial_ids)
        VALUES ($1, 'ACTIVE', $2, $3, $4, $5, $6, $7)
    """
    await conn.execute(
        query,
        new.id,
        new.config,
        new.context,
        new.workspace_id,
        new.port,
        list(new.experiment_ids),
        list(new.trial_ids),
    )


async def find_interactive_task(conn: Conn, task_id: str) -> InteractiveRow | None:
    """The interactive task of that id."""
    columns = f"{_LISTED}, i.config, i.context, i.port, i.active_at, i.queue_position"
    row = await conn.fetchrow(f"SELECT {columns} {_FROM} WHERE i.task_id = $1", task_id)
    return InteractiveRow(**row) if row else None


async def list_interactive_tasks(
    conn: Conn, task_query: TaskQuery
) -> tuple[list[ListedTask], Page]:
    """Those that match, a page of them, and where it lies among all that do.

    Tasks of deleted workspaces do not appear, also while they end.

    Raises:
        InvalidArgument: the page begins before the first, or its length is negative.
    """
    values = (
        task_query.kind,
        task_query.ended_since,
        list(task_query.users),
        list(task_query.user_ids),
        task_query.workspace_id,
        None if task_query.among is None else list(task_query.among),
    )
    total = await conn.fetchval(f"SELECT count(*) {_FROM} {_MATCHING}", *values)
    page = page_of(total, task_query.offset, task_query.limit)
    direction = "DESC" if task_query.descending else "ASC"
    query = f"""
        SELECT {_LISTED} {_FROM} {_MATCHING}
         ORDER BY {SORTS[task_query.sort]} {direction}, i.task_id {direction} OFFSET $7 LIMIT $8
    """
    rows = await conn.fetch(query, *values, page.start, page.end - page.start)
    return [ListedTask(**row) for row in rows], page


async def list_unended(conn: Conn, workspace_id: int) -> list[str]:
    """Ids of a workspace's open tasks that nobody ends yet; the oldest first."""
    query = """
        SELECT k.id FROM interactive_tasks i JOIN tasks k ON k.id = i.task_id
         WHERE i.workspace_id = $1 AND k.ended_at IS NULL AND i.state = 'ACTIVE'
         ORDER BY k.started_at, k.id
    """
    return [row["id"] for row in await conn.fetch(query, workspace_id)]


async def list_watched(conn: Conn) -> list[WatchedTask]:
    """Running and waiting tasks that end when they are unused; by id."""
    query = """
        SELECT i.task_id AS id, k.type AS kind, i.config ->> 'idle_timeout' AS idle_timeout,
               i.active_at
          FROM interactive_tasks i JOIN tasks k ON k.id = i.task_id
         WHERE k.type IN ('NOTEBOOK', 'TENSORBOARD') AND k.trial_id IS NULL
           AND k.experiment_id IS NULL AND k.ended_at IS NULL AND i.state = 'ACTIVE'
           AND i.config ->> 'idle_timeout' IS NOT NULL
         ORDER BY i.task_id
    """
    return [WatchedTask(**row) for row in await conn.fetch(query)]


async def list_used_ports(conn: Conn) -> set[int]:
    """Ports of open tasks."""
    query = """
        SELECT i.port FROM interactive_tasks i JOIN tasks k ON k.id = i.task_id
         WHERE i.port IS NOT NULL AND k.ended_at IS NULL ORDER BY 1
    """
    return {row["port"] for row in await conn.fetch(query)}


async def find_context(conn: Conn, task_id: str) -> bytes | None:
    """The directory of an interactive task as tar.gz; None when there is none."""
    query = """
        SELECT m.tgz FROM interactive_tasks i JOIN model_definitions m ON m.digest = i.context
         WHERE i.task_id = $1
    """
    context: bytes | None = await conn.fetchval(query, task_id)
    return context


async def update_activity(conn: Conn, task_id: str, at: datetime) -> None:
    """Write that a task's program is used."""
    query = "UPDATE interactive_tasks SET active_at = $2 WHERE task_id = $1"
    await conn.execute(query, task_id, at)


async def update_interactive_tasks(
    conn: Conn, rows: Sequence[tuple[str, str, str, datetime | None]]
) -> None:
    """Write states: of each task its id, its state, how it ended, and when."""
    query = """
        WITH n AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
                AS n (id, state, exit_status, ended_at)
        ), ended AS (
            UPDATE tasks k SET ended_at = n.ended_at
              FROM n WHERE k.id = n.id AND n.ended_at IS NOT NULL AND k.ended_at IS NULL
        )
        UPDATE interactive_tasks i SET state = n.state, exit_status = n.exit_status
          FROM n WHERE i.task_id = n.id
    """
    await conn.execute(query, *map(list, zip(*rows, strict=True)))

"""Rows of the job queue: what jobs are, how they are queued, how long they have waited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.store.db import Conn


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job: an experiment, or a task without one."""

    job_id: str
    experiment_id: int | None
    task_id: str | None
    """Of a job that is no experiment."""
    type: str
    state: str
    """Of the experiment or the generic task; empty for tasks of other types."""
    name: str
    user_id: int
    username: str
    workspace_id: int
    progress: float
    submitted_at: datetime
    resource_pool: str | None
    resources: dict[str, Any] | None
    queue_position: Decimal | None


async def list_jobs(conn: Conn, job_ids: Iterable[str]) -> list[JobRow]:
    """The jobs of these ids, in no order; at most one row each."""
    query = """
        SELECT e.job_id::text, e.id AS experiment_id, NULL AS task_id, 'EXPERIMENT' AS type,
               e.state, e.name, e.user_id, u.username, e.workspace_id, e.progress,
               e.started_at AS submitted_at, e.resource_pool,
               e.config -> 'resources' AS resources, e.queue_position
          FROM experiments e JOIN users u ON u.id = e.user_id
         WHERE e.job_id = ANY ($1::uuid[])
        UNION ALL
        SELECT DISTINCT ON (k.job_id) k.job_id::text, NULL, k.id, k.type,
               coalesce(g.state, CASE i.state WHEN 'OVER' THEN 'COMPLETED' ELSE i.state END, ''),
               k.type, k.user_id, u.username,
               coalesce(g.workspace_id, i.workspace_id, 1), 0, k.started_at,
               coalesce(g.config, i.config) #>> '{resources,resource_pool}',
               coalesce(g.config, i.config) -> 'resources',
               coalesce(g.queue_position, i.queue_position)
          FROM tasks k JOIN users u ON u.id = k.user_id
          LEFT JOIN generic_tasks g ON g.task_id = k.id
          LEFT JOIN interactive_tasks i ON i.task_id = k.id
         WHERE k.experiment_id IS NULL AND k.job_id = ANY ($1::uuid[])
    """
    return [JobRow(**row) for row in await conn.fetch(query, list(job_ids))]


async def find_job_id(conn: Conn, experiment_id: int) -> str | None:
    """The job of an experiment."""
    query = "SELECT job_id::text FROM experiments WHERE id = $1"
    job_id: str | None = await conn.fetchval(query, experiment_id)
    return job_id


async def find_job_of_task(conn: Conn, task_id: str) -> str | None:
    """The job of a task."""
    job: str | None = await conn.fetchval("SELECT job_id::text FROM tasks WHERE id = $1", task_id)
    return job


async def update_place(
    conn: Conn,
    experiment_id: int,
    *,
    resources: dict[str, Any],
    pool: str,
    position: Decimal | None,
) -> None:
    """Write what decides about an experiment's place in the queue."""
    query = """
        UPDATE experiments
           SET config = jsonb_set(config, '{resources}', $2), resource_pool = $3,
               queue_position = $4
         WHERE id = $1
    """
    await conn.execute(query, experiment_id, resources, pool, position)


async def update_task_terms(
    conn: Conn, job_id: str, *, priority: int, weight: float, position: Decimal | None
) -> None:
    """Write what the job of a task without an experiment was given; nothing for other jobs.

    The next run of a generic task goes by it, and an interactive one shows it.
    """
    query = """
        WITH interactive AS (
            UPDATE interactive_tasks i
               SET config = jsonb_set(i.config, '{resources}', i.config -> 'resources' || $2),
                   queue_position = $3
              FROM tasks k
             WHERE k.id = i.task_id AND k.experiment_id IS NULL AND k.job_id = $1::uuid
        )
        UPDATE generic_tasks g
           SET config = jsonb_set(g.config, '{resources}', g.config -> 'resources' || $2),
               queue_position = $3
          FROM tasks k
         WHERE k.id = g.task_id AND k.experiment_id IS NULL AND k.job_id = $1::uuid
    """
    terms = {"priority": priority, "weight": weight}
    await conn.execute(query, job_id, terms, position)


async def list_waits(
    conn: Conn, pools: Sequence[str], since: datetime
) -> list[tuple[str, date, float]]:
    """Mean seconds between request and start, by pool and UTC day, oldest first.

    Days that are summed up have their sums, by the day of the start; later ones are those of
    the requests, and what still waits counts until now.
    """
    query = """
        WITH summed AS (
            SELECT key AS pool, day, seconds FROM usage_days
             WHERE type = 'queued' AND day >= ($2 AT TIME ZONE 'UTC')::date AND key = ANY ($1)
        ), last AS (
            SELECT max(day) AS day FROM usage_days
        )
        SELECT pool, day, seconds FROM summed
         UNION ALL
        SELECT pool, (requested_at AT TIME ZONE 'UTC')::date AS day,
               avg(extract(epoch FROM coalesce(started_at, ended_at, now()) - requested_at))
                   ::double precision AS seconds
          FROM allocations
         WHERE requested_at >= greatest(
                   $2, (SELECT (day + 1)::timestamp AT TIME ZONE 'UTC' FROM last))
           AND pool = ANY ($1)
         GROUP BY 1, 2 ORDER BY 1, 2
    """
    rows = await conn.fetch(query, list(pools), since)
    return [(row["pool"], row["day"], row["seconds"]) for row in rows]


async def list_progress(conn: Conn, trial_ids: Sequence[int]) -> dict[int, float]:
    """How far trials are, 0 to 1."""
    query = "SELECT id, progress FROM trials WHERE id = ANY ($1) AND progress > 0"
    return {row["id"]: row["progress"] for row in await conn.fetch(query, list(trial_ids))}

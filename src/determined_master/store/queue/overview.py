"""What users see of their own things at a glance: visits, and what failed since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from determined_master.store.causes import FAILED_TRIAL, SENTENCE

if TYPE_CHECKING:
    from determined_master.store.db import Conn

_FAILED_EXPERIMENTS = f"""
    SELECT 'EXPERIMENT' AS type, e.id::text AS entity_id, e.name, e.job_id::text AS job_id,
           e.project_id, e.workspace_id, e.resource_pool AS pool, e.started_at, e.ended_at,
           coalesce(failed.cause ->> 'text', {SENTENCE}) AS reason
      FROM experiments e {FAILED_TRIAL}
     WHERE e.user_id = $1 AND e.state = 'ERROR' AND e.ended_at > $2
"""
_FAILED_TASKS = """
    SELECT k.type, k.id AS entity_id,
           coalesce(i.config ->> 'description', g.config ->> 'name', k.id) AS name,
           k.job_id::text AS job_id, coalesce(g.project_id, 0) AS project_id,
           coalesce(i.workspace_id, g.workspace_id, 0) AS workspace_id, a.pool,
           k.started_at, k.ended_at,
           coalesce(a.cause ->> 'text', nullif(g.reason, ''), nullif(a.exit_error, '')) AS reason
      FROM tasks k
      JOIN LATERAL (SELECT pool, exit_error, cause FROM allocations a WHERE a.task_id = k.id
                     ORDER BY requested_at DESC, id DESC LIMIT 1) a ON true
      LEFT JOIN interactive_tasks i ON i.task_id = k.id
      LEFT JOIN generic_tasks g ON g.task_id = k.id
     WHERE k.user_id = $1 AND k.ended_at > $2 AND k.trial_id IS NULL AND k.experiment_id IS NULL
       AND a.exit_error IS NOT NULL
"""


class FailedRow(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment or a task that failed."""

    type: str
    entity_id: str
    name: str
    job_id: str
    project_id: int
    workspace_id: int
    pool: str
    started_at: datetime
    ended_at: datetime
    reason: str
    """The cause alone, in one sentence; what else is known where there is none."""


async def find_visit(conn: Conn, user_id: int) -> datetime | None:
    """When a user last saw their overview."""
    query = "SELECT visited_at FROM ui_visits WHERE user_id = $1"
    visited_at: datetime | None = await conn.fetchval(query, user_id)
    return visited_at


async def upsert_visit(conn: Conn, user_id: int, now: datetime) -> None:
    """Note that a user has seen it."""
    query = """
        INSERT INTO ui_visits VALUES ($1, $2)
            ON CONFLICT (user_id) DO UPDATE
           SET visited_at = greatest(ui_visits.visited_at, excluded.visited_at)
    """
    await conn.execute(query, user_id, now)


async def list_failed(
    conn: Conn, user_id: int, since: datetime, limit: int
) -> tuple[int, list[FailedRow]]:
    """How many of a user's experiments and tasks failed after some time; the newest of them."""
    query = f"""
        WITH failed AS ({_FAILED_EXPERIMENTS} UNION ALL {_FAILED_TASKS})
        SELECT (SELECT count(*) FROM failed), f.* FROM failed f
         ORDER BY ended_at DESC, type, entity_id LIMIT {limit:d}
    """
    records = [dict(row) for row in await conn.fetch(query, user_id, since)]
    counts = [row.pop("count") for row in records]
    return int(max(counts, default=0)), [FailedRow(**row) for row in records]


async def find_projects(
    conn: Conn, experiment_ids: Sequence[int], task_ids: Sequence[str]
) -> dict[str, int]:
    """The projects of experiments and generic tasks, by their ids as texts."""
    query = """
        SELECT id::text, project_id FROM experiments WHERE id = ANY ($1::int[])
         UNION ALL SELECT task_id, project_id FROM generic_tasks
                    WHERE task_id = ANY ($2::text[]) AND project_id IS NOT NULL
    """
    return dict(await conn.fetch(query, experiment_ids, task_ids))

"""What a user submitted and used by day, and what of theirs ended."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from determined_master.store.db import Conn

_ENDED = """
    SELECT 'EXPERIMENT' AS type, e.id::text AS entity_id, e.name, e.job_id::text AS job_id,
           e.state, e.project_id, e.workspace_id, e.resource_pool AS pool, e.started_at,
           e.ended_at
      FROM experiments e
     WHERE e.user_id = $1 AND e.ended_at > $2 AND e.state IN ('COMPLETED', 'CANCELED')
     UNION ALL
    SELECT k.type, k.id, coalesce(i.config ->> 'description', g.config ->> 'name', k.id),
           k.job_id::text, coalesce(g.state, 'COMPLETED'), coalesce(g.project_id, 0),
           coalesce(i.workspace_id, g.workspace_id, 0), a.pool, k.started_at, k.ended_at
      FROM tasks k
      JOIN LATERAL (SELECT pool, exit_error FROM allocations a WHERE a.task_id = k.id
                     ORDER BY requested_at DESC, id DESC LIMIT 1) a ON true
      LEFT JOIN interactive_tasks i ON i.task_id = k.id
      LEFT JOIN generic_tasks g ON g.task_id = k.id
     WHERE k.user_id = $1 AND k.ended_at > $2 AND k.trial_id IS NULL AND k.experiment_id IS NULL
       AND k.type <> 'CHECKPOINT_GC' AND a.exit_error IS NULL
"""


class EndedRow(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment or a task that ended without an error."""

    type: str
    entity_id: str
    name: str
    job_id: str
    state: str
    project_id: int
    workspace_id: int
    pool: str
    started_at: datetime
    ended_at: datetime


class SubmittedDay(msgspec.Struct, frozen=True, kw_only=True):
    """What a user submitted on one UTC day, and how much of it failed or completed by now."""

    day: date
    submitted: int
    completed: int
    failed: int


async def list_ended(
    conn: Conn, user_id: int, since: datetime, limit: int
) -> tuple[int, list[EndedRow]]:
    """How many things of a user ended without an error after some time; the newest of them."""
    query = f"""
        WITH ended AS ({_ENDED})
        SELECT (SELECT count(*) FROM ended), e.* FROM ended e
         ORDER BY ended_at DESC, type, entity_id LIMIT {limit:d}
    """
    records = [dict(row) for row in await conn.fetch(query, user_id, since)]
    counts = [row.pop("count") for row in records]
    return int(max(counts, default=0)), [EndedRow(**row) for row in records]


async def list_submitted(conn: Conn, user_id: int, since: datetime) -> list[SubmittedDay]:
    """Days since some instant on which a user submitted experiments or tasks."""
    query = """
        WITH own AS (
            SELECT e.started_at, e.state FROM experiments e
             WHERE e.user_id = $1 AND e.started_at >= $2
             UNION ALL
            SELECT k.started_at,
                   CASE WHEN k.ended_at IS NULL THEN 'ACTIVE'
                        WHEN a.exit_error IS NULL THEN 'COMPLETED' ELSE 'ERROR' END
              FROM tasks k
              LEFT JOIN LATERAL (SELECT exit_error FROM allocations a WHERE a.task_id = k.id
                                  ORDER BY requested_at DESC, id DESC LIMIT 1) a ON true
             WHERE k.user_id = $1 AND k.started_at >= $2 AND k.trial_id IS NULL
               AND k.experiment_id IS NULL AND k.type <> 'CHECKPOINT_GC')
        SELECT (started_at AT TIME ZONE 'UTC')::date AS day, count(*) AS submitted,
               count(*) FILTER (WHERE state = 'COMPLETED') AS completed,
               count(*) FILTER (WHERE state = 'ERROR') AS failed
          FROM own GROUP BY 1 ORDER BY 1
    """
    return [SubmittedDay(**row) for row in await conn.fetch(query, user_id, since)]


async def find_summed_until(conn: Conn, first: date) -> date:
    """The first day from `first` on that is not summed up yet."""
    query = "SELECT coalesce(max(day) + 1, $1::date) FROM usage_days WHERE day >= $1"
    summed_until: date = await conn.fetchval(query, first)
    return summed_until


async def list_used(
    conn: Conn, user_id: int, username: str, first: date, fresh: date, now: datetime
) -> dict[date, float]:
    """Slot-seconds of a user by UTC day from `first` on.

    Days before `fresh` are summed up already; those from it on are computed. Call in a
    transaction, after `plan_for_reports`.
    """
    query = """
        SELECT day, sum(seconds) AS seconds FROM usage_days
         WHERE type = 'username' AND key = $2 AND day >= $3 AND day < $4
         GROUP BY day
         UNION ALL
        SELECT d.day, sum(a.slots * extract(epoch FROM least(coalesce(a.ended_at, $5), d.ends)
                                                       - greatest(a.started_at, d.begins)))
          FROM (SELECT day::date AS day, day AT TIME ZONE 'UTC' AS begins,
                       (day + interval '1 day') AT TIME ZONE 'UTC' AS ends
                  FROM generate_series($4::date::timestamp, $5 AT TIME ZONE 'UTC', '1 day') day) d
          JOIN used_allocations a
            ON a.user_id = $1 AND a.started_at < least(d.ends, $5)
               AND coalesce(a.ended_at, 'infinity') > d.begins
               -- Follows from the line before, and an index finds it.
               AND coalesce(a.ended_at, 'infinity') > $4::date::timestamp AT TIME ZONE 'UTC'
         GROUP BY d.day
    """
    rows = await conn.fetch(query, user_id, username, first, fresh, now)
    return {row["day"]: float(row["seconds"]) for row in rows}

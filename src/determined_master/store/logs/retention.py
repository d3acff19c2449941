"""How long the lines of tasks are kept, and removing those that are kept no longer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.store.db import Conn

LINES = 20_000
"""Removed by one statement."""

_DAYS = """
    coalesce(t.log_retention_days,
             (e.config -> 'retention_policy' ->> 'log_retention_days')::int, $1::int)
"""


class TrialRetention(msgspec.Struct, frozen=True):
    """How long a trial's lines are kept, and since when its days are counted."""

    days: int
    """-1 forever."""
    ended_at: datetime | None


async def find_kept(conn: Conn, trial_id: int, default_days: int) -> TrialRetention | None:
    """How long the lines of a trial are kept; None when there is no such trial."""
    query = f"""
        SELECT {_DAYS} AS days,
               (SELECT CASE WHEN bool_and(k.ended_at IS NOT NULL) THEN max(k.ended_at) END
                  FROM tasks k WHERE k.trial_id = t.id) AS ended_at
          FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $2
    """
    row = await conn.fetchrow(query, default_days, trial_id)
    return TrialRetention(**row) if row else None


async def update_trial_days(conn: Conn, trial_id: int, days: int) -> None:
    """Set the days for which lines of a trial are kept; -1 is forever."""
    await conn.execute("UPDATE trials SET log_retention_days = $2 WHERE id = $1", trial_id, days)


async def forget_trial_days(conn: Conn, experiment_id: int) -> None:
    """Let every trial of an experiment be like the experiment again."""
    query = """
        UPDATE trials SET log_retention_days = NULL
         WHERE experiment_id = $1 AND log_retention_days IS NOT NULL
    """
    await conn.execute(query, experiment_id)


async def list_expired(conn: Conn, default_days: int, now: datetime, *, limit: int) -> list[str]:
    """Ids of ended tasks whose lines are kept no longer, the longest ended first."""
    query = f"""
        SELECT k.id FROM tasks k
          LEFT JOIN trials t ON t.id = k.trial_id
          LEFT JOIN experiments e ON e.id = k.experiment_id
         WHERE k.ended_at IS NOT NULL AND k.logs_removed_at IS NULL AND {_DAYS} >= 0
           AND k.ended_at + {_DAYS} * interval '1 day' <= $2
         ORDER BY k.ended_at, k.id LIMIT {limit}
    """
    return [row["id"] for row in await conn.fetch(query, default_days, now)]


async def delete_lines(conn: Conn, task_ids: Sequence[str]) -> int:
    """Remove the next lines of tasks; how many, at most `LINES`."""
    query = f"""
        DELETE FROM task_logs l
         USING (SELECT task_id, id FROM task_logs WHERE task_id = ANY ($1)
                 ORDER BY task_id, id LIMIT {LINES}) d
         WHERE l.task_id = d.task_id AND l.id = d.id
    """
    status: str = await conn.execute(query, list(task_ids))
    return int(status.rpartition(" ")[2])


async def mark_removed(conn: Conn, task_ids: Sequence[str], now: datetime) -> None:
    """Record that tasks have no lines any more, so that they are not checked again."""
    query = "UPDATE tasks SET logs_removed_at = $2 WHERE id = ANY ($1)"
    await conn.execute(query, list(task_ids), now)

"""Used slots over time: the rows of usage reports, and the sums of whole days."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any, TypeVar

import msgspec

from determined_master.records.cluster import Span, UsedAllocation
from determined_master.store.db import Conn

T = TypeVar("T")
Take = Callable[[list[T]], None]
"""Is given rows, `ROWS_AT_ONCE` at a time."""
ROWS_AT_ONCE = 500


class DaySum(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a day or a month: slot-seconds, or mean seconds of waiting."""

    period: date
    """Its first day."""
    type: str
    key: str
    seconds: float


async def plan_for_reports(conn: Conn) -> None:
    """Let statements of this transaction be planned for what they read: much of large tables."""
    await conn.execute(
        "SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on; "
        "SET LOCAL plan_cache_mode = force_custom_plan"
    )


async def list_allocations(
    conn: Conn, window: tuple[datetime, datetime], now: datetime, take: Take[UsedAllocation]
) -> None:
    """Hand out allocations that had slots within a window, by their start.

    Those that run still count until `now`. Call within a transaction.
    """
    query = """
        SELECT a.id, a.task_type, u.username, a.workspace_name, a.experiment_id, a.slots,
               a.started_at, a.ended_at, a.pool,
               coalesce(extract(epoch FROM a.pulled_at - a.pulling_at), 0)::float8 AS pulling_s,
               (a.slots * extract(epoch FROM least(coalesce(a.ended_at, $3), $2)
                                             - greatest(a.started_at, $1)))::float8 AS slot_s
          FROM used_allocations a JOIN users u ON u.id = a.user_id
         WHERE a.started_at < least($2, $3) AND coalesce(a.ended_at, 'infinity') > $1
         ORDER BY a.started_at, a.id
    """
    await _hand_out(conn, query, (*window, now), lambda r: UsedAllocation(**r), take)


async def list_spans(
    conn: Conn, window: tuple[datetime, datetime], now: datetime, take: Take[Span]
) -> None:
    """Hand out what continued within a window, by its begin.

    A trial's span begins where the one before ended, the first at the trial's start. Detached
    trials use nothing of the cluster. Call within a transaction.
    """
    query = """
        WITH found AS (
            SELECT t.id, t.experiment_id, t.started_at, e.user_id, e.labels,
                   (e.config #>> '{resources,slots_per_trial}')::int AS slots
              FROM trials t JOIN experiments e ON e.id = t.experiment_id
             WHERE t.started_at < $2 AND (t.ended_at IS NULL OR t.ended_at > $1)
               AND NOT e.unmanaged
        ), ends AS (
            SELECT trial_id, metric_group AS kind, reported_at AS at FROM metrics
             WHERE trial_id IN (SELECT id FROM found)
               AND metric_group IN ('training', 'validation')
            UNION ALL
            SELECT trial_id, 'checkpointing', reported_at FROM checkpoints
             WHERE trial_id IN (SELECT id FROM found)
            UNION ALL
            SELECT k.trial_id, 'imagepulling', a.pulled_at
              FROM allocations a JOIN tasks k ON k.id = a.task_id
             WHERE k.trial_id IN (SELECT id FROM found) AND a.pulled_at IS NOT NULL
        ), spans AS (
            SELECT f.experiment_id, s.kind, u.username, f.user_id, f.labels, f.slots,
                   lag(s.at, 1, f.started_at)
                       OVER (PARTITION BY s.trial_id ORDER BY s.at, s.kind) AS began_at,
                   s.at AS ended_at
              FROM ends s JOIN found f ON f.id = s.trial_id JOIN users u ON u.id = f.user_id
            UNION ALL
            SELECT NULL, 'agent', agent_id, NULL, '{}', slots, started_at, ended_at
              FROM agent_stays
            UNION ALL
            SELECT NULL, 'instance', machine_id, NULL, '{}', slots, started_at, ended_at
              FROM machine_stays WHERE state <> 'pending'
        )
        SELECT experiment_id, kind, username, user_id, labels, coalesce(slots, 0) AS slots,
               began_at, ended_at,
               extract(epoch FROM least(coalesce(ended_at, $3), $2)
                                  - greatest(began_at, $1))::float8 AS seconds
          FROM spans
         WHERE began_at < least($2, $3) AND (ended_at IS NULL OR ended_at > $1)
         ORDER BY began_at, experiment_id, username, kind
    """
    await _hand_out(conn, query, (*window, now), lambda r: Span(**r), take)


async def list_sums(conn: Conn, first: date, last: date, *, by_month: bool) -> list[DaySum]:
    """Slot-seconds of days or months from `first` to `last`, by period, type and key."""
    query = """
        SELECT CASE WHEN $3 THEN date_trunc('month', day)::date ELSE day END AS period, type, key,
               sum(seconds) AS seconds
          FROM usage_days
         WHERE day BETWEEN $1 AND $2 AND type NOT LIKE 'queued%'
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    """
    return [DaySum(**row) for row in await conn.fetch(query, first, last, by_month)]


async def find_first_due(conn: Conn) -> date | None:
    """The day after the last aggregated one; without one, the day of the first request."""
    query = """
        SELECT coalesce(
            (SELECT max(day) + 1 FROM usage_days),
            (SELECT min(requested_at AT TIME ZONE 'UTC')::date FROM used_allocations))
    """
    first_due: date | None = await conn.fetchval(query)
    return first_due


async def upsert_day(conn: Conn, day: date, begin: datetime, end: datetime) -> None:
    """Sum a UTC day up. Existing sums stay, but for waiting times, which are replaced.

    Args:
        conn: a connection, in a transaction.
        day: which.
        begin: its first instant.
        end: that of the next.
    """
    used = """
        WITH used AS (
            SELECT u.username, a.labels, a.pool,
                   (a.slots * extract(epoch FROM least(coalesce(a.ended_at, $3), $3)
                                                 - greatest(a.started_at, $2)))::float8 AS s
              FROM used_allocations a JOIN users u ON u.id = a.user_id
             WHERE a.started_at < $3 AND coalesce(a.ended_at, 'infinity') > $2
        )
        INSERT INTO usage_days (day, type, key, seconds)
        SELECT $1::date, 'username', username, sum(s) FROM used GROUP BY username
         UNION ALL
        SELECT $1::date, 'experiment_label', label, sum(s) FROM used, unnest(labels) AS label
         GROUP BY label
         UNION ALL
        SELECT $1::date, 'resource_pool', pool, sum(s) FROM used GROUP BY pool
         UNION ALL
        SELECT $1::date, 'total', 'total', sum(s) FROM used HAVING count(*) > 0
        ON CONFLICT DO NOTHING
    """
    queued = """
        WITH waits AS (
            SELECT pool, extract(epoch FROM started_at - requested_at)::float8 AS s
              FROM used_allocations WHERE started_at >= $2 AND started_at < $3
        )
        INSERT INTO usage_days (day, type, key, seconds)
        SELECT $1::date, 'queued', pool, avg(s) FROM waits GROUP BY pool
         UNION ALL
        SELECT $1::date, 'queued_total', 'total', avg(s) FROM waits HAVING count(*) > 0
        ON CONFLICT (day, type, key) DO UPDATE SET seconds = excluded.seconds
    """
    await conn.execute(used, day, begin, end)
    await conn.execute(queued, day, begin, end)


async def _hand_out(
    conn: Conn, query: str, values: Sequence[Any], read: Callable[[Any], T], take: Take[T]
) -> None:
    cursor = await conn.cursor(query, *values)
    while rows := await cursor.fetch(ROWS_AT_ONCE):
        take([read(row) for row in rows])

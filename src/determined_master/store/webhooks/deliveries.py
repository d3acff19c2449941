"""Rows of events that webhooks have to deliver, and the choice of the webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.domain.webhooks.events import Alert, WebhookEvent
from determined_master.records.webhooks import DeliveryRow, LogTriggerRow
from determined_master.store.causes import FAILED_TRIAL, SENTENCE
from determined_master.store.db import Conn

_OF_EXPERIMENT = """
       (w.workspace_id IS NULL OR w.workspace_id = e.workspace_id)
   AND (w.mode = 'workspace'
        OR e.config #> '{integrations,webhooks,webhook_id}' @> to_jsonb(w.id)
        OR e.config #> '{integrations,webhooks,webhook_name}' @> to_jsonb(w.name))
   AND e.config #> '{integrations,webhooks,exclude}' IS DISTINCT FROM 'true'
"""
"""Whether a webhook `w` reports an experiment `e`."""
_EXPERIMENT = """
    jsonb_strip_nulls(jsonb_build_object(
        'id', e.id, 'state', e.state, 'name', e.name,
        'duration', extract(epoch FROM coalesce(e.ended_at, $1) - e.started_at)::int,
        'resource_pool', e.resource_pool,
        'slots_per_trial', e.config #> '{resources,slots_per_trial}',
        'workspace', s.name, 'project', p.name, 'trial_id', NULLIF($2::int, 0)))
"""
"""The reported form of an experiment `e`, a `ReportedExperiment`; of the first two arguments."""
MAX_REASON = 2000
_REASON = f"""
    jsonb_strip_nulls(jsonb_build_object('reason',
        CASE WHEN e.state = 'ERROR' THEN nullif(left({SENTENCE}, {MAX_REASON}), '') END))
"""
"""Why it failed; it needs `FAILED_TRIAL`."""
_INSERT = "INSERT INTO webhook_deliveries (webhook_id, lane, event, due_at, created_at)"


async def insert_state_events(conn: Conn, experiment_ids: Sequence[int], now: datetime) -> None:
    """Let webhooks report the states of experiments, which have just changed."""
    query = f"""
        {_INSERT}
        SELECT w.id, 'experiment ' || e.id,
               jsonb_build_object(
                   'id', gen_random_uuid(), 'type', 'state',
                   'at', extract(epoch FROM $1::timestamptz)::bigint,
                   'condition', t.condition, 'experiment', {_EXPERIMENT} || {_REASON}),
               $1, $1
          FROM experiments e
          JOIN webhooks w ON {_OF_EXPERIMENT}
          JOIN webhook_triggers t ON t.webhook_id = w.id
           AND t.type = 'state' AND t.condition ->> 'state' = e.state
          JOIN workspaces s ON s.id = e.workspace_id
          JOIN projects p ON p.id = e.project_id
          {FAILED_TRIAL}
         WHERE e.id = ANY ($3::int[])
         ORDER BY e.id, t.id
    """
    await conn.execute(query, now, 0, experiment_ids)


async def insert_alert(
    conn: Conn, experiment_id: int, trial_id: int, alert: Alert, now: datetime, most_waiting: int
) -> int:
    """Let webhooks report an alert of an experiment.

    Returns:
        How many have `most_waiting` deliveries already, and do not report it.
    """
    query = f"""
        WITH chosen AS (
            SELECT DISTINCT w.id,
                   (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d
                     WHERE d.webhook_id = w.id LIMIT $5) AS waiting) AS waiting
              FROM experiments e
              JOIN webhooks w ON {_OF_EXPERIMENT}
              JOIN webhook_triggers t ON t.webhook_id = w.id AND t.type = 'custom'
             WHERE e.id = $3
        ), reported AS (
            {_INSERT}
            SELECT c.id, 'experiment ' || e.id,
                   jsonb_build_object(
                       'id', gen_random_uuid(), 'type', 'custom',
                       'at', extract(epoch FROM $1::timestamptz)::bigint,
                       'condition', jsonb_build_object('state', e.state),
                       'experiment', {_EXPERIMENT}, 'alert', $4::jsonb),
                   $1, $1
              FROM chosen c, experiments e
              JOIN workspaces s ON s.id = e.workspace_id
              JOIN projects p ON p.id = e.project_id
             WHERE e.id = $3 AND c.waiting < $5
        )
        SELECT count(*) FROM chosen WHERE waiting >= $5
    """
    values = now, trial_id, experiment_id, msgspec.to_builtins(alert), most_waiting
    return int(await conn.fetchval(query, *values))


async def has_log_triggers(conn: Conn) -> bool:
    """Whether any webhook looks for a pattern in logs."""
    query = "SELECT EXISTS (SELECT 1 FROM webhook_triggers WHERE type = 'log')"
    return bool(await conn.fetchval(query))


async def list_log_triggers(conn: Conn, task_id: str, workspace_id: int) -> list[LogTriggerRow]:
    """The patterns to look for in a task's log, which were not found there yet."""
    query = f"""
        SELECT t.id, t.condition ->> 'regex' AS regex
          FROM webhook_triggers t
          JOIN webhooks w ON w.id = t.webhook_id
          JOIN tasks k ON k.id = $1
          LEFT JOIN experiments e ON e.id = k.experiment_id
         WHERE t.type = 'log'
           AND CASE WHEN e.id IS NULL
                    THEN w.mode = 'workspace' AND coalesce(w.workspace_id, $2) = $2
                    ELSE {_OF_EXPERIMENT} END
           AND NOT EXISTS (SELECT 1 FROM webhook_matches m
                            WHERE m.task_id = $1 AND m.trigger_id = t.id)
         ORDER BY t.id
    """
    return [LogTriggerRow(**row) for row in await conn.fetch(query, task_id, workspace_id)]


async def insert_match(
    conn: Conn, trigger_id: int, task_id: str, event: WebhookEvent, now: datetime
) -> None:
    """Let a webhook report a line, unless its trigger has found one in this task."""
    query = f"""
        WITH first AS (
            INSERT INTO webhook_matches (task_id, trigger_id)
            SELECT k.id, t.id FROM tasks k, webhook_triggers t WHERE k.id = $2 AND t.id = $1
                ON CONFLICT DO NOTHING RETURNING trigger_id
        )
        {_INSERT}
        SELECT t.webhook_id,
               coalesce('experiment ' || k.experiment_id, 'task ' || k.id), $3, $4, $4
          FROM first
          JOIN webhook_triggers t ON t.id = first.trigger_id
          JOIN tasks k ON k.id = $2
    """
    await conn.execute(query, trigger_id, task_id, msgspec.to_builtins(event), now)


async def list_heads(conn: Conn, most: int) -> list[DeliveryRow]:
    """The first delivery of each lane, those that are due first at the front."""
    query = """
        SELECT * FROM (
            SELECT DISTINCT ON (d.webhook_id, d.lane)
                   d.id, d.webhook_id, d.lane, d.event, d.attempts, d.due_at, d.created_at,
                   w.name, w.url, w.type
              FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
             ORDER BY d.webhook_id, d.lane, d.id
        ) AS heads ORDER BY due_at, id LIMIT $1
    """
    return [DeliveryRow(**row) for row in await conn.fetch(query, most)]


async def delete_delivery(conn: Conn, delivery_id: int) -> None:
    """Forget a delivery: it has arrived, or is given up."""
    await conn.execute("DELETE FROM webhook_deliveries WHERE id = $1", delivery_id)


async def postpone_delivery(conn: Conn, delivery_id: int, due_at: datetime) -> None:
    """Count a failure, and repeat the delivery later."""
    query = "UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = $2 WHERE id = $1"
    await conn.execute(query, delivery_id, due_at)

"""The journal of all aggregates as one list, the newest first."""

from __future__ import annotations

from datetime import date

import msgspec

from determined_master.records.events import EventLine, EventQuery
from determined_master.records.stories import StoryLine
from determined_master.store.db import Conn

_THING = """
    SELECT e.id AS experiment_id, 0 AS trial_id, 'experiment' AS kind, e.id::text AS id,
           e.name, e.workspace_id, e.user_id
      FROM experiments e WHERE e.id = CASE j.kind WHEN 'experiment' THEN j.id::int END
     UNION ALL
    SELECT e.id, t.id, 'trial', t.id::text, e.name, e.workspace_id, e.user_id
      FROM trials t JOIN experiments e ON e.id = t.experiment_id
     WHERE t.id = CASE j.kind WHEN 'trial' THEN j.id::int END
     UNION ALL
    SELECT coalesce(e.id, 0), coalesce(k.trial_id, 0),
           CASE WHEN k.trial_id IS NULL THEN lower(k.type) ELSE 'trial' END,
           coalesce(k.trial_id::text, k.id),
           coalesce(e.name, i.config ->> 'description', g.config ->> 'name', k.id),
           coalesce(e.workspace_id, i.workspace_id, p.workspace_id, g.workspace_id), k.user_id
      FROM tasks k
      LEFT JOIN experiments e ON e.id = k.experiment_id
      LEFT JOIN interactive_tasks i ON i.task_id = k.id
      LEFT JOIN generic_tasks g ON g.task_id = k.id
      LEFT JOIN projects p ON p.id = g.project_id
     WHERE k.id = CASE WHEN j.kind IN ('interactive', 'task') THEN j.id
                       WHEN j.kind = 'allocation' THEN regexp_replace(j.id, '[.][^.]*$', '') END
           COLLATE "default"
"""
"""The thing of the line `j` of the journal; no row after its deletion."""
_IS_VISIBLE = f"""
    EXISTS (SELECT FROM ({_THING}) thing
             WHERE CASE WHEN thing.experiment_id > 0
                        THEN $11::int[] IS NULL OR thing.workspace_id = ANY ($11)
                        ELSE $12::int[] IS NULL OR thing.workspace_id = ANY ($12) END)
"""
CREATIONS = ("created", "launched")
"""Causes of events that the owner of a thing asked for."""


async def plan_for_events(conn: Conn, statement_s: float) -> None:
    """Let statements of this transaction find the journal's lines by their time.

    A statement that takes longer than `statement_s` is cancelled.
    """
    await conn.execute(
        "SET LOCAL enable_bitmapscan = on; SET LOCAL enable_seqscan = on; "
        "SET LOCAL plan_cache_mode = force_custom_plan; "
        f"SET LOCAL statement_timeout = {round(statement_s * 1000):d}"
    )


async def list_events(conn: Conn, event_query: EventQuery) -> list[EventLine]:
    """Events within a time, the newest first. Call after `plan_for_events`."""
    query = f"""
        WITH found AS MATERIALIZED (
            SELECT j.at, j.kind, j.id, j.version, j.cause, j.event
              FROM journal j
             WHERE j.at >= $1 AND j.at < $2
               AND ($3::timestamptz IS NULL
                    OR (j.at, j.kind, j.id, j.version)
                       < ($3, $4::text COLLATE "C", $5::text COLLATE "C", $6::bigint))
               AND (cardinality($7::text[]) = 0 OR j.kind = ANY ($7))
               AND (NOT $8::bool OR j.cause LIKE 'request:%' OR j.cause = ANY ($9::text[]))
               AND ($10::int = 0 OR j.cause LIKE 'request:' || $10 || ':%'
                    OR (j.cause = ANY ($9)
                        AND EXISTS (SELECT FROM ({_THING}) thing WHERE thing.user_id = $10)))
               AND (($11::int[] IS NULL AND $12::int[] IS NULL) OR {_IS_VISIBLE})
             ORDER BY j.at DESC, j.kind DESC, j.id DESC, j.version DESC
             LIMIT $13)
        SELECT j.*, coalesce(thing.kind, j.kind) AS thing_kind,
               coalesce(thing.id, j.id) AS thing_id, coalesce(thing.name, '') AS thing_name,
               coalesce(thing.experiment_id, 0) AS experiment_id,
               coalesce(thing.trial_id, 0) AS trial_id,
               coalesce(thing.workspace_id, 0) AS workspace_id,
               coalesce(thing.user_id, 0) AS owner_id
          FROM found j LEFT JOIN LATERAL ({_THING}) thing ON true
         ORDER BY j.at DESC, j.kind DESC, j.id DESC, j.version DESC
    """
    rows = await conn.fetch(
        query,
        event_query.after,
        event_query.before,
        *(event_query.cursor or (None, None, None, None)),
        list(event_query.kinds),
        event_query.acts_only,
        list(CREATIONS),
        event_query.user_id,
        event_query.experiment_workspaces,
        event_query.task_workspaces,
        event_query.limit,
    )
    return [
        EventLine(
            StoryLine(
                at=row["at"],
                kind=row["kind"],
                id=row["id"],
                version=row["version"],
                cause=row["cause"],
                event=msgspec.json.decode(row["event"]),
                effects=(),
            ),
            *(row[name] for name in EventLine.__struct_fields__[1:]),
        )
        for row in rows
    ]


async def find_first_month(conn: Conn) -> date | None:
    """The first day of the oldest month that the journal has a partition of."""
    query = """
        SELECT min(to_date(right(c.relname, 7), 'YYYY_MM'))
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'journal'::regclass AND c.relname ~ '^journal_[0-9]{4}_[0-9]{2}$'
    """
    first_month: date | None = await conn.fetchval(query)
    return first_month

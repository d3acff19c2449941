"""Attempts of trials: their allocations with the agents that ran them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.records.tasks import AttemptRow
from determined_master.store.causes import stored_cause

if TYPE_CHECKING:
    from determined_master.store.db import Conn


async def list_attempts(conn: Conn, trial_id: int, limit: int) -> list[AttemptRow]:
    """The latest allocations of a trial, the newest first.

    `number` counts them from 1. The journal has their agents: an allocation that has ended holds
    no containers.
    """
    query = """
        WITH numbered AS (
            SELECT a.*, k.trial_id, row_number() OVER (ORDER BY a.requested_at, a.id) AS number,
                   count(*) OVER () AS total
              FROM tasks k JOIN allocations a ON a.task_id = k.id WHERE k.trial_id = $1
             ORDER BY a.requested_at DESC, a.id DESC LIMIT $2
        )
        SELECT n.number, n.total, n.id AS allocation_id, n.task_id, n.trial_id, n.state,
               n.pool, n.slots, n.requested_at, n.started_at, n.ended_at,
               coalesce(n.exit_reason, '') AS exit_reason, n.cause,
               ARRAY (SELECT DISTINCT c ->> 'agent_id'
                        FROM journal j,
                             LATERAL jsonb_array_elements(
                                 CASE WHEN j.event LIKE '{"event":"assigned",%'
                                      THEN j.event::jsonb -> 'containers' ELSE '[]' END) c
                       WHERE j.kind = 'allocation' AND j.id = n.id ORDER BY 1) AS agents
          FROM numbered n ORDER BY n.number DESC
    """
    return [_attempt(dict(row)) for row in await conn.fetch(query, trial_id, limit)]


def _attempt(row: dict[str, Any]) -> AttemptRow:
    failure = stored_cause(row) if row["cause"] else None
    return msgspec.convert({**row, "failure": failure}, AttemptRow)

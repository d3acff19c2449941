"""Causes of failures: an experiment has that of the trial that ended it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from determined_master.records.stories import StoredCause
from determined_master.records.tasks import ListedFailure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from determined_master.records.stories import ThingWithStory
    from determined_master.store.db import Conn

CAUSE_OF_TRIAL = """(
    SELECT a.cause FROM allocations a WHERE a.task_id = t.task_id
     ORDER BY a.requested_at DESC, a.id DESC LIMIT 1)"""
"""Of the latest attempt of trial `t`; null unless that failed."""
FAILED_TRIAL = f"""
    LEFT JOIN LATERAL (
        SELECT t.id, t.task_id, t.reason, {CAUSE_OF_TRIAL} AS cause FROM trials t
         WHERE t.experiment_id = e.id AND t.state = 'ERROR' AND t.reason <> ''
           AND e.state = 'ERROR' AND (e.reason = '' OR e.reason ~ 'trials failed')
         ORDER BY t.ended_at DESC, t.id LIMIT 1) failed ON true"""
"""The trial that ended experiment `e`, if its failure did."""
SENTENCE = """concat_ws('; ', failed.cause ->> 'text',
    'trial ' || failed.id || ': ' || failed.reason, nullif(e.reason, ''))"""
"""Why experiment `e` failed: the cause first. It needs `FAILED_TRIAL`."""
MAX_TRIALS = 100
"""Of a larger search that runs, one failed attempt says little."""

_OPEN = "('ACTIVE', 'PAUSED')"
NUMBER = "CASE WHEN $1 ~ '^[1-9][0-9]{0,17}$' THEN $1::bigint END"
"""The number that a text is, for an index; null for other texts, which are the id of nothing."""
_LATEST = """
    SELECT a.cause, a.task_id, a.id AS allocation_id, t.id AS trial_id
      FROM {source} JOIN tasks k ON k.trial_id = t.id JOIN allocations a ON a.task_id = k.id
     WHERE {which} AND a.cause IS NOT NULL ORDER BY a.ended_at DESC LIMIT 1
"""
_CAUSES: dict[ThingWithStory, str] = {
    "experiment": f"""
        (SELECT failed.cause, failed.task_id, '' AS allocation_id, failed.id AS trial_id
           FROM experiments e {FAILED_TRIAL} WHERE e.id = {NUMBER} AND failed.cause IS NOT NULL)
        UNION ALL ({
        _LATEST.format(
            source="trials t JOIN experiments e ON e.id = t.experiment_id",
            which=f'''e.id = {NUMBER} AND e.num_trials <= {MAX_TRIALS} AND e.state IN {_OPEN}
                      AND t.state IN ('ACTIVE', 'PAUSED', 'ERROR')''',
        )
    }) LIMIT 1
    """,
    "trial": _LATEST.format(
        source="trials t", which=f"t.id = {NUMBER} AND t.state NOT IN ('COMPLETED', 'CANCELED')"
    ),
    "allocation": """
        SELECT cause, task_id, id AS allocation_id, NULL::int AS trial_id FROM allocations
         WHERE id = $1 AND cause IS NOT NULL
    """,
    "task": """
        SELECT a.cause, a.task_id, a.id AS allocation_id, NULL::int AS trial_id
          FROM allocations a WHERE a.task_id = $1 AND a.cause IS NOT NULL
         ORDER BY a.ended_at DESC LIMIT 1
    """,
}

_FAILURES: dict[Literal["trial", "experiment"], str] = {
    "trial": f"""
        SELECT x.id, coalesce(x.cause ->> 'text', x.reason) AS text, x.id AS trial_id,
               coalesce((x.cause ->> 'log_position')::bigint, 0) AS log_position
          FROM (SELECT t.id, t.reason, {CAUSE_OF_TRIAL} AS cause
                  FROM trials t JOIN experiments e ON e.id = t.experiment_id
                 WHERE t.id = ANY ($1) AND t.state = 'ERROR'
                   AND ($2::int[] IS NULL OR e.workspace_id = ANY ($2))) x
         ORDER BY x.id
    """,
    "experiment": f"""
        SELECT e.id, coalesce(failed.cause ->> 'text', failed.reason, e.reason) AS text,
               coalesce(failed.id, 0) AS trial_id,
               coalesce((failed.cause ->> 'log_position')::bigint, 0) AS log_position
          FROM experiments e {FAILED_TRIAL}
         WHERE e.id = ANY ($1) AND e.state = 'ERROR'
           AND ($2::int[] IS NULL OR e.workspace_id = ANY ($2))
         ORDER BY e.id
    """,
}


async def list_failures(
    conn: Conn,
    kind: Literal["trial", "experiment"],
    ids: Sequence[int],
    *,
    among: Sequence[int] | None,
) -> list[ListedFailure]:
    """Why those of the trials or experiments failed that did, in these workspaces, by id."""
    if not ids:
        return []
    workspaces = None if among is None else list(among)
    records = await conn.fetch(_FAILURES[kind], ids, workspaces)
    return [ListedFailure(**row) for row in records]


async def find_cause(conn: Conn, kind: ThingWithStory, id: str) -> StoredCause | None:
    """Why a thing, or the latest attempt of one that continues, failed; None for neither."""
    row = await conn.fetchrow(_CAUSES[kind], id)
    return stored_cause(row) if row is not None else None


def stored_cause(row: Mapping[str, Any]) -> StoredCause:
    """The cause of a row, and whose it is."""
    whose = {"task_id": row["task_id"], "allocation_id": row["allocation_id"]}
    values = {**row["cause"], **whose, "trial_id": row["trial_id"] or 0}
    return msgspec.convert(values, StoredCause)

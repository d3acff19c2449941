"""Deleting all rows of an experiment, a part at a time, so that no statement is long.

Each step can be repeated: deleted rows are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.store.db import Conn

BATCH = 500

_OF_TRIALS = (
    "DELETE FROM metrics WHERE trial_id = ANY ($1)",
    "DELETE FROM metric_charts WHERE trial_id = ANY ($1)",
    "DELETE FROM metric_places WHERE trial_id = ANY ($1)",
    "DELETE FROM metric_blocks WHERE trial_id = ANY ($1)",
)
_CHECKPOINTS_OF_TRIALS = (
    """UPDATE checkpoints SET trial_id = NULL, task_id = NULL, experiment_id = NULL
        WHERE trial_id = ANY ($1) AND uuid = ANY ($2)""",
    "DELETE FROM checkpoints WHERE trial_id = ANY ($1) AND NOT uuid = ANY ($2)",
)
_OF_TASKS = (
    """INSERT INTO past_allocations
       SELECT a.id, k.type, k.user_id, a.workspace_name, k.experiment_id,
              coalesce(e.labels, '{}'), a.pool, a.slots, a.requested_at, a.started_at, a.ended_at,
              a.pulling_at, a.pulled_at
         FROM allocations a
         JOIN tasks k ON k.id = a.task_id
         LEFT JOIN experiments e ON e.id = k.experiment_id
        WHERE a.task_id = ANY ($1) AND a.started_at IS NOT NULL
       ON CONFLICT DO NOTHING""",
    "DELETE FROM task_logs WHERE task_id = ANY ($1)",
    "DELETE FROM log_values WHERE task_id = ANY ($1)",
    "DELETE FROM log_cursors WHERE task_id = ANY ($1)",
    """WITH gone AS (DELETE FROM allocations WHERE task_id = ANY ($1) RETURNING id, session_id),
            sessions AS (DELETE FROM user_sessions s USING gone WHERE s.id = gone.session_id),
            journal AS (DELETE FROM journal j USING gone
                         WHERE j.kind = 'allocation' AND j.id = gone.id),
            parts AS (DELETE FROM aggregate_parts p USING gone
                       WHERE p.kind = 'allocation' AND p.id = gone.id)
       DELETE FROM aggregates a USING gone WHERE a.kind = 'allocation' AND a.id = gone.id""",
    "DELETE FROM tasks WHERE id = ANY ($1)",
)
_TRIAL_AGGREGATES = (
    "DELETE FROM journal WHERE kind = 'trial' AND id = ANY ($1)",
    "DELETE FROM aggregates WHERE kind = 'trial' AND id = ANY ($1)",
)


async def remove_trials(conn: Conn, experiment_id: int, request_ids: Sequence[str]) -> bool:
    """Delete the next trials of an experiment with all that they have; whether there were any.

    Args:
        conn: a connection, in a transaction.
        experiment_id: an experiment that is being deleted.
        request_ids: UUIDs of checkpoints that others start from: they stay, without an owner.
    """
    query = "SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id LIMIT $2"
    ids = [row["id"] for row in await conn.fetch(query, experiment_id, BATCH)]
    if not ids:
        return False
    for statement in _OF_TRIALS:
        await conn.execute(statement, ids)
    for statement in _CHECKPOINTS_OF_TRIALS:
        await conn.execute(statement, ids, list(request_ids))
    tasks = "SELECT id FROM tasks WHERE trial_id = ANY ($1)"
    await _remove_tasks(conn, [row["id"] for row in await conn.fetch(tasks, ids)])
    for statement in _TRIAL_AGGREGATES:
        await conn.execute(statement, [str(i) for i in ids])
    await conn.execute("DELETE FROM trials WHERE id = ANY ($1)", ids)
    return True


async def remove_rest(conn: Conn, experiment_id: int, request_ids: Sequence[str]) -> None:
    """Delete everything of an experiment except its trials and its own row."""
    tasks = "SELECT id FROM tasks WHERE experiment_id = $1"
    keep = "UPDATE checkpoints SET task_id = NULL, experiment_id = NULL WHERE uuid = ANY ($1)"
    await conn.execute(f"{keep} AND experiment_id = $2", list(request_ids), experiment_id)
    await conn.execute("DELETE FROM checkpoints WHERE experiment_id = $1", experiment_id)
    await _remove_tasks(conn, [row["id"] for row in await conn.fetch(tasks, experiment_id)])
    for table in ("rung_entries", "bracket_members"):
        await conn.execute(f"DELETE FROM {table} WHERE experiment_id = $1", experiment_id)


async def remove_heirless(conn: Conn, uuids: Sequence[str]) -> None:
    """Delete those checkpoints whose experiments were deleted before, and their files."""
    query = """
        DELETE FROM checkpoints
         WHERE uuid = ANY ($1) AND experiment_id IS NULL AND state = 'DELETED'
    """
    await conn.execute(query, list(uuids))


async def delete_experiments(conn: Conn, ids: Sequence[int]) -> None:
    """Delete the rows of experiments that nothing refers to any more."""
    answers = "DELETE FROM requests WHERE (answer ->> 'experiment_id')::int = ANY ($1)"
    await conn.execute(answers, list(ids))
    await conn.execute("DELETE FROM experiments WHERE id = ANY ($1)", list(ids))


async def _remove_tasks(conn: Conn, ids: Sequence[str]) -> None:
    for statement in _OF_TASKS:
        await conn.execute(statement, list(ids))

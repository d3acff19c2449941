"""Rows of what has run beside the experiments of `list_rows`: tasks, allocations, checkpoints.

They are what statements would read whole where an index is missing or not used.
"""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from bench import list_rows
from bench.cluster import Cluster
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

CHECKPOINTS_A_TRIAL = 3
_LISTED = "trials t JOIN experiments e ON e.id = t.experiment_id WHERE e.name LIKE 'listed %'"
_STATEMENTS = (
    f"""INSERT INTO tasks (id, type, job_id, trial_id, experiment_id, user_id, started_at,
                          ended_at)
        SELECT t.task_id, 'TRIAL', e.job_id, t.id, e.id, e.user_id, t.started_at, t.ended_at
          FROM {_LISTED}""",
    f"""INSERT INTO allocations (id, task_id, state, pool, slots, requested_at, started_at,
                                ended_at)
        SELECT t.task_id || '.1', t.task_id, 'TERMINATED', 'default', 1, t.started_at,
               t.started_at, t.ended_at FROM {_LISTED}""",
    """INSERT INTO past_allocations (id, task_type, user_id, workspace_name, experiment_id, labels,
                                     pool, slots, requested_at, started_at, ended_at)
       SELECT 'past.' || a.id, 'TRIAL', k.user_id, 'Uncategorized', NULL, '{}', a.pool, a.slots,
              a.requested_at, a.started_at, a.ended_at
         FROM allocations a JOIN tasks k ON k.id = a.task_id""",
    f"""INSERT INTO checkpoints (uuid, task_id, trial_id, experiment_id, state, reported_at, steps,
                                 resources, metadata, size)
        SELECT gen_random_uuid(), t.task_id, t.id, e.id, 'COMPLETED', t.ended_at, k * 100,
               jsonb_build_object('model/weights', 4000, 'model/state', 1000),
               jsonb_build_object('steps_completed', k * 100), 5000
          FROM generate_series(1, {CHECKPOINTS_A_TRIAL}) k, {_LISTED}""",
    """INSERT INTO tasks (id, type, job_id, user_id, started_at, ended_at)
       SELECT 'listed.' || n, (ARRAY['COMMAND', 'NOTEBOOK', 'SHELL'])[1 + n % 3],
              gen_random_uuid(), 1 + n % 2, now() - n * interval '1 hour',
              now() - n * interval '1 hour' + interval '5 minutes'
         FROM generate_series(1, $1) n""",
    """INSERT INTO interactive_tasks (task_id, state, config, workspace_id)
       SELECT id, 'OVER', '{"description": "listed", "resources": {"resource_pool": "default"}}', 1
         FROM tasks WHERE id LIKE 'listed.%' AND trial_id IS NULL""",
    """INSERT INTO models (name, user_id, workspace_id, created_at, updated_at)
       SELECT 'listed ' || n, 1, 1, now(), now() FROM generate_series(1, $1 / 10) n""",
    """INSERT INTO model_versions (model_id, version, checkpoint, user_id, created_at, updated_at)
       SELECT m.id, 1, c.uuid, 1, now(), now()
         FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM models) m
         JOIN (SELECT uuid, row_number() OVER (ORDER BY uuid) AS n FROM checkpoints) c
        USING (n)""",
    """INSERT INTO journal (born, kind, id, version, cause, event, effects, at)
       SELECT now()::date, 'allocation', a.id, v, 'effect:' || v, '{"type": "exited"}', '[]',
              now() - v * interval '1 second'
         FROM generate_series(1, 3) v, allocations a ORDER BY a.id LIMIT $1 * 3""",
)


def fill(cluster: Cluster, experiments: int) -> None:
    """Have so many experiments of `list_rows`, and of each trial what a run leaves behind."""
    list_rows.fill(cluster, experiments)
    asyncio.run(_fill(connection_options(Layout(cluster.files / "postgres")), experiments))


async def _fill(options: dict[str, Any], experiments: int) -> None:
    conn = await asyncpg.connect(**options, timeout=10)
    try:
        for statement in _STATEMENTS:
            values = (experiments,) if "$1" in statement else ()
            await conn.execute(statement, *values, timeout=list_rows.LIMIT_S)
        await conn.execute("VACUUM ANALYZE", timeout=list_rows.LIMIT_S)
    finally:
        await conn.close()

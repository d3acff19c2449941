"""Rows for figures about lists: experiments with runs, made inside the database.

What the database makes of each trial as it comes in, a row and fifteen values, is made for a
thousand experiments at a time, and compared with that at the end.
"""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from bench.cluster import Cluster
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

RUNS_AN_EXPERIMENT = 10
LIMIT_S = 600
USERS = 7
CONFIG_PADDING = "x" * 60
"""Twenty variables of this length: with the rest a configuration is 2.5 KB, as real ones are."""

_USERS = """
    INSERT INTO users (username, display_name, admin, active, remote, password_hash, modified_at)
    SELECT 'lister' || n, '', false, true, false, '', now() FROM generate_series(1, $1) n
"""
_EXPERIMENTS = """
    INSERT INTO experiments (
        job_id, user_id, workspace_id, project_id, state, name, description, labels, config,
        original_config, seed, searcher_type, searcher_metric, smaller_is_better, resource_pool,
        progress, num_trials, best_metric, started_at, ended_at)
    SELECT gen_random_uuid(),
           (SELECT min(id) FROM users WHERE username LIKE 'lister%') + n % $2, 1, 1,
           (ARRAY['COMPLETED', 'COMPLETED', 'COMPLETED', 'ERROR', 'CANCELED'])[1 + n % 5],
           'listed ' || n, 'number ' || n, ARRAY['even', 'all'],
           jsonb_build_object(
               'name', 'listed ' || n, 'entrypoint', 'python3 train.py',
               'searcher', '{"name": "random", "metric": "loss", "max_trials": 10}'::jsonb,
               'hyperparameters', '{"lr": {"type": "log", "base": 10, "minval": -5, "maxval": 0},
                   "width": {"type": "int", "minval": 1, "maxval": 512},
                   "act": {"type": "categorical", "vals": ["relu", "gelu", "tanh"]}}'::jsonb,
               'environment', jsonb_build_object('environment_variables', (
                   SELECT jsonb_agg('VARIABLE_' || i || '=' || $3::text || md5(i || '.' || n))
                     FROM generate_series(1, 20) i))),
           '', n, 'random', 'loss', true, 'default', 1, $4, ((n * 7919) % 100003) / 100003.0,
           now() - interval '400 days' + n * interval '20 minutes',
           now() - interval '400 days' + n * interval '20 minutes' + interval '15 minutes'
      FROM generate_series(1, $1) n
"""
_TRIALS = """
    INSERT INTO trials (
        experiment_id, request_id, task_id, state, hparams, seed, total_batches,
        searcher_metric, best_metric, summary_metrics, started_at, ended_at)
    SELECT e.id, gen_random_uuid(), 'listed.' || e.id || '.' || k, e.state,
           jsonb_build_object('lr', power(10.0, -5.0 * v), 'width', 1 + (k * 50) % 512,
                              'act', (ARRAY['relu', 'gelu', 'tanh'])[1 + (e.id + k) % 3]),
           k, 1000, v, v,
           jsonb_build_object(
               'avg_metrics', jsonb_build_object('loss', f.figures),
               'validation_metrics', jsonb_build_object('loss', f.figures, 'acc', f.figures)),
           e.started_at, e.ended_at
      FROM experiments e, generate_series(1, $1) k,
           LATERAL (SELECT round(
               (((e.id * 10 + k)::bigint * 7919) % 1000003) / 1000003.0, 6)) a (v),
           LATERAL (SELECT jsonb_build_object('count', 10, 'last', v, 'min', v / 2, 'max', v + 1,
                                              'mean', v, 'sum', 10 * v, 'type', 'number')
           ) f (figures)
     WHERE e.name LIKE 'listed %' AND e.id > $2 AND e.id <= $3
     ORDER BY e.id, k
"""
_LEAVES = """LATERAL (
    SELECT 'hp.' || name AS name, leaf, 'HYPERPARAMETERS' AS place FROM leaves_of(t.hparams)
     UNION ALL SELECT name, leaf, location FROM metric_leaves_of(t.summary_metrics)) l"""
_COLUMNS = f"""
    INSERT INTO run_columns (project_id, name, location, type)
    SELECT 1, l.name, l.place, leaf_type(l.leaf)
      FROM trials t, {_LEAVES} WHERE t.experiment_id = $1 + 1
     GROUP BY 1, 2, 3, 4 ORDER BY l.name ON CONFLICT DO NOTHING
"""
_RUNS = """
    INSERT INTO runs (id, project_id, experiment_id, number, archived, state, searcher_metric,
                      started_at, ended_at)
    SELECT t.id, 1, t.experiment_id,
           (SELECT last FROM run_numbers WHERE project_id = 1) + row_number() OVER (ORDER BY t.id),
           false, t.state, t.best_metric, t.started_at, t.ended_at
      FROM trials t WHERE t.experiment_id > $1 AND t.experiment_id <= $2 ORDER BY t.id
"""
_NUMBERS = "INSERT INTO run_numbers (project_id, last) VALUES (1, 0) ON CONFLICT DO NOTHING"
_COUNT = """
    SELECT count_runs(1, (SELECT count(*)::int FROM trials
                           WHERE experiment_id > $1 AND experiment_id <= $2), 0)
"""
_VALUES = f"""
    INSERT INTO run_values (run_id, column_id, number, word)
    SELECT t.id, c.id, n.number, CASE WHEN n.number IS NULL THEN l.leaf #>> '{{}}' END
      FROM trials t, {_LEAVES}
      JOIN run_columns c ON c.project_id = 1 AND c.name = l.name
     CROSS JOIN LATERAL leaf_number(l.leaf) n (number)
     WHERE t.experiment_id > $1 AND t.experiment_id <= $2 ORDER BY t.id, c.id
"""
_LISTED = """
    SELECT to_jsonb(r) - 'number', (SELECT jsonb_agg(v ORDER BY column_id) FROM run_values v
                                     WHERE v.run_id = r.id)
      FROM runs r WHERE r.id = $1
"""
_BEST = """
    UPDATE experiments e SET best_trial_id = b.id, best_metric = b.searcher_metric
      FROM (SELECT DISTINCT ON (experiment_id) experiment_id, id, searcher_metric
              FROM trials ORDER BY experiment_id, searcher_metric, id) b
     WHERE b.experiment_id = e.id AND e.name LIKE 'listed %'
"""


def fill(cluster: Cluster, experiments: int) -> None:
    """Have so many ended experiments of ten runs each in project 1; made once a cluster."""
    if cluster.prepared.get("listed") == experiments:
        return
    asyncio.run(_fill(connection_options(Layout(cluster.files / "postgres")), experiments))
    cluster.prepared["listed"] = experiments


async def _fill(options: dict[str, str | int], experiments: int) -> None:
    conn = await asyncpg.connect(**options, timeout=10)
    try:
        await conn.execute(_USERS, USERS, timeout=LIMIT_S)
        before = await conn.fetchval("SELECT coalesce(max(id), 0) FROM experiments")
        await conn.execute(
            _EXPERIMENTS, experiments, USERS, CONFIG_PADDING, RUNS_AN_EXPERIMENT, timeout=LIMIT_S
        )
        last = await conn.fetchval("SELECT max(id) FROM experiments")
        index = await conn.fetchval(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'run_values_column'"
        )
        await conn.execute("DROP INDEX run_values_column")
        await conn.execute("ALTER TABLE trials DISABLE TRIGGER trial_inserted")
        await conn.execute(_NUMBERS)
        for start in range(before, last, 1000):
            span = (start, min(start + 1000, last))
            await conn.execute(_TRIALS, RUNS_AN_EXPERIMENT, *span, timeout=LIMIT_S)
            await conn.execute(_COLUMNS, start)
            await conn.execute(_RUNS, *span, timeout=LIMIT_S)
            await conn.execute(_COUNT, *span, timeout=LIMIT_S)
            await conn.execute(_VALUES, *span, timeout=LIMIT_S)
        await conn.execute("ALTER TABLE trials ENABLE TRIGGER trial_inserted")
        await conn.execute(index, timeout=LIMIT_S)
        await check_run(conn)
        await conn.execute(_BEST, timeout=LIMIT_S)
        await conn.execute("VACUUM ANALYZE", timeout=LIMIT_S)
    finally:
        await conn.close()


async def check_run(conn: Any) -> None:
    """Compare a run with what the database itself makes of its trial when that comes in."""
    trial_id = await conn.fetchval("SELECT max(id) FROM trials")
    made = await conn.fetchrow(_LISTED, trial_id)
    attempt = conn.transaction()
    await attempt.start()
    try:
        await conn.execute("DELETE FROM runs WHERE id = $1", trial_id)
        await conn.execute("SELECT list_run(t) FROM trials t WHERE t.id = $1", trial_id)
        by_itself = await conn.fetchrow(_LISTED, trial_id)
    finally:
        await attempt.rollback()
    if made != by_itself:
        raise RuntimeError(f"the rows made in bulk differ: {made}, not {by_itself}")

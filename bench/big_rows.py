"""A project of 100,000 runs with 200 columns, a series of a million reports, 50 runs to compare.

    python -m bench.big_rows --data DIRECTORY [--runs N] [--reports N]

DIRECTORY is the `postgres` directory of a local cluster, whose database must be running. Rows are
made inside the database, as `list_rows.py` does it. Runs belong to five families: each has the
common hyperparameters and metrics, and its family's own.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from typing import Any

import asyncpg

from bench.list_rows import check_run
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

PROJECT = "big"
RUNS, REPORTS, RUNS_AN_EXPERIMENT = 100_000, 1_000_000, 100
FAMILIES = 5
COMMON_HPS, FAMILY_HPS, COMMON_METRICS, FAMILY_METRICS = 16, 8, 6, 6
COLUMNS = COMMON_HPS + FAMILIES * FAMILY_HPS + 4 * (COMMON_METRICS + FAMILIES * FAMILY_METRICS)
"""Hyperparameters, and last, min, max and mean of each metric: 200."""
COMPARED_REPORTS = 1500
"""Of each of the 50 runs before that with the long series, with 12 metrics each."""
LIMIT_S = 600
BATCH = 100
"""Experiments of one statement."""

_PROJECT = """
    INSERT INTO projects (name, description, workspace_id, user_id, key, notes, immutable)
    SELECT $1, 'made by bench/big_rows.py', 1, (SELECT min(id) FROM users), 'BIG', '[]', false
    RETURNING id
"""
_EXPERIMENTS = """
    INSERT INTO experiments (
        job_id, user_id, workspace_id, project_id, state, name, description, labels, config,
        original_config, seed, searcher_type, searcher_metric, smaller_is_better, resource_pool,
        progress, num_trials, best_metric, started_at, ended_at)
    SELECT gen_random_uuid(), (SELECT min(id) FROM users), 1, $1,
           (ARRAY['COMPLETED', 'COMPLETED', 'COMPLETED', 'ERROR', 'CANCELED'])[1 + n % 5],
           'sweep ' || n, 'number ' || n, ARRAY['tag' || n % 20, 'all'],
           jsonb_build_object('name', 'sweep ' || n, 'searcher', jsonb_build_object(
               'name', 'random', 'metric', 'm0', 'max_trials', $3::int)),
           '', n, 'random', 'm0', true, 'default', 1, $3, ((n * 7919) % 100003) / 100003.0,
           now() - interval '400 days' + n * interval '20 minutes',
           now() - interval '400 days' + n * interval '20 minutes' + interval '15 minutes'
      FROM generate_series(1, $2::int) n
    RETURNING id
"""
_TRIALS = """
    INSERT INTO trials (
        experiment_id, request_id, task_id, state, hparams, seed, total_batches,
        searcher_metric, best_metric, summary_metrics, started_at, ended_at)
    SELECT e.id, gen_random_uuid(), 'big.' || e.id || '.' || k, e.state, h.made, k, 1000,
           a.v, a.v,
           jsonb_build_object('avg_metrics', m.training, 'validation_metrics', m.validation),
           e.started_at, e.ended_at
      FROM experiments e, generate_series(1, $1::int) k,
           LATERAL (SELECT e.id % 5, (((e.id * 100 + k)::bigint * 7919) % 1000003) / 1000003.0)
                   AS a (family, v),
           LATERAL (SELECT jsonb_object_agg(name, value) FROM (
               SELECT 'hp' || i AS name,
                      CASE WHEN i % 4 = 3 THEN to_jsonb(
                               (ARRAY['relu', 'gelu', 'tanh', 'silu'])[1 + (k + i) % 4])
                           ELSE to_jsonb(round((power(10.0, -4 * a.v) * (1 + i)
                                                + (k * i) % 17)::numeric, 8)) END AS value
                 FROM generate_series(0, 15) i
                UNION ALL
               SELECT 'family' || a.family || '.hp' || i, to_jsonb((k * (i + 3) + e.id) % 512)
                 FROM generate_series(0, 7) i) p) AS h (made),
           LATERAL (SELECT jsonb_object_agg(name, f) FILTER (WHERE NOT is_validation),
                           jsonb_object_agg(name, f) FILTER (WHERE is_validation) FROM (
               SELECT 'm' || i AS name, i < 3 AS is_validation, round((a.v + i)::numeric, 6) AS y
                 FROM generate_series(0, 5) i
                UNION ALL
               SELECT 'f' || a.family || 'm' || i, i < 3, round((a.v * i - k)::numeric, 6)
                 FROM generate_series(0, 5) i) n,
               LATERAL (SELECT jsonb_build_object('count', 10, 'last', y, 'min', y - 1,
                    'max', y + 1, 'mean', y, 'sum', 10 * y, 'type', 'number')) AS g (f)
           ) AS m (training, validation)
     WHERE e.id > $2 AND e.id <= $3 AND e.project_id = $4
     ORDER BY e.id, k
"""
_LEAVES = """LATERAL (
    SELECT 'hp.' || name AS name, leaf, 'HYPERPARAMETERS' AS place FROM leaves_of(t.hparams)
     UNION ALL SELECT name, leaf, location FROM metric_leaves_of(t.summary_metrics)) l"""
_COLUMNS = f"""
    INSERT INTO run_columns (project_id, name, location, type)
    SELECT $1::int, l.name, l.place, leaf_type(l.leaf)
      FROM trials t, {_LEAVES}
     WHERE t.experiment_id > $2::int AND t.experiment_id <= $2 + 5
     GROUP BY 1, 2, 3, 4 ORDER BY l.name ON CONFLICT DO NOTHING
"""
_RUNS = """
    INSERT INTO runs (id, project_id, experiment_id, number, archived, state, searcher_metric,
                      started_at, ended_at)
    SELECT t.id, $3, t.experiment_id,
           (SELECT last FROM run_numbers WHERE project_id = $3)
               + row_number() OVER (ORDER BY t.id),
           false, t.state, t.best_metric, t.started_at, t.ended_at
      FROM trials t WHERE t.experiment_id > $1 AND t.experiment_id <= $2 ORDER BY t.id
"""
_NUMBERS = "INSERT INTO run_numbers (project_id, last) VALUES ($1, 0) ON CONFLICT DO NOTHING"
_COUNT = """
    SELECT count_runs($3, (SELECT count(*)::int FROM trials
                            WHERE experiment_id > $1 AND experiment_id <= $2), 0)
"""
_VALUES = f"""
    INSERT INTO run_values (run_id, column_id, number, word)
    SELECT t.id, c.id, n.number, CASE WHEN n.number IS NULL THEN l.leaf #>> '{{}}' END
      FROM trials t, {_LEAVES}
      JOIN run_columns c ON c.project_id = $3 AND c.name = l.name
     CROSS JOIN LATERAL leaf_number(l.leaf) n (number)
     WHERE t.experiment_id > $1 AND t.experiment_id <= $2 ORDER BY t.id, c.id
"""
_SERIES = """
    INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
    SELECT $1, 'training', n, 0, now() - ($4 - n) * interval '10 milliseconds',
           jsonb_build_object('loss', CASE WHEN n % 250000 = 777 THEN 1000 ELSE
                                  2 + sin(n / 1000.0) + ((n::bigint * 7919) % 1009) / 1009.0 END,
                              'acc', ((n::bigint * 104729) % 10007) / 10007.0, 'lr', 1.0 / n,
                              'grad_norm', ((n::bigint * 1299709) % 7919) / 100.0,
                              'epoch', n / 1000)
      FROM generate_series($2::int, $3::int) n
"""
_COMPARED = """
    INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
    SELECT t.id, 'training', n * 10, 0, now() - (1500 - n) * interval '1 second', m.made
      FROM trials t, generate_series(1, $2::int) n,
           LATERAL (SELECT jsonb_object_agg('m' || i, sin(n / (10.0 + i)) + (n * t.id) % (7 + i))
                           || jsonb_build_object('epoch', n / 100.0)
                      FROM generate_series(0, 11) i) AS m (made)
     WHERE t.id > $1::int - 51 AND t.id < $1
"""
_NEWS = """
    UPDATE trials SET metrics_version = metrics_version + 1, summary_version = summary_version + 1
     WHERE id > $1 - 51 AND id <= $1
"""


async def fill(conn: Any, runs: int = RUNS, reports: int = REPORTS) -> tuple[int, int]:
    """Make the project and the series; the project's id and the trial of the series."""
    await conn.execute("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'")
    async with conn.transaction():
        project_id = await conn.fetchval(_PROJECT, PROJECT)
        await _fill_runs(conn, project_id, max(1, runs // RUNS_AN_EXPERIMENT))
    await check_run(conn)
    trial_id = await conn.fetchval("SELECT max(id) FROM trials")
    for start in range(1, reports + 1, 50_000):
        end = min(start + 49_999, reports)
        await conn.execute(_SERIES, trial_id, start, end, reports, timeout=LIMIT_S)
    await conn.execute(_COMPARED, trial_id, COMPARED_REPORTS, timeout=LIMIT_S)
    await conn.execute(_NEWS, trial_id)
    await conn.execute("VACUUM ANALYZE", timeout=LIMIT_S)
    return project_id, trial_id


async def _fill_runs(conn: Any, project_id: int, experiments: int) -> None:
    made = await conn.fetch(
        _EXPERIMENTS, project_id, experiments, RUNS_AN_EXPERIMENT, timeout=LIMIT_S
    )
    first, last = made[0][0] - 1, made[-1][0]
    index = await conn.fetchval(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'run_values_column'"
    )
    await conn.execute("DROP INDEX run_values_column")
    await conn.execute("ALTER TABLE trials DISABLE TRIGGER trial_inserted")
    await conn.execute(_NUMBERS, project_id)
    for start in range(first, last, BATCH):
        span = (start, min(start + BATCH, last), project_id)
        await conn.execute(_TRIALS, RUNS_AN_EXPERIMENT, *span, timeout=LIMIT_S)
        await conn.execute(_COLUMNS, project_id, start)
        await conn.execute(_RUNS, *span, timeout=LIMIT_S)
        await conn.execute(_COUNT, *span, timeout=LIMIT_S)
        await conn.execute(_VALUES, *span, timeout=LIMIT_S)
    await conn.execute("ALTER TABLE trials ENABLE TRIGGER trial_inserted")
    await conn.execute(index, timeout=LIMIT_S)


async def _main(args: argparse.Namespace) -> None:
    options = connection_options(Layout(Path(args.data)))
    conn = await asyncpg.connect(**options, timeout=10)
    started = time.monotonic()
    try:
        project_id, trial_id = await fill(conn, args.runs, args.reports)
        columns = await conn.fetchval(
            "SELECT count(*) FROM run_columns WHERE project_id = $1", project_id
        )
    finally:
        await conn.close()
    seconds = time.monotonic() - started
    print(
        f"project {project_id} has {args.runs} runs and {columns} columns; trial {trial_id} has "
        f"{args.reports} reports; {seconds:.0f} s"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="the postgres directory of a cluster")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--reports", type=int, default=REPORTS)
    asyncio.run(_main(parser.parse_args()))

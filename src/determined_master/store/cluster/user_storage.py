"""How many bytes of the database the work of each user takes, estimated from samples of tables."""

from __future__ import annotations

from collections import Counter

from determined_master.store.db import Conn

SAMPLED_PAGES = 4000
"""Of each table, about: 32 MB. Smaller tables are read whole."""
_ROW_BYTES = 60
"""What a row takes beside its large columns, about."""

_OF_TRIALS = """
    SELECT trial_id, sum({bytes}) AS bytes FROM {table} TABLESAMPLE SYSTEM ($1) GROUP BY trial_id
"""
_BY_TRIAL = """
    SELECT e.user_id, sum(s.bytes)::float8
      FROM ({sample}) s
      JOIN trials t ON t.id = s.trial_id
      JOIN experiments e ON e.id = t.experiment_id
     GROUP BY e.user_id
"""
_LOGS = """
    SELECT t.user_id, sum(s.bytes)::float8
      FROM (SELECT task_id, sum({bytes}) AS bytes
              FROM {table} TABLESAMPLE SYSTEM ($1) GROUP BY task_id) s
      JOIN tasks t ON t.id = s.task_id
     GROUP BY t.user_id
"""
_EXPERIMENTS = """
    SELECT user_id, sum({bytes})::float8 FROM {table} TABLESAMPLE SYSTEM ($1) GROUP BY user_id
"""
_OF_EXPERIMENTS = """
    SELECT e.user_id, sum({bytes})::float8
      FROM {table} TABLESAMPLE SYSTEM ($1) JOIN experiments e ON e.id = {table}.experiment_id
     GROUP BY e.user_id
"""
_DEFINITIONS = """
    SELECT user_id, sum(bytes)::float8
      FROM (SELECT DISTINCT ON (e.model_definition) e.user_id, {bytes} AS bytes
              FROM {table} TABLESAMPLE SYSTEM ($1)
              JOIN experiments e ON e.model_definition = {table}.digest
             ORDER BY e.model_definition, e.id) s
     GROUP BY user_id
"""
_TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "task_logs": (_LOGS, ("log",)),
    "metrics": (_BY_TRIAL.format(sample=_OF_TRIALS), ("metrics", "batch_metrics")),
    "metric_charts": (_BY_TRIAL.format(sample=_OF_TRIALS), ("parts", "unusual")),
    "system_metrics": (_BY_TRIAL.format(sample=_OF_TRIALS), ("metrics",)),
    "model_definitions": (_DEFINITIONS, ("tgz",)),
    "experiments": (_EXPERIMENTS, ("config", "original_config", "notes", "description")),
    "trials": (_OF_EXPERIMENTS, ("hparams", "summary_metrics", "metadata")),
    "checkpoints": (_OF_EXPERIMENTS, ("resources", "metadata")),
}
"""For each table its statement and its large columns. Equal files count for the first user."""


async def measure_users(conn: Conn) -> dict[int, int]:
    """Bytes of the rows of each user's work, by the user's id; indexes are not counted.

    Columns are measured in their stored form: none is read that lies outside of its row.

    Cost: `SAMPLED_PAGES` of each table, and a look-up of each sampled task and trial.
    """
    sizes: Counter[int] = Counter()
    for table, (query, columns) in _TABLES.items():
        share = min(SAMPLED_PAGES / max(await _count_pages(conn, table), 1), 1.0)
        parts = [f"coalesce(pg_column_size({table}.{column}), 0)" for column in columns]
        text = query.format(table=table, bytes=" + ".join([str(_ROW_BYTES), *parts]))
        for user_id, size in await conn.fetch(text, 100.0 * share):
            sizes[user_id] += round(size / share)
    return dict(sizes)


async def _count_pages(conn: Conn, table: str) -> int:
    """Pages of a table, with those of its partitions."""
    query = """
        SELECT (pg_relation_size($1::text::regclass)
                + coalesce((SELECT sum(pg_relation_size(relid))
                              FROM pg_partition_tree($1::text::regclass) WHERE isleaf), 0))
               / current_setting('block_size')::bigint
    """
    return int(await conn.fetchval(query, table))

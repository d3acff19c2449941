"""How many bytes of the database the work of each user takes, estimated from samples of tables."""

from __future__ import annotations

from collections import Counter

import msgspec

from determined_master.store.db import Conn

SAMPLED_PAGES = 4000
"""Of each table, about: 32 MB. Smaller tables are read whole."""
MAX_INDEX_SHARE = 3.0
"""Bytes of indexes for each byte of rows, at most: pages of a nearly empty index are nobody's."""
_ROW_BYTES = 28
"""What PostgreSQL adds to the columns of a row."""

_OF_TRIALS = """
    SELECT e.user_id, sum(s.bytes)::float8
      FROM (SELECT {trial} AS trial_id, sum({bytes}) AS bytes
              FROM {table} TABLESAMPLE SYSTEM ($1) GROUP BY {trial}) s
      JOIN trials t ON t.id = s.trial_id
      JOIN experiments e ON e.id = t.experiment_id
     GROUP BY e.user_id
"""
_OF_TASKS = """
    SELECT t.user_id, sum(s.bytes)::float8
      FROM (SELECT task_id, sum({bytes}) AS bytes
              FROM {table} TABLESAMPLE SYSTEM ($1) GROUP BY task_id) s
      JOIN tasks t ON t.id = s.task_id
     GROUP BY t.user_id
"""
_OF_USERS = """
    SELECT user_id, sum({bytes})::float8 FROM {table} TABLESAMPLE SYSTEM ($1) GROUP BY user_id
"""
_OF_EXPERIMENTS = """
    SELECT e.user_id, sum({bytes})::float8
      FROM {table} TABLESAMPLE SYSTEM ($1) JOIN experiments e ON e.id = {table}.experiment_id
     GROUP BY e.user_id
"""
_OF_FILES = """
    SELECT owner.user_id, sum({bytes})::float8
      FROM {table} TABLESAMPLE SYSTEM ($1),
           LATERAL (SELECT user_id
                      FROM ((SELECT user_id, started_at FROM experiments
                              WHERE model_definition = {table}.digest ORDER BY id LIMIT 1)
                            UNION ALL
                            (SELECT t.user_id, t.started_at
                               FROM generic_tasks g JOIN tasks t ON t.id = g.task_id
                              WHERE g.context = {table}.digest ORDER BY 2 LIMIT 1)
                            UNION ALL
                            (SELECT t.user_id, t.started_at
                               FROM interactive_tasks i JOIN tasks t ON t.id = i.task_id
                              WHERE i.context = {table}.digest ORDER BY 2 LIMIT 1)) owners
                     ORDER BY started_at LIMIT 1) owner
     GROUP BY owner.user_id
"""
_TABLES: dict[str, str] = {
    **dict.fromkeys(("task_logs", "log_values", "generic_tasks", "interactive_tasks"), _OF_TASKS),
    **dict.fromkeys(("metrics", "metric_charts", "metric_places", "system_metrics"), _OF_TRIALS),
    "run_values": _OF_TRIALS,
    **dict.fromkeys(("trials", "runs", "checkpoints"), _OF_EXPERIMENTS),
    **dict.fromkeys(("experiments", "tasks", "models", "model_versions"), _OF_USERS),
    "model_definitions": _OF_FILES,
}
"""The statement of each table. Equal files, of experiments and tasks, count for the first user."""
_TRIAL_COLUMN = {"run_values": "run_id"}

_SHAPE = """
    WITH parts AS (
        SELECT $1::text::regclass AS part
         UNION
        SELECT relid FROM pg_partition_tree($1::text::regclass) WHERE isleaf)
    SELECT sum(pg_relation_size(part))::float8 / current_setting('block_size')::int AS pages,
           sum(pg_table_size(part))::float8 AS row_bytes,
           sum(pg_indexes_size(part))::float8 AS index_bytes,
           (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
             WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped) AS columns
      FROM parts
"""


class _Shape(msgspec.Struct, frozen=True):
    """What a table takes on disk, with its partitions."""

    pages: float
    row_bytes: float
    """With the columns that PostgreSQL stores outside of their rows."""
    index_bytes: float
    columns: list[str]

    @property
    def index_share(self) -> float:
        """Bytes of indexes for each byte of rows.

        Deleted rows leave room in both, so the quotient holds where either size alone does not: a
        user has no part in the room that others' deleted rows left.
        """
        return min(self.index_bytes / max(self.row_bytes, 1.0), MAX_INDEX_SHARE)


async def measure_users(conn: Conn) -> dict[int, int]:
    """Bytes of the rows of each user's work and of their indexes, by the user's id.

    Columns are measured in their stored form: none is read that lies outside of its row. The
    events and states of the engine are not counted: they are no rows of one user.

    Cost: `SAMPLED_PAGES` of each table, and a look-up of each sampled task, trial and file.
    """
    sizes: Counter[int] = Counter()
    for table, query in _TABLES.items():
        shape = _Shape(**(await conn.fetchrow(_SHAPE, table)))
        share = min(SAMPLED_PAGES / max(shape.pages, 1.0), 1.0)
        columns = [f'coalesce(pg_column_size({table}."{name}"), 0)' for name in shape.columns]
        row = " + ".join([str(_ROW_BYTES), *columns])
        trial = _TRIAL_COLUMN.get(table, "trial_id")
        text = query.format(table=table, trial=trial, bytes=row)
        for user_id, size in await conn.fetch(text, 100.0 * share):
            sizes[user_id] += round(size / share * (1.0 + shape.index_share))
    return dict(sizes)

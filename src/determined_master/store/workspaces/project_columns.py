"""Columns of a project's runs: hyperparameters, metrics, metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from determined_master.domain.listing.columns import ColumnLocation, ColumnType
    from determined_master.store.db import Conn

MAX_WORDS = 1000
MAX_OPEN_RUNS = 1000
MAX_COLUMNS = 50_000
"""Five for each of the 10,000 names of metrics that a trial may have: its statistics."""

OPEN_LEAVES = f"""
    SELECT m.name, m.leaf, m.location
      FROM trials t JOIN runs r ON r.id = t.id,
           LATERAL metric_leaves_of(t.summary_metrics) m
     WHERE t.id = ANY (ARRAY (
           SELECT o.id FROM trials o JOIN runs x ON x.id = o.id
            WHERE o.ended_at IS NULL AND x.project_id = $1
            ORDER BY o.id DESC LIMIT {MAX_OPEN_RUNS}))
"""
"""Metrics of runs that have not ended, whose values are not kept by column yet."""


class ColumnRow(msgspec.Struct, frozen=True):
    """One column of a project."""

    name: str
    place: ColumnLocation
    type: ColumnType


async def has_project(conn: Conn, project_id: int) -> bool:
    """Whether there is such a project."""
    query = "SELECT EXISTS (SELECT FROM projects WHERE id = $1)"
    return bool(await conn.fetchval(query, project_id))


async def list_columns(conn: Conn, project_id: int) -> list[ColumnRow]:
    """Hyperparameters, then metrics, then metadata, each by name; the first `MAX_COLUMNS`."""
    query = f"""
        SELECT DISTINCT ON (at, name) name, location, type FROM (
            SELECT name, location, type, 0 AS age FROM run_columns WHERE project_id = $1
             UNION ALL
            SELECT name, location, leaf_type(leaf), 1 FROM ({OPEN_LEAVES}) o
        ) c CROSS JOIN LATERAL (SELECT array_position(
            ARRAY['HYPERPARAMETERS', 'TRAINING', 'VALIDATIONS', 'CUSTOM_METRIC'], c.location)
        ) p (at)
         ORDER BY at NULLS LAST, name, age
         LIMIT {MAX_COLUMNS}
    """
    return [ColumnRow(*row) for row in await conn.fetch(query, project_id)]


async def list_ranges(conn: Conn, project_id: int) -> list[tuple[str, float, float]]:
    """Name, lowest and highest value of each metric that has been a finite number, by name.

    Two looks at the ends of an index for each metric, whatever the number of runs.
    """
    query = f"""
        SELECT name, min(low), max(high) FROM (
            SELECT c.name,
                   (SELECT number FROM run_values WHERE column_id = c.id
                       AND number > '-Infinity' AND number < 'Infinity'
                     ORDER BY number LIMIT 1) AS low,
                   (SELECT number FROM run_values WHERE column_id = c.id
                       AND number > '-Infinity' AND number < 'Infinity'
                     ORDER BY number DESC LIMIT 1) AS high
              FROM run_columns c
             WHERE c.project_id = $1 AND c.type = 'NUMBER'
               AND c.location IN ('TRAINING', 'VALIDATIONS', 'CUSTOM_METRIC')
             UNION ALL
            SELECT o.name, leaf_number(o.leaf), leaf_number(o.leaf) FROM ({OPEN_LEAVES}) o
             WHERE abs(leaf_number(o.leaf)) < 'Infinity'
        ) n
         WHERE low IS NOT NULL
         GROUP BY name ORDER BY name
         LIMIT {MAX_COLUMNS}
    """
    return [(row[0], row[1], row[2]) for row in await conn.fetch(query, project_id)]


async def list_words(conn: Conn, project_id: int, column: str) -> list[str]:
    """Different values of a column as text, at most a thousand, in order."""
    query = f"""
        SELECT DISTINCT coalesce(v.word, v.number::text) AS word
          FROM run_values v JOIN run_columns c ON c.id = v.column_id
         WHERE c.project_id = $1 AND c.name = $2 AND coalesce(v.word, v.number::text) <> ''
         ORDER BY 1 LIMIT {MAX_WORDS}
    """
    return [row["word"] for row in await conn.fetch(query, project_id, column)]

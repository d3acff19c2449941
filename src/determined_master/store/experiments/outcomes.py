"""Hyperparameters and metrics of an experiment's trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from determined_master.store.db import Conn


class Direction(msgspec.Struct, frozen=True):
    """The searcher's metric and its direction."""

    metric: str
    smaller_is_better: bool


async def find_direction(conn: Conn, experiment_id: int) -> Direction | None:
    """Of one experiment."""
    query = "SELECT searcher_metric, smaller_is_better FROM experiments WHERE id = $1"
    row = await conn.fetchrow(query, experiment_id)
    return None if row is None else Direction(row[0], row[1])


async def list_outcomes(
    conn: Conn, experiment_id: int, path: tuple[str, str, str], limit: int
) -> list[tuple[str, float]]:
    """Hyperparameters (JSON) and a number of their summary, of the newest trials that have one.

    Args:
        conn: a connection.
        experiment_id: whose trials.
        path: the group's key in summaries, the metric, and `min`, `max` or `last`.
        limit: of trials.
    """
    query = f"""
        SELECT hparams::text, y FROM (
            SELECT t.id, t.hparams, leaf_number(t.summary_metrics #> $2::text[]) AS y
              FROM trials t WHERE t.experiment_id = $1) s
         WHERE y - y = 0 ORDER BY id DESC LIMIT {limit:d}
    """
    return [(row[0], row[1]) for row in await conn.fetch(query, experiment_id, list(path))]


async def count_outcomes(
    conn: Conn, experiment_id: int, path: tuple[str, str, str]
) -> tuple[int, int]:
    """How many trials an experiment has, and how many of them have that number."""
    query = """
        SELECT count(*), count(*) FILTER (WHERE y - y = 0) FROM (
            SELECT leaf_number(t.summary_metrics #> $2::text[]) AS y
              FROM trials t WHERE t.experiment_id = $1) s
    """
    row = await conn.fetchrow(query, experiment_id, list(path))
    return int(row[0]), int(row[1])

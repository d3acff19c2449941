"""Reports of trials over their steps, thinned out in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.store.pool import Conn


class PointRow(msgspec.Struct, frozen=True):
    """One report: its trial, group and step, when it came, and all of its values."""

    trial_id: int
    metric_group: str
    steps: int
    reported_at: datetime
    metrics: dict[str, Any]


class SeriesFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which reports: of these trials and groups, with any of these names, in these steps."""

    trial_ids: Sequence[int]
    groups: Sequence[str]
    names: Sequence[str]
    start_steps: int = 0
    end_steps: int | None = None


async def list_points(conn: Conn, wanted: SeriesFilter, max_points: int) -> list[PointRow]:
    """Reports by trial, group and step: of each group at most `max_points`, evenly spread.

    The first and the last of a group are always among them.
    """
    query = """
        SELECT trial_id, metric_group, steps, reported_at, metrics FROM (
            SELECT trial_id, metric_group, steps, run_id, reported_at, metrics,
                   row_number() OVER (PARTITION BY trial_id, metric_group
                                      ORDER BY steps, run_id) AS n,
                   count(*) OVER (PARTITION BY trial_id, metric_group) AS total
              FROM metrics
             WHERE trial_id = ANY ($1) AND metric_group = ANY ($2) AND NOT archived
               AND metrics ?| $3 AND steps >= $4 AND ($5::int IS NULL OR steps <= $5)) r
         WHERE total <= $6 OR n = 1 OR n = total
            OR (n - 1) * ($6 - 2) / total <> (n - 2) * ($6 - 2) / total
         ORDER BY trial_id, metric_group, steps, run_id
    """
    rows = await conn.fetch(
        query,
        wanted.trial_ids,
        wanted.groups,
        wanted.names,
        wanted.start_steps,
        wanted.end_steps,
        max_points,
    )
    return [PointRow(*row) for row in rows]

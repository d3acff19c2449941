"""A trial's reports and checkpoints in one order."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.records.experiments import WorkloadKey
from determined_master.store.db import Conn


async def list_keys(
    conn: Conn, trial_id: int, kinds: Sequence[str], *, newest_first: bool = False
) -> list[WorkloadKey]:
    """Keys of the reports of some groups that count, and of the checkpoints, by steps and time.

    Both come as one value each: there may be a row for each of a million steps, and a row of a
    result costs more than its content.

    Args:
        conn: where to read.
        trial_id: whose.
        kinds: groups of reports, and `checkpoint`.
        newest_first: the order. Of what happened at once reports come first, either way.
    """
    direction = "DESC" if newest_first else "ASC"
    query = f"""
        SELECT array_agg(id), array_agg(uuid) FROM (
            SELECT id, NULL AS uuid, steps, reported_at FROM metrics
             WHERE trial_id = $1 AND metric_group = ANY ($2) AND NOT archived
             UNION ALL
            SELECT NULL, uuid::text, steps, reported_at FROM checkpoints
             WHERE trial_id = $1 AND 'checkpoint' = ANY ($2)
             ORDER BY steps {direction}, reported_at {direction}, id, uuid) found
    """
    row = await conn.fetchrow(query, trial_id, kinds)
    if row is None or row[0] is None:
        return []
    return [id if uuid is None else uuid for id, uuid in zip(row[0], row[1], strict=True)]

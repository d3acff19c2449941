"""Lines of one task as the live channel reads them: each committed line once."""

from __future__ import annotations

from determined_master.domain.updates.log_position import LinePosition
from determined_master.records.logs import LogRow
from determined_master.store.db import Conn
from determined_master.store.logs.task_logs import COPY_COLUMNS, row_of

_COLUMNS = ", ".join(COPY_COLUMNS)
# Of a row's transaction only the last 32 bits are stored: it is the latest one that has them.
_TRANSACTION = """((next.id - (next.id - l.xmin::text::bigint) % 4294967296)::text)::xid8"""
_UNTIL = f"""
    ($7::text IS NULL
     OR l.id <= $8 AND pg_visible_in_snapshot({_TRANSACTION}, $7::text::pg_snapshot))
"""


async def find_end(conn: Conn, task_id: str) -> tuple[int, str]:
    """The newest line of a task that is committed, and the snapshot that shows it."""
    query = """
        SELECT coalesce(max(id), 0), pg_current_snapshot()::text FROM task_logs WHERE task_id = $1
    """
    newest, snapshot = await conn.fetchrow(query, task_id) or (0, "")
    return newest, snapshot


async def list_unsent(
    conn: Conn,
    task_id: str,
    position: LinePosition,
    until: LinePosition | None,
    *,
    max_late: int,
    limit: int,
) -> tuple[list[LogRow], str]:
    """Lines beyond a position, those that came late first, and the snapshot that shows them.

    Args:
        conn: where to read.
        task_id: whose lines.
        position: what was sent.
        until: only lines that were sent at this position.
        max_late: the most lines between the floor and the newest line of the position.
        limit: the most lines after the newest line.
    """
    query = f"""
        WITH next AS (
            SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS id
        ), late AS (
            SELECT l.id, {_COLUMNS} FROM task_logs l, next
             WHERE task_id = $1 AND l.id > $3 AND l.id <= $2 AND $4::text <> ''
               AND NOT pg_visible_in_snapshot({_TRANSACTION},
                                              nullif($4::text, '')::pg_snapshot)
               AND {_UNTIL}
             ORDER BY l.id LIMIT $5
        ), fresh AS (
            SELECT l.id, {_COLUMNS} FROM task_logs l, next
             WHERE task_id = $1 AND l.id > $2 AND {_UNTIL}
             ORDER BY l.id LIMIT $6
        )
        SELECT line.*, pg_current_snapshot()::text AS snapshot
          FROM (SELECT * FROM late UNION ALL SELECT * FROM fresh) line ORDER BY line.id
    """
    rows = await conn.fetch(
        query,
        task_id,
        position.newest,
        position.floor,
        position.snapshot,
        max_late,
        limit,
        None if until is None else until.snapshot,
        None if until is None else until.newest,
    )
    snapshot = rows[0]["snapshot"] if rows else position.snapshot
    return [row_of({n: v for n, v in row.items() if n != "snapshot"}) for row in rows], snapshot

"""Parts of task logs: consecutive lines, and their times."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from determined_master.store.db import Conn


class LogPart(msgspec.Struct, frozen=True):
    """Consecutive lines of a task, up to one of them."""

    last_id: int
    first_at: datetime
    last_at: datetime


async def find_part(
    conn: Conn, task_id: str, after_id: int, lines: int, stored_before: datetime
) -> LogPart | None:
    """The next `lines` lines of a task; None if there are fewer that were stored before."""
    query = f"""
        SELECT max(id), min(logged_at), max(logged_at)
          FROM (SELECT id, logged_at, stored_at FROM task_logs
                 WHERE task_id = $1 AND id > $2 ORDER BY id LIMIT {lines:d}) line
        HAVING count(*) = {lines:d} AND max(stored_at) < $3
    """
    row = await conn.fetchrow(query, task_id, after_id, stored_before)
    return None if row is None else LogPart(*row)

"""Rows that several aggregates write: lines of task logs, and end times of runs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from determined_master.domain.log_lines import LEVEL_NUMBERS
from determined_master.domain.messages import WriteTaskLog
from determined_master.domain.states import ENDED
from determined_master.engine.kind import Change
from determined_master.store.db import Conn
from determined_master.store.logs import task_logs


async def write_log_lines(conn: Conn, changes: Iterable[Change[Any, Any]]) -> None:
    lines = [
        (r.task_id, None, None, None, None, c.at, LEVEL_NUMBERS[r.level], "master", "stdout", t)
        for c in changes
        for r in c.records
        if isinstance(r, WriteTaskLog)
        for t in [f"{r.text}\n"]
    ]
    if lines:
        await task_logs.copy_lines(conn, lines)


def ended_at(state: str, at: datetime) -> datetime | None:
    """When a run ended; None for a live one."""
    return at if state in ENDED else None

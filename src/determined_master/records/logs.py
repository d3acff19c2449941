"""Records of log lines, and which of them a reader asks for."""

from __future__ import annotations

from datetime import datetime

import msgspec


class LogRow(msgspec.Struct, frozen=True, kw_only=True):
    """One stored line."""

    id: int
    task_id: str
    allocation_id: str | None
    agent_id: str | None
    container_id: str | None
    rank_id: int | None
    logged_at: datetime
    level: int
    source: str | None
    stdtype: str | None
    log: str


class LogFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines are wanted; empty means all."""

    levels: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    stdtypes: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()
    container_ids: tuple[str, ...] = ()
    allocation_ids: tuple[str, ...] = ()
    rank_ids: tuple[int, ...] = ()
    """-1 stands for lines without a rank."""
    search_text: str = ""
    is_regex: bool = False
    after: datetime | None = None
    before: datetime | None = None

"""Rows of task logs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence, Set
from datetime import date, timedelta
from typing import Any

import asyncpg
import msgspec

from determined_master.domain.log_lines import original
from determined_master.domain.task.tracebacks import TailLine
from determined_master.records.logs import LogFilter, LogRow
from determined_master.store.db import Conn
from determined_master.store.logs.log_values import LogValue, insert_values, values_of

TAIL_LINES = 500
TAIL_CHARACTERS = 1000
COPY_COLUMNS = (
    "task_id",
    "allocation_id",
    "agent_id",
    "container_id",
    "rank_id",
    "logged_at",
    "level",
    "source",
    "stdtype",
    "log",
)


async def copy_lines(
    conn: Conn, lines: Sequence[tuple[Any, ...]], stored: Set[LogValue] = frozenset()
) -> set[LogValue]:
    """Store lines given as tuples in the order of `COPY_COLUMNS`, and their values to filter by.

    Args:
        conn: where to write. Without a transaction, a failure may leave values without lines.
        lines: what to store.
        stored: values that are stored, so that they need no statement.

    Returns:
        The values that were not known; they are stored once the transaction has committed.
    """
    values = values_of(lines) - stored
    if values:
        await insert_values(conn, values)
    await conn.copy_records_to_table("task_logs", records=lines, columns=COPY_COLUMNS)
    return values


async def insert_told(conn: Conn, task_id: str, key: str) -> bool:
    """Record that a note is in a task's log; False where it was before, or has no task."""
    query = """
        INSERT INTO told_notes (task_id, key) SELECT id, $2 FROM tasks WHERE id = $1
            ON CONFLICT DO NOTHING
        RETURNING key
    """
    return await conn.fetchval(query, task_id, key) is not None


async def list_lines(
    conn: Conn,
    task_ids: Sequence[str],
    log_filter: LogFilter,
    *,
    beyond: int | None = None,
    until: int | None = None,
    limit: int = 1000,
    newest_first: bool = False,
) -> list[LogRow]:
    """Lines of tasks in the order they came in.

    Args:
        conn: where to read.
        task_ids: whose lines.
        log_filter: which of them.
        beyond: only lines after this id (before it, newest first).
        until: only lines up to this id (down to it, newest first).
        limit: the most lines.
        newest_first: the order.
    """
    clauses, values = _clauses(log_filter, 2)
    if beyond is not None:
        values.append(beyond)
        clauses.append(f"id {'<' if newest_first else '>'} ${len(values) + 1}")
    if until is not None:
        values.append(until)
        clauses.append(f"id {'>=' if newest_first else '<='} ${len(values) + 1}")
    where = "".join(f" AND {clause}" for clause in clauses)
    order = "DESC" if newest_first else "ASC"
    # each task's lines come from the index in their order: a page never reads all of them
    query = f"""
        SELECT line.* FROM unnest($1::text[]) AS task (id) CROSS JOIN LATERAL (
            SELECT id, {", ".join(COPY_COLUMNS)} FROM task_logs
             WHERE task_id = task.id{where}
             ORDER BY id {order} LIMIT {limit}) AS line
         ORDER BY line.id {order} LIMIT {limit}
    """
    return [row_of(row) for row in await conn.fetch(query, task_ids, *values)]


def row_of(row: Mapping[str, Any]) -> LogRow:
    """A line as it was written, with its escapes taken back."""
    line = LogRow(**row)
    log = original(line.log)
    return line if log is line.log else msgspec.structs.replace(line, log=log)


async def find_slice_end(
    conn: Conn, task_ids: Sequence[str], *, beyond: int | None, size: int, newest_first: bool
) -> int | None:
    """The id up to which no task has more than `size` lines after `beyond`; None if none has.

    Newest first, it is the id down to which none has more before it.
    """
    order, than, nearest = ("DESC", "<", "max") if newest_first else ("ASC", ">", "min")
    bound = "" if beyond is None else f" AND id {than} $2"
    query = f"""
        SELECT {nearest}(line.id) FROM unnest($1::text[]) AS task (id) CROSS JOIN LATERAL (
            SELECT id FROM task_logs WHERE task_id = task.id{bound}
             ORDER BY id {order} OFFSET {size - 1} LIMIT 1) AS line
    """
    slice_end: int | None = await conn.fetchval(
        query, task_ids, *(() if beyond is None else (beyond,))
    )
    return slice_end


async def list_ids(
    conn: Conn, task_ids: Sequence[str], log_filter: LogFilter, *, between: tuple[int, int]
) -> list[int]:
    """Numbers of wanted lines, above the first of these numbers and up to the other."""
    clauses, values = _clauses(log_filter, 4)
    where = "".join(f" AND {clause}" for clause in clauses)
    query = f"""
        SELECT coalesce(array_agg(id ORDER BY id), '{{}}') FROM task_logs
         WHERE task_id = ANY ($1) AND id > $2 AND id <= $3{where}
    """
    ids: list[int] = await conn.fetchval(query, task_ids, *between, *values)
    return ids


async def list_by_ids(conn: Conn, task_ids: Sequence[str], ids: Sequence[int]) -> list[LogRow]:
    """These lines of tasks, in the order of their numbers."""
    query = f"""
        SELECT id, {", ".join(COPY_COLUMNS)} FROM task_logs
         WHERE task_id = ANY ($1) AND id = ANY ($2) ORDER BY id
    """
    return [row_of(row) for row in await conn.fetch(query, task_ids, ids)]


async def list_tail(conn: Conn, task_id: str, container_id: str) -> list[TailLine]:
    """The last lines that a container's program has written; a long one is cut.

    Only the end of the task's log is looked at: another container may have written all of it.
    """
    query = f"""
        SELECT id, rank_id, stdtype, left(log, {TAIL_CHARACTERS}) AS log FROM (
            SELECT id, rank_id, stdtype, log, container_id, source FROM task_logs
             WHERE task_id = $1 ORDER BY id DESC LIMIT {4 * TAIL_LINES}) line
         WHERE container_id = $2 AND source = 'task' ORDER BY id DESC LIMIT {TAIL_LINES}
    """
    return [
        TailLine(
            id=row["id"],
            text=original(row["log"]).rstrip("\n"),
            is_error=row["stdtype"] == "stderr",
            rank=row["rank_id"],
        )
        for row in reversed(await conn.fetch(query, task_id, container_id))
    ]


async def ensure_partitions(conn: Conn, today: date, weeks: int = 3) -> None:
    """Make the weekly partitions that the next lines fall into.

    A week whose lines are already in the default partition keeps them, and later ones, there.
    """
    monday = today - timedelta(days=today.weekday())
    for week in range(weeks):
        start = monday + timedelta(weeks=week)
        end = start + timedelta(weeks=1)
        with contextlib.suppress(asyncpg.CheckViolationError):
            await conn.execute(
                f"CREATE TABLE IF NOT EXISTS task_logs_{start:%Y%m%d} PARTITION OF task_logs "
                f"FOR VALUES FROM ('{start}') TO ('{end}')"
            )


def _clauses(log_filter: LogFilter, first: int) -> tuple[list[str], list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []

    def add(clause: str, value: Any) -> None:
        values.append(value)
        clauses.append(clause.format(f"${len(values) + first - 1}"))

    for column, chosen in (
        ("level", log_filter.levels),
        ("source", log_filter.sources),
        ("stdtype", log_filter.stdtypes),
        ("agent_id", log_filter.agent_ids),
        ("container_id", log_filter.container_ids),
        ("allocation_id", log_filter.allocation_ids),
    ):
        if chosen:
            add(f"{column} = ANY ({{}})", list(chosen))
    if log_filter.rank_ids:
        add("coalesce(rank_id, -1) = ANY ({})", list(log_filter.rank_ids))
    if log_filter.after is not None:
        add("logged_at > {}", log_filter.after)
    if log_filter.before is not None:
        add("logged_at < {}", log_filter.before)
    if log_filter.search_text:
        if log_filter.is_regex:
            add("log ~* {}", log_filter.search_text)
        else:
            add("position(lower({}) in lower(log)) > 0", log_filter.search_text)
    return clauses, values

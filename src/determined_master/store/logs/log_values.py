"""The values that the lines of a task can be filtered by, kept beside the lines.

They are written with the lines, so to list them costs the same however many lines there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from determined_master.store.db import Conn

LogValue = tuple[str, str, str]
"""A task, a column of its lines, and a value there as text."""

_FIELDS = ("allocation_id", "agent_id", "container_id", "rank_id", "source", "stdtype")
_task_and_fields = itemgetter(0, 1, 2, 3, 4, 7, 8)
NO_RANK = -1


def values_of(lines: Iterable[tuple[Any, ...]]) -> set[LogValue]:
    """The values of lines, which are given in the order of `task_logs.COPY_COLUMNS`."""
    log_values: set[LogValue] = set()
    for task_id, *values in set(map(_task_and_fields, lines)):
        for field, value in zip(_FIELDS, values, strict=True):
            if field == "rank_id":
                log_values.add((task_id, field, str(NO_RANK if value is None else value)))
            elif value is not None:
                log_values.add((task_id, field, value))
    return log_values


async def insert_values(conn: Conn, values: Iterable[LogValue]) -> None:
    """Add values that are not there.

    No constraint forbids a value twice: with one, transactions that add the same values would wait
    for each other. So two of them may both add one.
    """
    query = """
        INSERT INTO log_values (task_id, field, value)
        SELECT n.task_id, n.field, n.value
          FROM unnest($1::text[], $2::text[], $3::text[]) AS n (task_id, field, value)
         WHERE NOT EXISTS (SELECT FROM log_values v
                            WHERE v.task_id = n.task_id AND v.field = n.field
                              AND left(v.value, 200) = left(n.value, 200) AND v.value = n.value)
    """
    columns = list(zip(*values, strict=True))
    await conn.execute(query, *columns)


async def list_values(conn: Conn, task_ids: Sequence[str]) -> dict[str, list[Any]]:
    """The values that occur in each column one can filter by, in order, as `{column}s`."""
    query = """
        SELECT DISTINCT field, value FROM log_values WHERE task_id = ANY ($1) ORDER BY field, value
    """
    by_field: dict[str, list[Any]] = {f"{field}s": [] for field in _FIELDS}
    for field, value in await conn.fetch(query, task_ids):
        by_field[f"{field}s"].append(int(value) if field == "rank_id" else value)
    by_field["rank_ids"].sort()
    return by_field


async def delete_values(conn: Conn, task_ids: Sequence[str]) -> None:
    """Remove the values of tasks whose lines are removed."""
    await conn.execute("DELETE FROM log_values WHERE task_id = ANY ($1)", list(task_ids))

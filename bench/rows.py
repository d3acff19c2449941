"""What has arrived in the cluster's database, counted there."""

from __future__ import annotations

import asyncio
import io
import time
from typing import Any

import asyncpg

from bench.cluster import Cluster
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

MAX_COPIED = 100_000


def fetch_value(cluster: Cluster, query: str, *arguments: Any) -> Any:
    """The first value of a query's first row."""
    return asyncio.run(_fetch_value(cluster, query, arguments))


def count_points(cluster: Cluster, trial_ids: list[int], from_steps: int) -> tuple[int, int]:
    """Reports and single values that were stored for these trials from a step on."""
    query = """
        SELECT count(*) || ' ' || coalesce(sum((
               SELECT count(*) FROM jsonb_object_keys(metrics))), 0)
          FROM metrics WHERE trial_id = ANY ($1) AND steps >= $2
    """
    reports, points = fetch_value(cluster, query, trial_ids, from_steps).split()
    return int(reports), int(points)


def count_lines(cluster: Cluster, task_id: str) -> int:
    """Lines that were stored for a task."""
    query = "SELECT count(*) FROM task_logs WHERE task_id = $1"
    return int(fetch_value(cluster, query, task_id))


def copy_alone(cluster: Cluster, table: str, condition: str, *arguments: Any) -> float:
    """Rows a second that one binary COPY stores: stored rows again, into a table of the same kind.

    Args:
        table: of the rows, and of the columns and indexes.
        condition: which rows, in SQL.
    """
    return asyncio.run(_copy_alone(cluster, table, condition, arguments))


def execute(cluster: Cluster, command: str, limit_s: float = 600.0) -> None:
    """Run one command outside a transaction."""
    asyncio.run(_execute(cluster, command, limit_s))


async def _execute(cluster: Cluster, command: str, limit_s: float) -> None:
    conn = await asyncpg.connect(
        **connection_options(Layout(cluster.files / "postgres")), timeout=10
    )
    try:
        await conn.execute(command, timeout=limit_s)
    finally:
        await conn.close()


async def _fetch_value(cluster: Cluster, query: str, arguments: tuple[Any, ...]) -> Any:
    layout = Layout(cluster.files / "postgres")
    conn = await asyncpg.connect(**connection_options(layout), timeout=10)
    try:
        return await conn.fetchval(query, *arguments, timeout=120)
    finally:
        await conn.close()


async def _copy_alone(
    cluster: Cluster, table: str, condition: str, arguments: tuple[Any, ...]
) -> float:
    conn = await asyncpg.connect(
        **connection_options(Layout(cluster.files / "postgres")), timeout=10
    )
    rows = io.BytesIO()
    query = f"SELECT * FROM {table} WHERE {condition} LIMIT {MAX_COPIED}"
    try:
        await conn.execute(f"CREATE TABLE bench_copy (LIKE {table} INCLUDING ALL)")
        await conn.copy_from_query(query, *arguments, output=rows, format="binary", timeout=120)
        rows.seek(0)
        began_s = time.perf_counter()
        done = await conn.copy_to_table("bench_copy", source=rows, format="binary", timeout=120)
        return int(done.split()[-1]) / (time.perf_counter() - began_s)
    finally:
        await conn.execute("DROP TABLE IF EXISTS bench_copy")
        await conn.close()

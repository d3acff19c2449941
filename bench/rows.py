"""What has arrived in the cluster's database, counted there."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from bench.cluster import Cluster
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout


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

"""Rows of metric blocks: each 1,024 reports of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.metrics.extremes import BLOCK_REPORTS

if TYPE_CHECKING:
    from determined_master.store.db import Conn


class RawReport(msgspec.Struct, frozen=True):
    """A report as a block reads it; `metrics` is JSON, `at` is in unix seconds."""

    id: int
    group: str
    steps: int
    metrics: str
    at: float


class Block(msgspec.Struct, frozen=True):
    """A number of consecutive reports of a trial, by their ids."""

    trial_id: int
    last_id: int
    first_id: int
    reports: int


async def find_last_id(conn: Conn, trial_id: int) -> int:
    """The id of the last report that is in a block; 0 when there is none."""
    query = """
        SELECT last_id FROM metric_blocks WHERE trial_id = $1 ORDER BY last_id DESC LIMIT 1
    """
    return int(await conn.fetchval(query, trial_id) or 0)


async def count_after(conn: Conn, trial_id: int, after_id: int, most: int) -> int:
    """How many reports of a trial came after one of them; counts no further than `most`."""
    query = f"""
        SELECT count(*) FROM (
            SELECT FROM metrics WHERE trial_id = $1 AND id > $2 ORDER BY id LIMIT {most:d}) m
    """
    return int(await conn.fetchval(query, trial_id, after_id))


async def list_for_block(conn: Conn, trial_id: int, after_id: int) -> list[RawReport]:
    """The next reports of a trial that count, as many as a block has, by their ids."""
    query = f"""
        SELECT id, metric_group, steps, metrics::text, extract(epoch FROM reported_at)::float8
          FROM metrics
         WHERE trial_id = $1 AND id > $2 AND NOT archived
         ORDER BY id LIMIT {BLOCK_REPORTS}
    """
    return [RawReport(*row) for row in await conn.fetch(query, trial_id, after_id)]


async def insert_block(conn: Conn, block: Block) -> bool:
    """Store a block unless its reports have changed since they were read.

    Inside the caller's transaction: the trial stays locked until its end.

    Returns:
        Whether it is stored.
    """
    await conn.execute("SELECT FROM trials WHERE id = $1 FOR NO KEY UPDATE", block.trial_id)
    same = """
        SELECT coalesce((SELECT max(last_id) FROM metric_blocks WHERE trial_id = $1), 0) < $3
           AND (SELECT count(*) FROM metrics
                 WHERE trial_id = $1 AND id BETWEEN $3 AND $2 AND NOT archived) = $4
    """
    columns = (block.trial_id, block.last_id, block.first_id, block.reports)
    if not await conn.fetchval(same, *columns):
        return False
    await conn.execute("INSERT INTO metric_blocks VALUES ($1, $2, $3, $4)", *columns)
    return True


async def delete_blocks(conn: Conn, trial_id: int, from_id: int) -> None:
    """Forget the block that holds a report, and all later ones; they are made again.

    Series of the trial that are kept in memory are read again, too.
    """
    for table in ("metric_charts", "metric_places", "metric_blocks"):
        query = f"DELETE FROM {table} WHERE trial_id = $1 AND last_id >= $2"
        await conn.execute(query, trial_id, from_id)
    query = "UPDATE trials SET series_rewrites = series_rewrites + 1 WHERE id = $1"
    await conn.execute(query, trial_id)

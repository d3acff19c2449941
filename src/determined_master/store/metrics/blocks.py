"""Rows of metric blocks: the extremes of each 1,024 reports of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.metrics.extremes import BLOCK_REPORTS, Extremes, pack, unpack
from determined_master.domain.metrics.steps import step_code

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


class BlockEntry(msgspec.Struct, frozen=True):
    """The data of a block about one metric; reports and steps are those of its group."""

    last_id: int
    first_id: int
    reports: int
    first_steps: int
    last_steps: int
    extremes: Extremes


class NewEntry(msgspec.Struct, frozen=True):
    """An entry to store."""

    group: str
    name: str
    reports: int
    first_steps: int
    last_steps: int
    extremes: Extremes
    parts: Sequence[Extremes]


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


async def insert_block(conn: Conn, block: Block, entries: Sequence[NewEntry]) -> bool:
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
    query = """
        INSERT INTO metric_extremes
        SELECT $1, n.metric_group, n.name, $2, $3, n.reports, n.first_steps, n.last_steps,
               n.low, n.low_steps, n.high, n.high_steps, n.parts
          FROM unnest($4::text[], $5::text[], $6::int[], $7::bigint[], $8::bigint[],
                      $9::float8[], $10::bigint[], $11::float8[], $12::bigint[], $13::bytea[])
            AS n (metric_group, name, reports, first_steps, last_steps, low, low_steps, high,
                  high_steps, parts)
    """
    rows = [
        (
            *(e.group, e.name, e.reports, e.first_steps, e.last_steps, *e.extremes),
            pack(e.parts, step_code(e.first_steps, e.last_steps)),
        )
        for e in entries
    ]
    if rows:
        await conn.execute(query, *columns[:3], *map(list, zip(*rows, strict=True)))
    return True


async def delete_blocks(conn: Conn, trial_id: int, from_id: int) -> None:
    """Forget the block that holds a report, and all later ones; they are made again.

    Series of the trial that are kept in memory are read again, too.
    """
    for table in ("metric_charts", "metric_places", "metric_extremes", "metric_blocks"):
        query = f"DELETE FROM {table} WHERE trial_id = $1 AND last_id >= $2"
        await conn.execute(query, trial_id, from_id)
    query = "UPDATE trials SET series_rewrites = series_rewrites + 1 WHERE id = $1"
    await conn.execute(query, trial_id)


async def list_entries(conn: Conn, trial_id: int, group: str, name: str) -> list[BlockEntry]:
    """All blocks of a trial for one metric, in order."""
    query = """
        SELECT last_id, first_id, reports, first_steps, last_steps,
               low, low_steps, high, high_steps
          FROM metric_extremes
         WHERE trial_id = $1 AND metric_group = $2 AND name = $3 ORDER BY last_id
    """
    rows = await conn.fetch(query, trial_id, group, name)
    return [
        BlockEntry(r[0], r[1], r[2], r[3], r[4], Extremes(r[5], r[6], r[7], r[8])) for r in rows
    ]


async def list_parts(
    conn: Conn, trial_id: int, group: str, name: str, ids: tuple[int, int]
) -> dict[int, list[Extremes]]:
    """A metric's extremes by parts of a block (its last id), from one block to another."""
    query = """
        SELECT last_id, first_steps, last_steps, parts FROM metric_extremes
         WHERE trial_id = $1 AND metric_group = $2 AND name = $3 AND last_id BETWEEN $4 AND $5
         ORDER BY last_id
    """
    rows = await conn.fetch(query, trial_id, group, name, *ids)
    return {i: unpack(parts, step_code(first, last)) for i, first, last, parts in rows}

"""Rows of metric blocks: the extremes of each 1,024 reports of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.extremes import BLOCK_REPORTS, Extremes, joined, pack, unpack

if TYPE_CHECKING:
    from determined_master.store.pool import Conn


class Block(msgspec.Struct, frozen=True):
    """So many reports of a trial in a row, by their ids; steps are the lowest and the highest."""

    first_id: int
    last_id: int
    first_steps: int
    last_steps: int
    reports: int


class NamedParts(msgspec.Struct, frozen=True):
    """The extremes of a metric in the parts of one block."""

    group: str
    name: str
    parts: Sequence[Extremes]


class RawReport(msgspec.Struct, frozen=True):
    """A report as a block reads it; `metrics` is JSON."""

    id: int
    group: str
    steps: int
    metrics: str


async def list_blocks(conn: Conn, trial_id: int) -> list[Block]:
    """All blocks of a trial, in order."""
    query = """
        SELECT first_id, last_id, first_steps, last_steps, reports FROM metric_blocks
         WHERE trial_id = $1 ORDER BY last_id
    """
    return [Block(*row) for row in await conn.fetch(query, trial_id)]


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
        SELECT id, metric_group, steps, metrics::text FROM metrics
         WHERE trial_id = $1 AND id > $2 AND NOT archived
         ORDER BY id LIMIT {BLOCK_REPORTS}
    """
    return [RawReport(*row) for row in await conn.fetch(query, trial_id, after_id)]


async def insert_block(
    conn: Conn, trial_id: int, block: Block, found: Sequence[NamedParts]
) -> bool:
    """Store a block unless its reports have changed since they were read.

    Inside the caller's transaction: the trial stays locked until its end.

    Returns:
        Whether it is stored.
    """
    await conn.execute("SELECT FROM trials WHERE id = $1 FOR NO KEY UPDATE", trial_id)
    same = """
        SELECT coalesce((SELECT max(last_id) FROM metric_blocks WHERE trial_id = $1), 0) < $2
           AND (SELECT count(*) FROM metrics
                 WHERE trial_id = $1 AND id BETWEEN $2 AND $3 AND NOT archived) = $4
    """
    ends = (block.first_id, block.last_id, block.reports)
    if not await conn.fetchval(same, trial_id, *ends):
        return False
    await conn.execute(
        "INSERT INTO metric_blocks VALUES ($1, $2, $3, $4, $5, $6)",
        trial_id,
        block.last_id,
        block.first_id,
        block.first_steps,
        block.last_steps,
        block.reports,
    )
    query = """
        INSERT INTO metric_extremes
        SELECT $1, n.metric_group, n.name, $2, n.low, n.low_steps, n.high, n.high_steps, n.parts
          FROM unnest($3::text[], $4::text[], $5::float8[], $6::int[], $7::float8[], $8::int[],
                      $9::bytea[])
            AS n (metric_group, name, low, low_steps, high, high_steps, parts)
    """
    rows = [(n.group, n.name, *joined(n.parts), pack(n.parts)) for n in found]
    if rows:
        await conn.execute(query, trial_id, block.last_id, *map(list, zip(*rows, strict=True)))
    return True


async def delete_blocks(conn: Conn, trial_id: int, from_id: int) -> None:
    """Forget the block that holds a report, and all later ones; they are made again."""
    for table in ("metric_extremes", "metric_blocks"):
        query = f"DELETE FROM {table} WHERE trial_id = $1 AND last_id >= $2"
        await conn.execute(query, trial_id, from_id)


async def list_extremes(
    conn: Conn, trial_id: int, group: str, name: str, ids: tuple[int, int]
) -> list[tuple[int, Extremes]]:
    """A metric's extremes by block (its last id), of the blocks from one to another."""
    query = """
        SELECT last_id, low, low_steps, high, high_steps FROM metric_extremes
         WHERE trial_id = $1 AND metric_group = $2 AND name = $3 AND last_id BETWEEN $4 AND $5
         ORDER BY last_id
    """
    rows = await conn.fetch(query, trial_id, group, name, *ids)
    return [(row[0], Extremes(*row[1:])) for row in map(tuple, rows)]


async def list_parts(
    conn: Conn, trial_id: int, group: str, name: str, ids: tuple[int, int]
) -> list[tuple[int, list[Extremes]]]:
    """The same by parts of a block."""
    query = """
        SELECT last_id, parts FROM metric_extremes
         WHERE trial_id = $1 AND metric_group = $2 AND name = $3 AND last_id BETWEEN $4 AND $5
         ORDER BY last_id
    """
    rows = await conn.fetch(query, trial_id, group, name, *ids)
    return [(last_id, unpack(parts)) for last_id, parts in rows]

"""The flight recorder's frames."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from determined_master.store.db import Conn


class FrameRow(NamedTuple):
    """One stored frame; its body is compressed."""

    pool: str
    seq: int
    at: datetime
    is_key: bool
    body: bytes


async def insert_frames(conn: Conn, frames: Sequence[FrameRow]) -> None:
    """Store frames; one of the same number is replaced, as another master's lost term has it."""
    query = """
        INSERT INTO plan_frames (pool, seq, at, is_key, size, body)
        SELECT pool, seq, at, is_key, length(body), body
          FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::bool[], $5::bytea[])
            AS f (pool, seq, at, is_key, body)
            ON CONFLICT (pool, seq) DO UPDATE
           SET at = excluded.at, is_key = excluded.is_key, size = excluded.size,
               body = excluded.body
    """
    await conn.execute(query, *map(list, zip(*frames, strict=True)))


async def find_last_seq(conn: Conn, pool: str) -> int:
    """The number of a pool's last frame; 0 without any."""
    query = "SELECT coalesce(max(seq), 0) FROM plan_frames WHERE pool = $1"
    return int(await conn.fetchval(query, pool))


async def delete_old_frames(conn: Conn, pool: str, max_bytes: int, max_frames: int) -> None:
    """Delete what is older than the newest key frame from which on there is enough."""
    query = """
        WITH counted AS (
            SELECT seq, is_key,
                   sum(size) OVER newer AS bytes, count(*) OVER newer AS frames
              FROM plan_frames WHERE pool = $1
            WINDOW newer AS (ORDER BY seq DESC)
        )
        DELETE FROM plan_frames
         WHERE pool = $1
           AND seq < (SELECT max(seq) FROM counted
                       WHERE is_key AND (bytes >= $2 OR frames >= $3))
    """
    await conn.execute(query, pool, max_bytes, max_frames)


async def list_frames(conn: Conn, pool: str, since: datetime, until: datetime) -> list[FrameRow]:
    """A pool's frames of a time, from the last key frame at or before it on."""
    query = """
        SELECT pool, seq, at, is_key, body FROM plan_frames
         WHERE pool = $1 AND at <= $3
           AND seq >= coalesce(
                   (SELECT max(seq) FROM plan_frames
                     WHERE pool = $1 AND is_key AND at <= $2),
                   (SELECT min(seq) FROM plan_frames WHERE pool = $1 AND is_key))
         ORDER BY seq
    """
    return [FrameRow(*row) for row in await conn.fetch(query, pool, since, until)]


async def list_recorded_pools(conn: Conn) -> list[tuple[str, int, datetime, datetime]]:
    """Pools with frames: how many, and of which time."""
    query = """
        SELECT pool, count(*), min(at), max(at) FROM plan_frames GROUP BY pool ORDER BY pool
    """
    return [tuple(row) for row in await conn.fetch(query)]

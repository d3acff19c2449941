"""Rows of agents' stays: from when until when they were there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from determined_master.store.db import Conn


class AgentPresence(msgspec.Struct, frozen=True):
    """An agent that is there."""

    agent_id: str
    pool: str
    slots: int
    since: datetime


class AgentStay(msgspec.Struct, frozen=True):
    """A time in which an agent was there with the same slots; it may still be."""

    pool: str
    slots: int
    started_at: datetime
    ended_at: datetime | None


async def list_stays(conn: Conn, agent_id: str, since: datetime) -> list[AgentStay]:
    """The stays of an agent that had not ended at an instant, by their begin."""
    query = """
        SELECT pool, slots, started_at, ended_at FROM agent_stays
         WHERE agent_id = $1 AND (ended_at IS NULL OR ended_at > $2)
         ORDER BY started_at, id LIMIT 1000
    """
    return [AgentStay(*row) for row in await conn.fetch(query, agent_id, since)]


async def end_others(conn: Conn, here: Sequence[AgentPresence]) -> None:
    """End the stays of all but these, as they are, at the instant they were last seen."""
    query = """
        UPDATE agent_stays s SET ended_at = s.seen_at
         WHERE s.ended_at IS NULL AND NOT EXISTS (
               SELECT FROM unnest($1::text[], $2::text[], $3::int[]) AS h (agent_id, pool, slots)
                WHERE h.agent_id = s.agent_id AND h.pool = s.pool AND h.slots = s.slots)
    """
    agents = [(a.agent_id, a.pool, a.slots) for a in here]
    await conn.execute(query, *_columns(agents, 3))


async def upsert_here(conn: Conn, here: Sequence[AgentPresence], now: datetime) -> None:
    """Note that these are there; a stay begins with its agent, or after the one before."""
    query = """
        INSERT INTO agent_stays (agent_id, pool, slots, started_at, seen_at)
        SELECT h.agent_id, h.pool, h.slots,
               greatest(h.since, (SELECT max(s.ended_at) FROM agent_stays s
                                   WHERE s.agent_id = h.agent_id)), $5
          FROM unnest($1::text[], $2::text[], $3::int[], $4::timestamptz[])
               AS h (agent_id, pool, slots, since)
        ON CONFLICT (agent_id) WHERE ended_at IS NULL DO UPDATE SET seen_at = excluded.seen_at
    """
    agents = [(a.agent_id, a.pool, a.slots, a.since) for a in here]
    await conn.execute(query, *_columns(agents, 4), now)


def _columns(rows: Sequence[tuple[object, ...]], count: int) -> list[list[object]]:
    return [[row[i] for row in rows] for i in range(count)]

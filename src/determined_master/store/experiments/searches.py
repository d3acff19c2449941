"""Rows of searches: rung entries and bracket members, which grow with the trials."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.domain.search.asha import FAILED
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.store.db import Conn

_VALID = """
    members AS (SELECT request_id, bracket, state FROM bracket_members
                 WHERE experiment_id = $1 AND state <> 'invalid'),
    entries AS (SELECT e.bracket, e.rung, e.metric, e.stopped, e.request_id
                  FROM rung_entries e JOIN members USING (request_id) WHERE e.experiment_id = $1)
"""
"""The rows that count: an invalid trial leaves all its rungs."""


class RungCounts(msgspec.Struct, frozen=True):
    """The trials of one rung.

    `training` ones have the rung before them, and `failed` ones ended on the way to it. `stopped`
    ones are among those that reached it. `best` has the sign that makes smaller better.
    """

    bracket: int
    rung: int
    training: int
    failed: int
    reached: int
    stopped: int
    best: float | None


async def insert_rung_entries(conn: Conn, entries: Sequence[tuple[int, RungEntry]]) -> None:
    """Add entries, given with their experiments."""
    query = """
        INSERT INTO rung_entries (experiment_id, seq, bracket, rung, request_id, metric, stopped)
        SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::uuid[],
                             $6::float8[], $7::bool[])
    """
    rows = [
        (experiment_id, e.seq, e.bracket, e.rung, e.request_id, e.metric, e.stopped)
        for experiment_id, e in entries
    ]
    await conn.execute(query, *map(list, zip(*rows, strict=True)))


async def upsert_bracket_members(conn: Conn, members: Sequence[tuple[int, BracketMember]]) -> None:
    """Add members or change their state, given with their experiments; the last one counts."""
    query = """
        INSERT INTO bracket_members (experiment_id, request_id, bracket, state)
        SELECT * FROM unnest($1::int[], $2::uuid[], $3::int[], $4::text[])
        ON CONFLICT (experiment_id, request_id) DO UPDATE SET state = excluded.state
    """
    newest = {(experiment_id, m.request_id): m for experiment_id, m in members}
    rows = [(key[0], key[1], m.bracket, m.state) for key, m in newest.items()]
    await conn.execute(query, *map(list, zip(*rows, strict=True)))


async def list_bracket_members(conn: Conn, experiment_id: int) -> list[BracketMember]:
    """The members of an experiment's brackets."""
    query = """
        SELECT bracket, request_id::text, state FROM bracket_members
         WHERE experiment_id = $1 ORDER BY request_id
    """
    rows = await conn.fetch(query, experiment_id)
    return [BracketMember(**row) for row in rows]


async def list_rung_entries(conn: Conn, experiment_id: int) -> list[RungEntry]:
    """The entries of an experiment's rungs, in the order they were made."""
    query = """
        SELECT bracket, rung, request_id::text, metric, seq, stopped FROM rung_entries
         WHERE experiment_id = $1 ORDER BY seq
    """
    return [RungEntry(**row) for row in await conn.fetch(query, experiment_id)]


async def list_rung_counts(conn: Conn, experiment_id: int) -> list[RungCounts]:
    """Counts of all rungs that have trials, or trials on their way to them, in their order."""
    query = f"""
        WITH {_VALID}, ways AS (
            SELECT m.bracket, count(e.rung)::int AS rung
              FROM members m LEFT JOIN entries e USING (request_id)
             WHERE m.state = 'open' GROUP BY m.request_id, m.bracket
            HAVING bool_or(e.stopped) IS NOT TRUE)
        SELECT bracket, rung, coalesce(training, 0), coalesce(failed, 0), coalesce(reached, 0),
               coalesce(stopped, 0), best
          FROM (SELECT bracket, rung, count(*) FILTER (WHERE metric = $2) AS failed,
                       count(*) FILTER (WHERE metric <> $2) AS reached,
                       count(*) FILTER (WHERE metric <> $2 AND stopped) AS stopped,
                       min(metric) FILTER (WHERE metric < $2) AS best
                  FROM entries GROUP BY bracket, rung) e
          FULL JOIN (SELECT bracket, rung, count(*) AS training FROM ways GROUP BY bracket, rung) w
         USING (bracket, rung) ORDER BY bracket, rung
    """
    rows = await conn.fetch(query, experiment_id, FAILED)
    return [RungCounts(*row) for row in rows]


async def list_metrics_at(
    conn: Conn, experiment_id: int, places: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int], float]:
    """The metrics at places of rungs, by bracket and rung; none where the rung has fewer.

    Args:
        conn: a connection.
        experiment_id: whose search.
        places: bracket, rung, and place in it; 1 is the best.
    """
    query = f"""
        WITH {_VALID}
        SELECT bracket, rung, metric FROM (
            SELECT bracket, rung, metric,
                   row_number() OVER (PARTITION BY bracket, rung ORDER BY metric) AS place
              FROM entries) e
          JOIN unnest($2::int[], $3::int[], $4::bigint[]) p(bracket, rung, place)
         USING (bracket, rung, place)
    """
    rows = await conn.fetch(query, experiment_id, *map(list, zip(*places, strict=True)))
    return {(row[0], row[1]): row[2] for row in rows}

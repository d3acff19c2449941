"""Rows of searches: rung entries and bracket members, which grow with the trials."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.store.db import Conn


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

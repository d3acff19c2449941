"""Rows of the keys of agents, and of the tokens with which new ones join."""

from __future__ import annotations

from datetime import datetime

import msgspec

from determined_master.store.db import Conn


class JoinTokenRow(msgspec.Struct, frozen=True):
    """A token that nobody has used yet."""

    agent_id: str | None
    """The agent that it is for; None for any new one."""


async def find_key(conn: Conn, agent_id: str) -> bytes | None:
    """The hash of an agent's key; None for an id that has none."""
    query = "SELECT key_hash FROM agent_keys WHERE agent_id = $1"
    key: bytes | None = await conn.fetchval(query, agent_id)
    return key


async def upsert_key(conn: Conn, agent_id: str, key_hash: bytes, now: datetime) -> None:
    """Give an agent a key, or another one."""
    query = """
        INSERT INTO agent_keys (agent_id, key_hash, created_at) VALUES ($1, $2, $3)
        ON CONFLICT (agent_id) DO UPDATE
           SET key_hash = excluded.key_hash, created_at = excluded.created_at
    """
    await conn.execute(query, agent_id, key_hash, now)


async def insert_token(
    conn: Conn, token_hash: bytes, agent_id: str | None, now: datetime, expires_at: datetime
) -> None:
    """Store a new token."""
    query = """
        INSERT INTO agent_join_tokens (token_hash, agent_id, created_at, expires_at)
        VALUES ($1, $2, $3, $4)
    """
    await conn.execute(query, token_hash, agent_id, now, expires_at)


async def find_token(conn: Conn, token_hash: bytes, now: datetime) -> JoinTokenRow | None:
    """A token that is neither spent nor expired."""
    query = "SELECT agent_id FROM agent_join_tokens WHERE token_hash = $1 AND expires_at > $2"
    row = await conn.fetchrow(query, token_hash, now)
    return None if row is None else JoinTokenRow(**row)


async def delete_token(conn: Conn, token_hash: bytes) -> bool:
    """Spend a token; False if another agent was faster."""
    query = "DELETE FROM agent_join_tokens WHERE token_hash = $1 RETURNING true"
    return bool(await conn.fetchval(query, token_hash))


async def delete_expired_tokens(conn: Conn, now: datetime) -> None:
    await conn.execute("DELETE FROM agent_join_tokens WHERE expires_at <= $1", now)


async def delete_keys_of_machines(conn: Conn, ended_before: datetime) -> None:
    """Remove the keys of agents whose machines on demand have all ended before that time."""
    query = """
        DELETE FROM agent_keys k
         USING (SELECT agent_name FROM machine_stays
                 GROUP BY agent_name HAVING max(coalesce(ended_at, 'infinity')) < $1) machine
         WHERE k.agent_id = machine.agent_name
    """
    await conn.execute(query, ended_before)


async def is_machine(conn: Conn, pool: str, agent_id: str) -> bool:
    """Whether the pool has started a machine on demand for this agent, which is still there."""
    query = """
        SELECT EXISTS (SELECT FROM machine_stays
                        WHERE pool = $1 AND agent_name = $2 AND ended_at IS NULL)
    """
    return bool(await conn.fetchval(query, pool, agent_id))

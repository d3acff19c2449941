"""Agents of a cluster that had one join token for all of them."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from determined_master import clock
from determined_master.store.cluster import agent_keys as rows
from determined_master.store.cluster.agent_stays import AgentPresence, upsert_here
from determined_master.store.db import Address, Database, connect
from determined_master.store.migrate import migrate


async def test_the_token_of_the_cluster_becomes_the_key_of_each_agent_that_has_joined(
    empty_database: Address,
) -> None:
    now = clock.now()
    conn = await connect(empty_database)
    try:
        await migrate(conn, upto="0047")
        await conn.execute(
            "INSERT INTO cluster (cluster_id, secret, join_token, created_at) "
            "VALUES (gen_random_uuid(), 's', 'of all', $1)",
            now,
        )
        await upsert_here(conn, [AgentPresence("a1", "default", 1, now)], now)
        assert "0048" in " ".join(await migrate(conn))
        assert await rows.find_key(conn, "a1") == hashlib.sha256(b"of all").digest()
        assert await rows.find_key(conn, "a2") is None
        assert await conn.fetchval("SELECT join_token FROM cluster") == ""
    finally:
        await conn.close()


async def test_a_token_is_spent_once_and_an_expired_one_is_deleted(pool: Database) -> None:
    now = clock.now()
    async with pool.acquire() as conn:
        for token, agent_id, expires_at in ((b"1", None, now), (b"2", "a1", now + timedelta(1))):
            await rows.insert_token(conn, token, agent_id, now, expires_at)
        assert await rows.find_token(conn, b"1", now) is None
        assert await rows.find_token(conn, b"2", now) == rows.JoinTokenRow("a1")
        await rows.delete_expired_tokens(conn, now)
        assert not await rows.delete_token(conn, b"1")
        assert await rows.delete_token(conn, b"2")
        assert not await rows.delete_token(conn, b"2")

"""When the server goes, callers hear of what they did, and those who were cancelled end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import AbstractAsyncContextManager

import asyncpg
import psutil
import pytest

from determined_master.store.db import Address, Conn, Database, connect
from determined_master.store.embedded.processes import lives


class Refusal(Exception):
    """Of the work on a connection."""


async def lose(conn: Conn, *, is_noticed: bool) -> None:
    """Let the server's end of a connection go, before or after this end knows of it."""
    backend = psutil.Process(conn.get_server_pid())
    os.kill(backend.pid, signal.SIGTERM)
    deadline = time.monotonic() + 20
    while lives(backend):
        assert time.monotonic() < deadline
        time.sleep(0.001)  # noqa: ASYNC251  the loop takes note of nothing meanwhile
    async with asyncio.timeout(20):
        while is_noticed and not is_gone(conn):  # noqa: ASYNC110  it tells nobody
            await asyncio.sleep(0.001)


def is_gone(conn: Conn) -> bool:
    try:
        return bool(conn.is_closed())
    except asyncpg.InterfaceError:  # its pool has it back already
        return True


async def refuse_after_loss(
    within: AbstractAsyncContextManager[object], conn: Conn, *, is_noticed: bool
) -> None:
    async with within:
        await lose(conn, is_noticed=is_noticed)
        raise Refusal


@pytest.mark.parametrize("is_noticed", [True, False])
async def test_work_in_a_transaction_that_is_cancelled_ends_without_its_server(
    pool: Database, *, is_noticed: bool
) -> None:
    begun, tries = asyncio.Event(), 0

    async def work_until_done() -> None:
        """As whoever must not lose what it was given."""
        nonlocal tries
        while True:
            tries += 1
            try:
                async with pool.acquire() as conn, conn.transaction():
                    if tries == 1:
                        await lose(conn, is_noticed=is_noticed)
                        begun.set()
                    await asyncio.Event().wait()
            except Exception:
                continue

    task = asyncio.create_task(work_until_done())
    try:
        async with asyncio.timeout(30):
            await begun.wait()
        task.cancel()
        ended, _ = await asyncio.wait({task}, timeout=5)
    finally:
        task.cancel()
        await asyncio.wait({task})
    assert ended
    assert tries == 1


@pytest.mark.parametrize("is_noticed", [True, False])
async def test_a_refusal_is_not_hidden_by_the_loss_of_the_connection(
    pool: Database, *, is_noticed: bool
) -> None:
    async with pool.acquire() as conn:
        with pytest.raises(Refusal):
            await refuse_after_loss(conn.transaction(), conn, is_noticed=is_noticed)


async def test_a_connection_that_goes_when_it_is_returned_hides_nothing(pool: Database) -> None:
    given = pool.acquire()
    conn = await given.__aenter__()
    await conn.execute("BEGIN")
    await lose(conn, is_noticed=False)
    await given.__aexit__(None, None, None)
    assert await pool.fetchval("SELECT 1") == 1


async def test_a_lost_commit_is_reported(pool: Database) -> None:
    async with pool.acquire() as conn:
        transaction = conn.transaction()
        await transaction.__aenter__()
        await lose(conn, is_noticed=True)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await transaction.__aexit__(None, None, None)


async def test_a_connection_outside_the_pool_hides_nothing_either(database: Address) -> None:
    conn = await connect(database)
    with pytest.raises(Refusal):
        await refuse_after_loss(conn.transaction(), conn, is_noticed=True)

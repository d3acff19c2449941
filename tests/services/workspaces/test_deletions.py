"""The loop that finishes deletions of projects."""

from __future__ import annotations

import asyncio
from typing import cast

from determined_master.engine import Engine
from determined_master.services.workspaces.deletions import ProjectDeletions
from determined_master.store.db import Database


async def test_with_nothing_to_delete_the_loop_looks_once_and_rests(pool: Database) -> None:
    deletions = ProjectDeletions(cast(Engine, None), pool)
    looks = 0
    settle = deletions.settle
    has_looked = asyncio.Event()

    async def counted() -> bool:
        nonlocal looks
        looks += 1
        left = await settle()
        has_looked.set()
        return left

    deletions.settle = counted
    running = asyncio.create_task(deletions.run())
    async with asyncio.timeout(60):
        await has_looked.wait()
    for _ in range(3):
        await pool.fetchval("SELECT 1")  # as long as another look would take
    assert looks == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

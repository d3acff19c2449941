"""One seed and one order of events give the same decisions, whatever kills the master."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from typing import Any

import pytest
from tests.engine.search_victim import CONFIG, events, search_engine, tell
from tests.postgres import new_database

from determined_master.store.db import Address, Database, open_database

pytestmark = [pytest.mark.slow, pytest.mark.kill]

SETUP = (
    "INSERT INTO users (username, active, modified_at) VALUES ('ann', true, now())",
    "INSERT INTO workspaces (name, user_id) VALUES ('w', 1)",
    "INSERT INTO projects (workspace_id, name, key, user_id) VALUES (1, 'p', 'P', 1)",
)
EXPERIMENT = """
    INSERT INTO experiments (job_id, user_id, workspace_id, project_id, state, name, config,
        original_config, seed, searcher_type, searcher_metric, smaller_is_better, resource_pool,
        started_at)
    VALUES (gen_random_uuid(), 1, 1, 1, 'ACTIVE', 'e', $1, '', 7, 'adaptive_asha', 'loss', true,
        'default', now())
"""


async def prepare(pool: Database) -> None:
    for statement in SETUP:
        await pool.execute(statement)
    await pool.execute(EXPERIMENT, CONFIG.config)


async def decisions(pool: Database) -> list[list[tuple[Any, ...]]]:
    """Everything that a search has stored, but for the times."""
    queries = (
        "SELECT version, cause, event, effects FROM journal WHERE kind = 'experiment' ORDER BY 1",
        "SELECT version, state FROM aggregates WHERE kind = 'experiment'",
        "SELECT * FROM rung_entries ORDER BY seq",
        "SELECT * FROM bracket_members ORDER BY request_id",
    )
    return [[tuple(row) for row in await pool.fetch(query)] for query in queries]


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_search_that_is_killed_again_and_again_decides_the_same(
    postgres: Address, database: Address, pool: Database, seed: int
) -> None:
    await prepare(pool)
    told = events(seed)
    async with search_engine(database, pool) as engine:
        await engine.wait_until_leading()
        await tell(engine, told)
    undisturbed = await decisions(pool)
    assert len(undisturbed[0]) == len(told)

    async with new_database(postgres) as other:
        other_pool = await open_database(other, min_size=1, max_size=3)
        try:
            await prepare(other_pool)
            ends = await _tell_and_kill(other, other_pool, seed, len(told))
            assert ends == [-signal.SIGKILL] * 3 + [0]
            assert await decisions(other_pool) == undisturbed
        finally:
            await other_pool.close()


async def _tell_and_kill(address: Address, pool: Database, seed: int, events: int) -> list[int]:
    """Exit codes of the processes that told the search its events."""
    command = [sys.executable, "-m", "tests.engine.search_victim"]
    command += [address.host, address.password, address.database, str(seed)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", ".", *sys.path])}
    chance = random.Random(seed)
    ends: list[int] = []
    for enough in (*sorted(chance.sample(range(2, events - 10), 3)), None):
        most = 0 if enough is None else enough + 5  # it must not have ended when it is killed
        victim = await asyncio.create_subprocess_exec(*command, str(most), env=env)
        try:
            if enough is not None:
                await _wait_for_lines(pool, victim, enough)
        finally:
            if enough is not None and victim.returncode is None:
                victim.kill()
            ends.append(await victim.wait())
    return ends


async def _wait_for_lines(pool: Database, victim: asyncio.subprocess.Process, lines: int) -> None:
    count = "SELECT count(*) FROM journal"
    async with asyncio.timeout(60):
        # The rows are the only sign of how far it is.
        while victim.returncode is None and await pool.fetchval(count) < lines:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

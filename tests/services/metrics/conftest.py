"""One trial, and what stores its reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.services.metrics.reports import AT, FACTS

from determined_master.services.metrics.flush import Flusher
from determined_master.store.db import Database


@pytest.fixture
async def flusher(pool: Database) -> AsyncIterator[Flusher]:
    await pool.execute(
        "INSERT INTO users (username, active, modified_at) VALUES ('ann', true, now())"
    )
    await pool.execute("INSERT INTO workspaces (name, user_id) VALUES ('w', 1)")
    await pool.execute(
        "INSERT INTO projects (workspace_id, name, key, user_id) VALUES (1, 'p', 'P', 1)"
    )
    await pool.execute(
        "INSERT INTO experiments (job_id, user_id, workspace_id, project_id, state, name, config,"
        " original_config, seed, searcher_type, searcher_metric, smaller_is_better,"
        " resource_pool, started_at) VALUES (gen_random_uuid(), 1, 1, 1, 'ACTIVE', 'e', '{}', '',"
        " 0, 'single', 'accuracy', false, 'default', $1)",
        AT,
    )
    await pool.execute(
        "INSERT INTO trials (experiment_id, request_id, task_id, state, hparams, seed, run_id,"
        " started_at) VALUES (1, $1, '1.t', 'ACTIVE', '{}', 0, 1, $2)",
        FACTS.request_id,
        AT,
    )
    made = Flusher(pool)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

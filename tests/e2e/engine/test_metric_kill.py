"""PostgreSQL dies while metrics are flushed: what was answered is there, once, and adds up."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import tempfile
from pathlib import Path

import pytest
from tests.e2e.engine.test_kill import durable_server
from tests.store.rows import STARTED, add_experiment, add_project, add_trial

from determined_master.services.metrics.flush import Flusher
from determined_master.services.metrics.reports import MetricReport, TrialFacts
from determined_master.services.metrics.summaries import recompute
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.db import Conn, Database
from determined_master.store.embedded.server import EmbeddedServer

TRIALS, REPORTS, KILLS = 4, 60, 3
LIMIT_S = 600
"""Three recoveries took a minute on a machine that was busy with other tests."""

pytestmark = [pytest.mark.slow, pytest.mark.kill]


class Answered:
    """How many reports were answered."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = asyncio.Condition()

    async def add(self) -> None:
        async with self._changed:
            self.count += 1
            self._changed.notify_all()

    async def reach(self, count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.count >= count)


async def report_all(
    flusher: Flusher, trial_id: int, facts: TrialFacts, answered: Answered
) -> int:
    """Report step after step, each until it is answered, as a harness does; how often again."""
    again = 0
    for steps in range(1, REPORTS + 1):
        report = MetricReport(
            trial_id=trial_id,
            run_id=0,
            group="validation" if steps % 3 else "training",
            steps=steps,
            reported_at=STARTED,
            metrics={"loss": 1.0 / steps},
        )
        while True:
            try:
                await flusher.report(report, facts)
                await answered.add()
                break
            except DATABASE_ERRORS:
                again += 1
                await asyncio.sleep(0.02)
    return again


async def kill(server: EmbeddedServer) -> None:
    killed = server.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    async with asyncio.timeout(LIMIT_S):
        while server.pid == killed:  # noqa: ASYNC110 - until the supervisor acts
            await asyncio.sleep(0.01)


async def fill(pool: Database) -> tuple[list[int], TrialFacts]:
    experiment = await add_experiment(pool, await add_project(pool))
    facts = TrialFacts(
        experiment_id=experiment,
        request_id="",
        searcher_metric="loss",
        smaller_is_better=True,
        wants_validations=False,
    )
    return [await add_trial(pool, experiment) for _ in range(TRIALS)], facts


@pytest.mark.parametrize("seed", range(2))
async def test_postgres_killed_during_a_flush_loses_no_answered_report(seed: int) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="det-", dir="/tmp") as directory:
        os.chmod(directory, 0o711)
        async with durable_server(Path(directory)) as (server, _, pool):
            trials, facts = await fill(pool)
            flusher = Flusher(pool)
            async with asyncio.TaskGroup() as group, asyncio.timeout(LIMIT_S):
                running = group.create_task(flusher.run())
                answered = Answered()
                work = [group.create_task(report_all(flusher, i, facts, answered)) for i in trials]
                # By then each trial has some left to tell, and waits for an answer.
                for count in sorted(chance.sample(range(REPORTS), KILLS)):
                    await answered.reach(count)
                    await kill(server)
                again = await asyncio.gather(*work)
                running.cancel()
            assert sum(again) > 0, "no report was under way when the server died"
            async with pool.acquire() as conn:
                await assert_adds_up(conn, flusher, trials)


async def assert_adds_up(conn: Conn, flusher: Flusher, trials: list[int]) -> None:
    await flusher.summaries.write_due()
    rows = await conn.fetch("SELECT * FROM trials ORDER BY id")
    assert [row["id"] for row in rows] == trials
    for row in rows:
        stored = await conn.fetch(
            "SELECT steps, count(*) FROM metrics WHERE trial_id = $1 GROUP BY 1", row["id"]
        )
        assert sorted(map(tuple, stored)) == [(n, 1) for n in range(1, REPORTS + 1)]
        summary, total = await recompute(conn, row["id"])
        assert (row["summary_metrics"], row["total_batches"]) == (summary, total)
        assert row["best_metric"] == 1.0 / (REPORTS - 1)
    best = await conn.fetchval("SELECT best_metric FROM experiments")
    assert best == 1.0 / (REPORTS - 1)

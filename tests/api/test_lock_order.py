"""Reports, moves, archiving and the engine lock rows in one order: nobody waits in a ring."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import asyncpg
import pytest
from tests.store.rows import STARTED, add_experiment, add_project, add_trial

from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import DetError
from determined_master.services.catalog import Services
from determined_master.services.experiments.service import Experiments, Submission
from determined_master.services.metrics.reports import MetricReport
from determined_master.services.metrics.service import Metrics
from determined_master.services.workspaces.projects import Projects
from determined_master.store.db import Database

pytestmark = pytest.mark.slow

ADMIN = Caller(1, "admin", is_admin=True)
ROUNDS = 50
CONFIG = "{{name: e, entrypoint: x, searcher: {{{}, metric: loss, max_trials: 6}}}}"
SEARCHERS = ("name: random", "name: adaptive_asha, max_time: 1000, time_metric: epochs")


@pytest.fixture
def deadlocks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every deadlock that the database ends by an error, also where it is tried again."""
    seen: list[str] = []
    make = asyncpg.DeadlockDetectedError.__init__

    def note(self: asyncpg.DeadlockDetectedError, *args: Any, **more: Any) -> None:
        seen.append(str(args))
        make(self, *args, **more)

    monkeypatch.setattr(asyncpg.DeadlockDetectedError, "__init__", note)
    return seen


async def repeat(act: Callable[[int], Awaitable[object]]) -> None:
    for round_ in range(ROUNDS):
        with contextlib.suppress(DetError):  # a run that has been started again, say
            await act(round_)


async def improve(services: Services, pool: Database, trial_id: int, round_: int) -> None:
    """Each is better than all before: the trial, its run and the experiment are written."""
    run_id = await pool.fetchval("SELECT run_id FROM trials WHERE id = $1", trial_id)
    await services[Metrics].report(
        ADMIN,
        MetricReport(
            trial_id=trial_id,
            run_id=run_id,
            group="validation" if round_ % 2 else "training",
            steps=round_,
            reported_at=STARTED,
            metrics={"loss": -round_ - trial_id / 1000, "epochs": round_},
        ),
    )


async def move(services: Services, projects: list[int], experiment: int, round_: int) -> None:
    target = projects[(round_ + experiment) % len(projects)]
    await services[Projects].move_experiment(ADMIN, experiment, target)


async def test_an_ended_experiment_is_archived_and_moved_while_late_reports_come(
    services: Services, pool: Database, deadlocks: list[str]
) -> None:
    projects = [1, await add_project(pool, "GOAL")]
    ended = {"state": "COMPLETED", "ended_at": STARTED}
    experiments = [await add_experiment(pool, 1, **ended) for _ in range(2)]
    trials = [await add_trial(pool, e, **ended) for e in experiments for _ in range(4)]

    async def archive(experiment: int, round_: int) -> None:
        await services[Experiments].archive(ADMIN, experiment, archived=round_ % 2 == 0)

    acts = [partial(improve, services, pool, trial_id) for trial_id in trials]
    acts += [partial(move, services, projects, e) for e in experiments]
    acts += [partial(archive, e) for e in experiments]
    async with asyncio.timeout(60):
        await asyncio.gather(*(repeat(act) for act in acts))
    assert deadlocks == []
    best = await pool.fetch("SELECT best_trial_id FROM experiments ORDER BY id")
    assert [row["best_trial_id"] for row in best] == [trials[3], trials[7]]


async def test_live_searches_are_moved_paused_and_resumed_while_reports_come(
    services: Services, pool: Database, deadlocks: list[str]
) -> None:
    projects = [1, await add_project(pool, "GOAL")]
    made = [
        (await services[Experiments].create(ADMIN, Submission(config=text, activate=True)))[0]
        for searcher in SEARCHERS
        for text in [CONFIG.format(searcher)] * 2
    ]
    experiments = [experiment for experiment in made if experiment is not None]
    async with asyncio.timeout(60):
        while await pool.fetchval("SELECT count(DISTINCT experiment_id) FROM trials") < 4:
            pass
    trials = [row["id"] for row in await pool.fetch("SELECT id FROM trials ORDER BY id")]

    async def steer(round_: int) -> None:
        act = services[Experiments].activate if round_ % 2 else services[Experiments].pause
        await asyncio.gather(*(act(ADMIN, experiment) for experiment in experiments))

    acts = [partial(improve, services, pool, trial_id) for trial_id in trials]
    acts += [partial(move, services, projects, e) for e in experiments]
    async with asyncio.timeout(60):
        await asyncio.gather(*(repeat(act) for act in acts), repeat(steer))
    assert deadlocks == []

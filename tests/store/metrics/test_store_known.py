"""Reports of a trial that is as known: stored by one statement, all of them or none."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.store.rows import STARTED, add_experiment, add_project, add_trial

from determined_master.store.db import Database
from determined_master.store.metrics.metrics import KnownWrite, ReportRow, store_known


@pytest.fixture
async def trial(pool: Database) -> int:
    return await add_trial(pool, await add_experiment(pool, await add_project(pool)), run_id=1)


def reports(trial_id: int, *steps: int) -> list[ReportRow]:
    return [
        ReportRow(
            trial_id=trial_id,
            metric_group="training",
            steps=n,
            run_id=1,
            reported_at=STARTED,
            metrics=f'{{"loss": {n}}}',
            batch_metrics='[{"loss": 1}]',
            searcher_metric=None,
        )
        for n in steps
    ]


def known(trial_id: int, version: int, steps: int) -> KnownWrite:
    return KnownWrite(
        trial_id=trial_id,
        run_id=1,
        version=version,
        total_batches=steps,
        latest_steps=None,
        best_steps=None,
        best_metric=None,
        searcher_metric=None,
    )


async def store(pool: Database, rows: list[ReportRow], write: KnownWrite) -> bool:
    async with pool.acquire() as conn:
        return await store_known(conn, rows, [write])


async def stored(pool: Database) -> tuple[Any, ...]:
    """Version and total of the trial; steps, values and batches of the reports."""
    trial = await pool.fetchrow("SELECT metrics_version, total_batches FROM trials")
    found = await pool.fetch("SELECT steps, metrics, batch_metrics FROM metrics ORDER BY steps")
    return (*trial, [tuple(row) for row in found])


@pytest.mark.parametrize("count", [1, 2], ids=["one", "several"])
async def test_reports_are_stored_with_their_trial(pool: Database, trial: int, count: int) -> None:
    steps = range(7, 7 + count)
    assert await store(pool, reports(trial, *steps), known(trial, 0, steps[-1]))
    expected = [(n, {"loss": n}, [{"loss": 1}]) for n in steps]
    assert await stored(pool) == (1, steps[-1], expected)


@pytest.mark.parametrize("count", [1, 2], ids=["one", "several"])
@pytest.mark.parametrize("change", [{"version": 5}, {"run_id": 2}, {"trial_id": 99}])
async def test_nothing_is_stored_if_the_trial_is_not_as_known(
    pool: Database, trial: int, count: int, change: dict[str, int]
) -> None:
    write = replace(known(trial, 0, 9), **change)
    assert not await store(pool, reports(trial, *range(9, 9 + count)), write)
    assert await stored(pool) == (0, 0, [])


@pytest.mark.parametrize("count", [1, 2], ids=["one", "several"])
async def test_nothing_is_stored_if_a_key_is_taken(pool: Database, trial: int, count: int) -> None:
    assert await store(pool, reports(trial, 7), known(trial, 0, 7))
    before = await stored(pool)
    assert not await store(pool, reports(trial, *range(7, 7 + count)), known(trial, 1, 8))
    assert await stored(pool) == before

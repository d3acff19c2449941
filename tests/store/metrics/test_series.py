"""Series in a bounded number of points, and what streams tell of experiments."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from tests.store.rows import STARTED, add_experiment, add_project, add_trial

from determined_master.records.metrics import MetricName, PointRow, SeriesRequest
from determined_master.store.db import Database
from determined_master.store.metrics.series import (
    list_best_trials,
    list_improvements,
    list_metric_names,
    list_points,
    list_snapshot,
    list_steps,
)

LOSS = MetricName("validation", "loss")


async def report(
    pool: Database,
    trial_id: int,
    steps: int,
    *,
    group: str = "validation",
    at_s: int = 0,
    **values: Any,
) -> None:
    loss = values.get("loss")
    await pool.execute(
        """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics,
                             searcher_metric)
        VALUES ($1, $2, $3, 1, $4, $5, $6)
        """,
        trial_id,
        group,
        steps,
        STARTED + timedelta(seconds=at_s or steps),
        values,
        loss if isinstance(loss, float) else None,
    )


async def points(pool: Database, wanted: SeriesRequest) -> list[PointRow]:
    async with pool.acquire() as conn:
        return await list_points(conn, wanted, 1000)


@pytest.fixture
async def trial(pool: Database) -> int:
    return await add_trial(pool, await add_experiment(pool, await add_project(pool)))


async def test_a_hundred_metrics_and_more_are_read_like_a_few(pool: Database, trial: int) -> None:
    """PostgreSQL refuses a call with more than a hundred arguments."""
    values = {f"m{n}": float(n) for n in range(0, 300, 2)}
    await report(pool, trial, 1, epoch=4, **values)
    for count in (99, 100, 300):
        names = [f"m{n}" for n in range(count)]
        wanted = SeriesRequest(trial_id=trial, group="validation", names=names, max_points=10)
        [point] = await points(pool, wanted)
        assert point.metrics == {n: v for n, v in values.items() if n in names}
        assert point.epoch == 4


async def test_a_short_series_is_given_whole(pool: Database, trial: int) -> None:
    for steps, value in ((1, 0.5), (2, "NaN"), (5, {"nested": 1})):
        await report(pool, trial, steps, loss=value, epoch=steps / 2)
    await report(pool, trial, 3, acc=1.0)
    found = await points(
        pool, SeriesRequest(trial_id=trial, group="validation", names=["loss"], max_points=10)
    )
    assert [(p.steps, p.metrics["loss"], p.epoch) for p in found] == [
        (1, 0.5, 0.5),
        (2, "NaN", 1),
        (5, {"nested": 1}, 2.5),
    ]


async def test_only_the_asked_steps_are_read(pool: Database, trial: int) -> None:
    for steps in range(8, 15):
        await report(pool, trial, steps, group="training", loss=1.0)
    wanted = SeriesRequest(
        trial_id=trial, group="training", names=["loss"], from_steps=10, to_steps=12
    )
    assert [p.steps for p in await points(pool, wanted)] == [10, 11, 12]


async def test_reports_withdrawn_by_a_rerun_are_not_shown(pool: Database, trial: int) -> None:
    await report(pool, trial, 1, loss=0.5)
    await pool.execute("UPDATE metrics SET archived = true")
    wanted = SeriesRequest(trial_id=trial, group="validation", names=["loss"])
    assert await points(pool, wanted) == []


async def test_names_come_from_the_summaries_of_all_trials(pool: Database) -> None:
    experiment = await add_experiment(pool, await add_project(pool))
    for summary in (
        {"avg_metrics": {"loss": {}}, "custom/g": {"x.y": {}}},
        {"avg_metrics": {"loss": {}}, "validation_metrics": {"acc": {}}},
    ):
        await add_trial(pool, experiment, summary_metrics=summary)
    async with pool.acquire() as conn:
        assert await list_metric_names(conn, [experiment]) == [
            MetricName("custom/g", "x.y"),
            MetricName("training", "loss"),
            MetricName("validation", "acc"),
        ]


async def test_steps_after_a_report_are_those_that_came_later(pool: Database) -> None:
    experiment = await add_experiment(pool, await add_project(pool))
    first, second = [await add_trial(pool, experiment) for _ in range(2)]
    await report(pool, first, 1, loss=0.5)
    await report(pool, second, 4, loss=0.5)
    async with pool.acquire() as conn:
        steps, last = await list_steps(conn, experiment, LOSS, 0)
        assert steps == [1, 4]
        assert await list_steps(conn, experiment, LOSS, last) == ([], last)
        await report(pool, second, 2, loss=0.5)
        steps, _ = await list_steps(conn, experiment, LOSS, last)
    assert steps == [2]


async def test_a_snapshot_takes_the_closest_report_within_the_margin(pool: Database) -> None:
    experiment = await add_experiment(pool, await add_project(pool))
    near, far = [await add_trial(pool, experiment) for _ in range(2)]
    for trial_id, steps, value in ((near, 8, 0.8), (near, 11, 0.1), (far, 20, 0.2)):
        await report(pool, trial_id, steps, loss=value)
    async with pool.acquire() as conn:
        found = await list_snapshot(conn, experiment, LOSS, (5, 15), 10)
    assert [(row.trial_id, row.steps, row.value) for row in found] == [(near, 11, 0.1)]


async def test_the_best_trials_come_first_and_those_without_a_metric_last(pool: Database) -> None:
    experiment = await add_experiment(pool, await add_project(pool))
    ids = [await add_trial(pool, experiment, best_metric=m) for m in (None, 0.5, -1.0)]
    async with pool.acquire() as conn:
        found = await list_best_trials(conn, experiment, 10)
    assert [trial_id for trial_id, _ in found] == [ids[2], ids[1], ids[0]]


@pytest.mark.parametrize(("smaller", "expected"), [(True, [5.0, 3.0, 1.0]), (False, [5.0, 9.0])])
async def test_only_validations_that_improve_are_history(
    pool: Database, *, smaller: bool, expected: list[float]
) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project, smaller_is_better=smaller)
    trials = [await add_trial(pool, experiment) for _ in range(2)]
    for n, value in enumerate((5.0, 9.0, 3.0, math.nan, 3.0, 1.0), start=1):
        logged = value if math.isfinite(value) else "NaN"
        await report(pool, trials[n % 2], n, loss=logged, at_s=n)
    async with pool.acquire() as conn:
        found = await list_improvements(conn, experiment)
    assert [value for _, _, value in found] == expected

"""Series that are read from blocks: as many points as asked, no spike lost, nothing stale."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.store.rows import STARTED, add_experiment, add_project, add_trial

from determined_master.domain.metrics.extremes import BLOCK_REPORTS
from determined_master.records.metrics import PointRow, SeriesRequest
from determined_master.services.metrics.series_points import DUE, MAX_WHOLE, SeriesPoints
from determined_master.store.db import Database
from determined_master.store.metrics.blocks import delete_blocks

LONG = MAX_WHOLE + 3 * BLOCK_REPORTS + 100


async def many_reports(
    pool: Database, trial_id: int, first: int, last: int, group: str = "training"
) -> None:
    """A loss that goes up and down gently, and `other`, which is three times as high."""
    await pool.execute(
        """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
        SELECT $1, $5, n, 1, $4, jsonb_build_object('loss', sin(n), 'other', 3 * cos(n))
          FROM generate_series($2::int, $3) n
        """,
        trial_id,
        first,
        last,
        STARTED,
        group,
    )


async def change(pool: Database, trial_id: int, steps: int, **values: Any) -> None:
    update = "UPDATE metrics SET metrics = metrics || $3 WHERE trial_id = $1 AND steps = $2"
    await pool.execute(update, trial_id, steps, values)


def wanted(trial_id: int, *names: str, **more: Any) -> SeriesRequest:
    chosen: dict[str, Any] = {"group": "training", "max_points": 100, **more}
    return SeriesRequest(trial_id=trial_id, names=names or ("loss",), **chosen)


def steps_of(points: list[PointRow]) -> list[int]:
    return [p.steps for p in points]


@pytest.fixture
async def trial(pool: Database) -> int:
    return await add_trial(pool, await add_experiment(pool, await add_project(pool)))


@pytest.fixture
def series(pool: Database) -> SeriesPoints:
    return SeriesPoints(pool)


@pytest.mark.slow
@pytest.mark.parametrize("count", [MAX_WHOLE // 2, LONG])
@pytest.mark.parametrize("place", [0.0, 0.43, 1.0])
async def test_a_long_series_keeps_every_spike_in_no_more_points_than_asked(
    pool: Database, trial: int, series: SeriesPoints, count: int, place: float
) -> None:
    spike = 1 + round(place * (count - 1))
    await many_reports(pool, trial, 1, count)
    await change(pool, trial, spike, loss=99.5)
    await change(pool, trial, 2000, other=-99.5)
    found = await series.find(wanted(trial, "loss", "other"))
    steps = steps_of(found)
    assert 50 <= len(found) <= 100
    assert steps == sorted(set(steps))
    assert {1, spike, 2000, count} <= set(steps)
    assert max(p.metrics["loss"] for p in found) == 99.5
    assert min(p.metrics["other"] for p in found) == -99.5


@pytest.mark.slow
async def test_a_part_of_a_long_series_has_only_steps_that_are_asked_for(
    pool: Database, trial: int, series: SeriesPoints
) -> None:
    await many_reports(pool, trial, 1, 2 * LONG)
    first, last = 700, 2 * LONG - 50
    for steps in (first - 1, first, last, last + 1):
        await change(pool, trial, steps, loss=50.0 + steps % 2)
    found = steps_of(await series.find(wanted(trial, from_steps=first, to_steps=last)))
    assert (found[0], found[-1]) == (first, last)
    assert 40 <= len(found) <= 102
    close = steps_of(await series.find(wanted(trial, from_steps=5000, to_steps=5040)))
    assert close == list(range(5000, 5041))


@pytest.mark.slow
@pytest.mark.parametrize("max_points", [20, 1000])
async def test_infinities_of_a_long_series_are_shown(
    pool: Database, trial: int, series: SeriesPoints, max_points: int
) -> None:
    await many_reports(pool, trial, 1, LONG)
    await change(pool, trial, 5001, loss="Infinity")
    await change(pool, trial, 5002, loss="NaN")
    await change(pool, trial, LONG - 3, loss="-Infinity")
    points = await series.find(wanted(trial, max_points=max_points))
    assert len(points) <= max_points
    unusual = {p.steps: p.metrics["loss"] for p in points if isinstance(p.metrics["loss"], str)}
    assert {5001: "Infinity", LONG - 3: "-Infinity"}.items() <= unusual.items()


@pytest.mark.slow
async def test_a_metric_that_few_reports_have_keeps_its_ends_and_spikes(
    pool: Database, trial: int, series: SeriesPoints
) -> None:
    await many_reports(pool, trial, 1, LONG)
    for steps in range(7, LONG, 97):
        await change(pool, trial, steps, seldom=steps % 5)
    await change(pool, trial, 7 + 97 * 50, seldom=99)
    points = await series.find(wanted(trial, "seldom", max_points=40))
    assert len(points) <= 42
    last = 7 + (LONG - 8) // 97 * 97
    assert {7, 7 + 97 * 50, last} <= set(steps_of(points))


@pytest.mark.slow
async def test_reports_after_the_last_block_are_shown(
    pool: Database, trial: int, series: SeriesPoints
) -> None:
    await many_reports(pool, trial, 1, LONG)
    await series.find(wanted(trial))
    await many_reports(pool, trial, LONG + 1, LONG + 500)
    await change(pool, trial, LONG + 300, loss=-99)
    assert {LONG + 300, LONG + 500} <= set(steps_of(await series.find(wanted(trial))))


@pytest.mark.slow
async def test_only_what_came_after_a_report_is_read_again(
    pool: Database, trial: int, series: SeriesPoints
) -> None:
    await many_reports(pool, trial, 1, 2 * LONG)
    query = "SELECT id FROM metrics WHERE trial_id = $1 AND steps = $2"
    after = await pool.fetchval(query, trial, LONG)
    found = steps_of(await series.find(wanted(trial, after_id=after)))
    assert (found[0], found[-1]) == (LONG + 1, 2 * LONG)


@pytest.mark.slow
async def test_a_group_that_reports_seldom_keeps_its_spikes_too(
    pool: Database, trial: int, series: SeriesPoints
) -> None:
    for start in range(0, 2 * LONG, 1000):
        await many_reports(pool, trial, start + 1, start + 1000)
        await many_reports(pool, trial, start + 1, start + 10, "validation")
    await change(pool, trial, 5007, loss=77)
    rare = wanted(trial, group="validation", max_points=40)
    found = await series.find(rare)
    assert 5007 in steps_of(found)
    assert len(found) <= 40


@pytest.mark.slow
async def test_blocks_of_reports_that_were_taken_back_are_made_again(
    pool: Database, trial: int, series: SeriesPoints
) -> None:
    await many_reports(pool, trial, 1, LONG)
    await change(pool, trial, 9000, loss=99)
    assert 9000 in steps_of(await series.find(wanted(trial)))
    archive = "UPDATE metrics SET archived = true WHERE trial_id = $1 AND steps > 8990"
    await pool.execute(archive, trial)
    async with pool.acquire() as conn:
        query = "SELECT min(id) FROM metrics WHERE trial_id = $1 AND archived"
        await delete_blocks(conn, trial, await conn.fetchval(query, trial))
    await pool.execute("UPDATE metrics SET run_id = 0 WHERE trial_id = $1", trial)
    await many_reports(pool, trial, 8991, LONG)
    steps = steps_of(await series.find(wanted(trial)))
    assert (steps[0], steps[-1]) == (1, LONG)
    assert max(p.metrics["loss"] for p in await series.find(wanted(trial))) < 2


@pytest.mark.slow
async def test_two_readers_at_once_make_each_block_once(pool: Database, trial: int) -> None:
    await many_reports(pool, trial, 1, LONG)
    readers = [SeriesPoints(pool) for _ in range(3)]
    spikes = {700, 5001, MAX_WHOLE, LONG - 2000, LONG - 1}
    for steps in spikes:
        await change(pool, trial, steps, loss=float(steps))
    for found in await asyncio.gather(*(r.find(wanted(trial)) for r in readers)):
        assert spikes <= set(steps_of(found))
    query = "SELECT sum(reports), count(*) FROM metric_blocks WHERE trial_id = $1"
    total, number = await pool.fetchrow(query, trial)
    assert (total, number) == (LONG // BLOCK_REPORTS * BLOCK_REPORTS, LONG // BLOCK_REPORTS)


@pytest.mark.slow
async def test_blocks_are_made_while_nobody_reads(
    pool: Database, trial: int, series: SeriesPoints
) -> None:
    await many_reports(pool, trial, 1, DUE + 1)
    series.note(trial, DUE)
    async with asyncio.TaskGroup() as group, asyncio.timeout(60):
        running = group.create_task(series.run())
        while not await pool.fetchval("SELECT count(*) FROM metric_blocks"):
            pass
        running.cancel()

"""Series for charts: each bucket has the extremes, the last and the number of its values."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec
import pytest
from tests.services.metrics.test_series_points import change, many_reports
from tests.store.rows import STARTED, add_experiment, add_project, add_trial

from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.metrics.charts import HIGHEST, LOWEST, ChartAxis
from determined_master.domain.metrics.extremes import BLOCK_REPORTS
from determined_master.records.metrics import MetricName
from determined_master.services.answer_cache import CacheBudget
from determined_master.services.metrics.chart_answers import ChartQuery
from determined_master.services.metrics.chart_reads import MAX_READ
from determined_master.services.metrics.charts import Charts
from determined_master.services.metrics.series_points import DUE, SeriesPoints
from determined_master.store.db import Database

ADMIN = Caller(user_id=1, username="admin", is_admin=True)
LOSS = MetricName("training", "loss")
LONG = MAX_READ + 5000


@pytest.fixture
async def trial(pool: Database) -> int:
    return await add_trial(pool, await add_experiment(pool, await add_project(pool)))


@pytest.fixture
def charts(pool: Database) -> Charts:
    return Charts(pool, SeriesPoints(pool), CacheBudget())


async def read(
    charts: Charts,
    trial: int,
    x: str = "batches",
    *,
    low: float = LOWEST,
    high: float = HIGHEST,
    buckets: int = 100,
    metric: MetricName = LOSS,
) -> dict[str, Any]:
    wanted = ChartQuery(ChartAxis(x, low, high), buckets)
    (found,) = await charts.read(ADMIN, [trial], [metric], wanted)
    decoded: dict[str, Any] = msgspec.json.decode(found)
    return decoded


async def spread_over_time(pool: Database, trial: int) -> None:
    await pool.execute(
        "UPDATE metrics SET reported_at = $2::timestamptz + steps * interval '0.5 seconds', "
        "metrics = metrics || jsonb_build_object('epoch', steps / 100.0) WHERE trial_id = $1",
        trial,
        STARTED,
    )


PLACES = {
    "batches": "steps::float8",
    "time": "extract(epoch FROM reported_at)::float8",
    "epochs": "(metrics->>'epoch')::float8",
    "metric:other": "(metrics->>'other')::float8",
}


async def check(pool: Database, trial: int, series: dict[str, Any], axis: ChartAxis) -> None:
    """Compare each bucket with the values that lie after the previous one."""
    query = f"""
        SELECT {PLACES[axis.name]} AS x, (metrics->>'loss')::float8 AS y,
               extract(epoch FROM reported_at)::float8 AS at
          FROM metrics WHERE trial_id = $1 AND NOT archived AND metrics ? 'loss' ORDER BY 1, id
    """
    values = [
        (row["x"], row["y"], row["at"])
        for row in await pool.fetch(query, trial)
        if axis.low <= row["x"] <= axis.high
    ]
    finite = [v for v in values if math.isfinite(v[1])]
    assert series["count"] == len(finite) == sum(series["n"])
    assert series["nonFiniteCount"] == len(values) - len(finite)
    assert series["x"] == sorted(set(series["x"]))
    start = 0
    for n, end in enumerate(series["x"]):
        stop = start + series["n"][n]
        bucket = finite[start:stop]
        assert bucket[-1][0] == end
        assert stop == len(finite) or finite[stop][0] >= end
        assert series["last"][n] == bucket[-1][1]
        assert series["min"][n] == min(v[1] for v in bucket)
        assert series["max"][n] == max(v[1] for v in bucket)
        assert series["time"][n] == bucket[-1][2]
        start = stop


@pytest.mark.slow
@pytest.mark.parametrize("x", PLACES)
@pytest.mark.parametrize("count", [MAX_READ // 3, LONG])
async def test_each_bucket_has_exactly_the_values_since_the_one_before(
    pool: Database, trial: int, charts: Charts, x: str, count: int
) -> None:
    await many_reports(pool, trial, 1, count)
    await spread_over_time(pool, trial)
    await change(pool, trial, 777, loss=1e300)
    await change(pool, trial, 778, loss="NaN")
    await change(pool, trial, count - 3, loss="-Infinity")
    found = await read(charts, trial, x)
    assert found["bucketed"] is True
    assert 30 <= len(found["x"]) <= 100
    assert max(found["max"]) == 1e300
    assert sorted(one["value"] for one in found["nonFinite"]) == ["-Infinity", "NaN"]
    await check(pool, trial, found, ChartAxis(x))


@pytest.mark.slow
@pytest.mark.parametrize(("x", "scale"), [("batches", 1.0), ("time", 0.5)])
async def test_a_range_of_a_long_series_has_the_values_of_that_range_alone(
    pool: Database, trial: int, charts: Charts, x: str, scale: float
) -> None:
    await many_reports(pool, trial, 1, 2 * LONG)
    await spread_over_time(pool, trial)
    start = STARTED.timestamp() if x == "time" else 0.0
    await change(pool, trial, 701, loss="Infinity")
    axis = ChartAxis(x, start + 700.3 * scale, start + (2 * LONG - 50) * scale)
    found = await read(charts, trial, x, low=axis.low, high=axis.high)
    await check(pool, trial, found, axis)
    close = await read(charts, trial, x, low=start + 5000 * scale, high=start + 5040 * scale)
    assert close["bucketed"] is False
    assert (close["count"], len(close["x"]), close["n"]) == (41, 41, [])


async def read_both(
    charts: Charts, pool: Database, trial: int, wanted: ChartQuery
) -> tuple[list[Any], list[Any]]:
    """The two series of a trial before and after it has blocks."""
    metrics = [MetricName("training", "other"), LOSS]
    reads = []
    for _ in range(2):
        found = await charts.read(ADMIN, [trial], metrics, wanted)
        reads.append([msgspec.json.decode(one) for one in found])
        await SeriesPoints(pool).catch_up(trial)
        await pool.execute("UPDATE trials SET metrics_version = metrics_version + 1")
    assert await pool.fetchval("SELECT count(*) FROM metric_places") > 0
    return reads[0], reads[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["plain", "late ones not finite", "sparse", "not finite", "out of order", "huge"]
)
async def test_blocks_change_no_series(
    pool: Database, trial: int, charts: Charts, case: str
) -> None:
    count = 3 * BLOCK_REPORTS - 300
    await many_reports(pool, trial, 1, count)
    await many_reports(pool, trial, 1, 300, "validation")
    await spread_over_time(pool, trial)
    match case:
        case "late ones not finite":
            await change(pool, trial, count - 5, loss="NaN", other=None)
        case "sparse":
            text = "UPDATE metrics SET metrics = metrics - 'other' WHERE steps % 7 = 0"
            await pool.execute(text)
        case "not finite":
            await change(pool, trial, 20, loss="-Infinity")
            await change(pool, trial, 21, other="text")
        case "out of order":
            await pool.execute("UPDATE metrics SET steps = 10000 - steps WHERE steps % 9 = 0")
        case "huge":
            await pool.execute(
                "UPDATE metrics SET metrics = metrics || $1 WHERE steps = 30",
                {"loss": 10**400, "other": 2**50 + 1},
            )
    start = STARTED.timestamp()
    for axis, buckets in (
        (ChartAxis("batches"), 100),
        (ChartAxis("batches"), 2000),
        (ChartAxis("batches", 700.5, 2100), 300),
        (ChartAxis("batches", 2600, HIGHEST), 40),
        (ChartAxis("time", start + 900.25, start + 1300), 50),
        (ChartAxis("time", 5, 6), 50),
        (ChartAxis("epochs"), 50),
    ):
        before, after = await read_both(charts, pool, trial, ChartQuery(axis, buckets))
        assert after == before


@pytest.mark.slow
async def test_blocks_are_made_for_whoever_reads_next(
    pool: Database, trial: int, charts: Charts
) -> None:
    await many_reports(pool, trial, 1, DUE)
    points = SeriesPoints(pool)
    await read(Charts(pool, points, CacheBudget()), trial)
    async with asyncio.TaskGroup() as group, asyncio.timeout(60):
        running = group.create_task(points.run())
        while not await pool.fetchval("SELECT count(*) FROM metric_places"):
            pass
        running.cancel()


@pytest.mark.slow
async def test_places_are_sent_once_where_they_may_be_shared(
    pool: Database, trial: int, charts: Charts
) -> None:
    await many_reports(pool, trial, 1, 50)
    await many_reports(pool, trial, 1, 20, "validation")
    await change(pool, trial, 30, third="NaN")
    metrics = [MetricName("training", name) for name in ("other", "loss", "third")]
    metrics.append(MetricName("validation", "loss"))
    wanted = ChartQuery(ChartAxis("batches"), 10, shares_places=True)
    found = [
        msgspec.json.decode(one) for one in await charts.read(ADMIN, [trial], metrics, wanted)
    ]
    alone = [await read(charts, trial, buckets=10, metric=metric) for metric in metrics]
    assert [one["placesOf"] for one in found] == ["", "other", "", ""]
    left_out = {"x": [], "n": [], "time": []}
    assert found == [alone[0], {**alone[1], **left_out, "placesOf": "other"}, *alone[2:]]


@pytest.mark.slow
async def test_reports_after_the_last_block_and_out_of_order_are_there(
    pool: Database, trial: int, charts: Charts
) -> None:
    await many_reports(pool, trial, 10_000, 10_000 + LONG)
    await read(charts, trial)  # blocks are made
    await many_reports(pool, trial, 1, 500)  # later, and before all others
    await pool.execute("UPDATE trials SET metrics_version = metrics_version + 1")
    await check(pool, trial, await read(charts, trial), ChartAxis("batches"))
    await pool.execute("UPDATE trials SET metrics_version = metrics_version + 1")
    await many_reports(pool, trial, 2000, 9000)
    await check(pool, trial, await read(charts, trial), ChartAxis("batches"))


@pytest.mark.slow
async def test_short_series_are_sent_as_they_are(
    pool: Database, trial: int, charts: Charts
) -> None:
    await many_reports(pool, trial, 1, 200)
    await change(pool, trial, 5, loss="text")
    found = await read(charts, trial, buckets=100)
    assert (found["bucketed"], found["count"], found["min"]) == (False, 199, [])
    assert (found["x"][3:5], found["last"][0]) == ([4, 6], math.sin(1))
    await pool.execute("UPDATE trials SET metrics_version = metrics_version + 1")
    await many_reports(pool, trial, 201, 300)
    assert (await read(charts, trial, buckets=100))["bucketed"] is True


@pytest.mark.slow
async def test_a_series_without_values_or_without_an_axis_says_so(
    pool: Database, trial: int, charts: Charts
) -> None:
    await many_reports(pool, trial, 1, 20)
    empty = await read(charts, trial, metric=MetricName("validation", "loss"))
    assert (empty["count"], empty["x"], empty["nonFiniteCount"]) == (0, [], 0)
    missing = await read(charts, trial, "epochs")
    assert (missing["count"], missing["withoutX"]) == (0, 20)
    await many_reports(pool, trial, 21, LONG)
    await pool.execute("UPDATE trials SET metrics_version = metrics_version + 1")
    assert (await read(charts, trial, "metric:none"))["withoutX"] == LONG


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, LONG])
async def test_epochs_are_those_of_trainers_too(
    pool: Database, trial: int, charts: Charts, count: int
) -> None:
    await many_reports(pool, trial, 1, count)
    grown = "metrics || jsonb_build_object('epochs', steps / 10.0)"
    await pool.execute(f"UPDATE metrics SET metrics = {grown} WHERE trial_id = $1", trial)
    found = await read(charts, trial, "epochs")
    assert (found["withoutX"], found["count"], found["x"][-1]) == (0, count, count / 10)


@pytest.mark.slow
async def test_more_than_a_thousand_values_that_are_not_finite_are_counted(
    pool: Database, trial: int, charts: Charts
) -> None:
    await many_reports(pool, trial, 1, LONG)
    await pool.execute('UPDATE metrics SET metrics = metrics || \'{"loss": "NaN"}\'')
    found = await read(charts, trial)
    assert (found["count"], found["nonFiniteCount"]) == (0, LONG)
    assert [one["x"] for one in found["nonFinite"]] == list(range(1, 1001))


@pytest.mark.slow
async def test_deleted_blocks_take_their_charts_along(
    pool: Database, trial: int, charts: Charts
) -> None:
    await many_reports(pool, trial, 1, LONG)
    await read(charts, trial)
    assert await pool.fetchval("SELECT count(*) FROM metric_charts") > 0
    await pool.execute("UPDATE metrics SET archived = true WHERE steps > 17000")
    from determined_master.store.metrics.blocks import delete_blocks

    first = await pool.fetchval("SELECT min(id) FROM metrics WHERE archived")
    async with pool.acquire() as conn:
        await delete_blocks(conn, trial, first)
    await pool.execute("UPDATE trials SET metrics_version = metrics_version + 1")
    found = await read(charts, trial)
    assert (found["count"], found["x"][-1]) == (17000, 17000)


@pytest.mark.slow
async def test_requests_are_bounded(trial: int, charts: Charts) -> None:
    wanted = ChartQuery(ChartAxis("batches"), 100)
    for trials, metrics, text in (
        ([], [LOSS], "trialIds has 0"),
        (list(range(101)), [LOSS], "trialIds has 101"),
        ([trial], [], "metrics has 0"),
        ([trial], [MetricName("g", str(n)) for n in range(25)], "metrics has 25"),
        ([trial], [MetricName("", "loss")], "neither may be empty"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            await charts.read(ADMIN, trials, metrics, wanted)
    with pytest.raises(NotFound, match="trial '999999' not found"):
        await charts.read(ADMIN, [999_999], [LOSS], wanted)


@pytest.mark.slow
async def test_several_trials_and_metrics_come_in_the_order_of_the_request(
    pool: Database, trial: int, charts: Charts
) -> None:
    other = await add_trial(pool, await pool.fetchval("SELECT max(id) FROM experiments"))
    await asyncio.gather(many_reports(pool, trial, 1, 10), many_reports(pool, other, 1, 10))
    metrics = [MetricName("training", "other"), LOSS]
    found = await charts.read(ADMIN, [other, trial], metrics, ChartQuery(ChartAxis("batches"), 10))
    decoded = [msgspec.json.decode(one) for one in found]
    assert [(one["trialId"], one["name"]) for one in decoded] == [
        (other, "other"),
        (other, "loss"),
        (trial, "other"),
        (trial, "loss"),
    ]

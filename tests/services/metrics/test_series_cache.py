"""Kept series: new reports are appended, changed ones are read again, and nothing is stale."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence

import msgspec
import pytest
from tests.services.metrics.reports import FACTS, report

from determined_master.records.metrics import PointRow, SeriesRequest
from determined_master.services.answer_cache import CacheBudget
from determined_master.services.metrics import series_cache
from determined_master.services.metrics.flush import Flusher
from determined_master.services.metrics.series_cache import SeriesCache
from determined_master.store.db import Database
from determined_master.store.experiments.trials import list_compared

pytestmark = pytest.mark.slow
ALL = SeriesRequest(trial_id=1, group="training", names=("loss",), max_points=1000)


class Reader:
    """Asks for the series of the trial; counts the points that were read for it."""

    def __init__(self, pool: Database, flusher: Flusher, memory: CacheBudget) -> None:
        self.pool = pool
        self.flusher = flusher
        self.series = SeriesCache(pool, flusher.points, memory)
        self.read = 0

    async def __call__(self, wanted: SeriesRequest = ALL) -> list[tuple[int, float]]:
        """Steps and losses."""
        async with self.pool.acquire() as conn:
            trial = (await list_compared(conn, [1]))[1]
        found = await self.series.find(trial, wanted, self._render)
        return [(steps, loss) for steps, loss in msgspec.json.decode(found or b"[]")]

    async def fresh(self, wanted: SeriesRequest = ALL) -> list[tuple[int, float]]:
        """The same without anything kept."""
        return await Reader(self.pool, self.flusher, CacheBudget(0))(wanted)

    def _render(self, points: Sequence[PointRow]) -> list[bytes]:
        self.read += len(points)
        return [msgspec.json.encode((p.steps, p.metrics["loss"])) for p in points]


@pytest.fixture
def reader(pool: Database, flusher: Flusher) -> Reader:
    return Reader(pool, flusher, CacheBudget())


async def train(flusher: Flusher, *steps: int, run_id: int = 1, **more: float) -> None:
    reports = [report(n, run_id, "training", loss=1 / n, **more) for n in steps]
    assert await flusher.report_many(reports, FACTS) == [None] * len(steps)


async def test_only_new_reports_are_read(reader: Reader, flusher: Flusher) -> None:
    await train(flusher, *range(1, 101))
    assert len(await reader()) == 100
    await train(flusher, 101, 102)
    reader.read = 0
    found = await reader()
    assert found[-2:] == [(101, 1 / 101), (102, 1 / 102)]
    assert (len(found), reader.read) == (102, 2)
    assert await reader() == found == await reader.fresh()
    assert reader.read == 2


async def test_reports_of_another_group_or_metric_add_nothing(
    reader: Reader, flusher: Flusher
) -> None:
    await train(flusher, 1, 2)
    before = await reader()
    await flusher.report(report(3, group="other", loss=5.0), FACTS)
    await flusher.report(report(4, group="training", else_=5.0), FACTS)
    assert await reader() == before
    assert reader.read == 2


async def test_a_report_that_gets_more_metrics_is_read_again(
    reader: Reader, flusher: Flusher
) -> None:
    await train(flusher, 1, 3)
    await flusher.report(report(2, group="training", accuracy=0.5), FACTS)
    assert [steps for steps, _ in await reader()] == [1, 3]
    await flusher.report(report(2, group="training", loss=7.0), FACTS)
    assert await reader() == [(1, 1.0), (2, 7.0), (3, 1 / 3)] == await reader.fresh()


async def test_reports_that_a_later_run_replaces_are_gone(
    reader: Reader, flusher: Flusher, pool: Database
) -> None:
    await train(flusher, 1, 2, 3, 4)
    assert len(await reader()) == 4
    await pool.execute("UPDATE trials SET run_id = 2")
    await flusher.report(report(3, 2, "training", loss=9.0), FACTS)
    assert await reader() == [(1, 1.0), (2, 0.5), (3, 9.0)] == await reader.fresh()


async def test_a_report_of_an_earlier_step_is_put_in_its_place(
    reader: Reader, flusher: Flusher
) -> None:
    await train(flusher, 1, 5)
    await reader()
    await train(flusher, 3)
    assert [steps for steps, _ in await reader()] == [1, 3, 5]
    await train(flusher, 9, 7)
    assert [steps for steps, _ in await reader()] == [1, 3, 5, 7, 9]


@pytest.mark.parametrize("limit", ["MAX_ADDED", "MAX_CACHED_POINTS"])
async def test_a_series_that_grew_much_is_read_again(
    reader: Reader, flusher: Flusher, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(series_cache, limit, 5)
    await train(flusher, 1, 2, 3)
    await reader()
    await train(flusher, *range(4, 14))
    assert await reader() == await reader.fresh()
    await train(flusher, 14)
    assert await reader() == await reader.fresh()
    assert len(await reader()) == 14


async def test_a_thinned_series_is_that_of_all_reports(reader: Reader, flusher: Flusher) -> None:
    few = msgspec.structs.replace(ALL, max_points=20)
    await train(flusher, *range(1, 200))
    await reader(few)
    await flusher.report(report(200, group="training", loss=99.0), FACTS)
    await train(flusher, *range(201, 250))
    found = await reader(few)
    assert found == await reader.fresh(few)
    assert (200, 99.0) in found
    assert len(found) <= 20
    assert reader.read == 249


async def test_a_part_of_a_series_gets_only_its_steps(reader: Reader, flusher: Flusher) -> None:
    part = msgspec.structs.replace(ALL, from_steps=2, to_steps=6)
    await train(flusher, 1, 2, 3)
    await reader(part)
    await train(flusher, 5, 6, 7, 8)
    assert [steps for steps, _ in await reader(part)] == [2, 3, 5, 6]


async def test_a_series_that_changes_while_it_is_read_is_not_kept_as_it_was(
    reader: Reader, flusher: Flusher, pool: Database
) -> None:
    await train(flusher, 1, 2, 3)
    await reader()
    async with pool.acquire() as conn:
        stale = (await list_compared(conn, [1]))[1]
    await pool.execute("UPDATE trials SET run_id = 2")
    await flusher.report(report(2, 2, "training", loss=9.0), FACTS)
    await reader.series.find(stale, ALL, reader._render)
    assert await reader() == [(1, 1.0), (2, 9.0)]


async def test_the_size_of_a_series_covers_its_memory(reader: Reader, flusher: Flusher) -> None:
    """Counted by the interpreter, at a thousand points."""
    await train(flusher, *range(1, 1001))
    memory = CacheBudget()
    measured = Reader(reader.pool, flusher, memory)
    await measured.fresh()  # imports, plans and caches
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        await measured()
        gc.collect()  # of cycles that the connection left, nothing is kept
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 100_000 < after - before < memory.used_bytes

"""Reports are stored together, each answered for itself; runs that start again replace."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.services.metrics.reports import AT, FACTS, report

from determined_master.domain.errors import AlreadyExists, DetError, InvalidArgument, NotFound
from determined_master.services.metrics import flush as metric_flush
from determined_master.services.metrics import summaries as metric_summaries
from determined_master.services.metrics.flush import Flusher
from determined_master.services.metrics.reports import MetricReport
from determined_master.services.metrics.summaries import Summaries
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.db import Database
from determined_master.store.metrics import metrics as rows

pytestmark = pytest.mark.slow


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[tuple[Any, ...]]:
    """The calls of a function from now on, by what it was given."""
    calls: list[tuple[Any, ...]] = []
    function = getattr(owner, name)

    async def counting(*args: Any) -> Any:
        calls.append(args)
        return await function(*args)

    monkeypatch.setattr(owner, name, counting)
    return calls


async def trial(pool: Database) -> dict[str, Any]:
    row = await pool.fetchrow(
        "SELECT t.total_batches, t.best_metric, t.summary_metrics, b.steps AS best,"
        " l.steps AS latest FROM trials t LEFT JOIN metrics b ON b.id = t.best_validation"
        " LEFT JOIN metrics l ON l.id = t.latest_validation"
    )
    assert row is not None
    return dict(row)


async def shown(flusher: Flusher, pool: Database) -> Any:
    """The trial's summary as users see it: the row has it a while later, whenever that is."""
    unwritten = flusher.summaries.find(1)
    if unwritten is not None:
        return msgspec.json.decode(unwritten)
    return (await trial(pool))["summary_metrics"]


async def test_a_report_that_cannot_be_stored_does_not_cost_its_neighbours(
    flusher: Flusher, pool: Database
) -> None:
    answers = await flusher.report_many([report(1), report(2, accuracy="\0"), report(3)], FACTS)
    assert [type(a) for a in answers] == [type(None), InvalidArgument, type(None)]
    assert (await trial(pool))["total_batches"] == 3


async def test_equal_values_again_change_nothing_and_others_clash(
    flusher: Flusher, pool: Database
) -> None:
    await flusher.report(report(1, accuracy=0.5), FACTS)
    await flusher.report(report(1, accuracy=0.5), FACTS)
    await flusher.report(report(1, loss=2.0), FACTS)
    with pytest.raises(AlreadyExists, match="accuracy"):
        await flusher.report(report(1, accuracy=0.6), FACTS)
    stored = await pool.fetchval("SELECT metrics FROM metrics")
    assert stored == {"accuracy": 0.5, "loss": 2.0}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (report(1, run_id=7), InvalidArgument),
        (report(1, group="a.b"), InvalidArgument),
        (report(1, epochs="three"), InvalidArgument),
        (
            MetricReport(trial_id=9, run_id=1, group="g", steps=1, reported_at=AT, metrics={}),
            NotFound,
        ),
    ],
    ids=["stale run", "dot in group", "epochs no number", "unknown trial"],
)
async def test_a_wrong_report_is_refused(
    flusher: Flusher, wrong: MetricReport, error: type[DetError]
) -> None:
    with pytest.raises(error):
        await flusher.report(wrong, FACTS)


async def test_a_run_that_starts_again_takes_the_place_of_what_came_after_its_checkpoint(
    flusher: Flusher, pool: Database
) -> None:
    for step in (1, 2, 3):
        await flusher.report(report(step, group="training", loss=1.0), FACTS)
        await flusher.report(report(step, accuracy=step / 10), FACTS)
    await pool.execute("UPDATE trials SET run_id = 2")
    await flusher.report(report(2, run_id=2, group="training", loss=5.0), FACTS)
    counted = await pool.fetch(
        "SELECT metric_group, steps, run_id FROM metrics WHERE NOT archived ORDER BY 2, 1, 3"
    )
    assert [tuple(row) for row in counted] == [
        ("training", 1, 1),
        ("validation", 1, 1),
        ("training", 2, 2),
        ("validation", 2, 1),
    ]
    await flusher.summaries.write_due()
    after = await trial(pool)
    assert (after["best"], after["latest"], after["best_metric"]) == (2, 2, -0.2)
    assert after["total_batches"] == 2
    assert after["summary_metrics"]["avg_metrics"]["loss"]["sum"] == 6.0
    assert after["summary_metrics"]["validation_metrics"]["accuracy"]["count"] == 2


async def test_not_a_number_is_never_the_best(flusher: Flusher, pool: Database) -> None:
    await flusher.report(report(1, accuracy="NaN"), FACTS)
    await flusher.report(report(2, accuracy=0.1), FACTS)
    await flusher.summaries.write_due()
    after = await trial(pool)
    assert (after["best"], after["latest"]) == (2, 2)
    assert after["summary_metrics"]["validation_metrics"]["accuracy"]["mean"] == 0.1


async def test_a_summary_is_seen_at_once_and_written_later(
    flusher: Flusher, pool: Database
) -> None:
    for step in (1, 2, 3):
        await flusher.report(report(step, group="training", loss=step), FACTS)
    assert (await shown(flusher, pool))["avg_metrics"]["loss"]["sum"] == 6
    await flusher.summaries.write_due()
    assert (await trial(pool))["summary_metrics"]["avg_metrics"]["loss"]["sum"] == 6
    assert flusher.summaries.find(1) is None


async def test_a_summary_that_was_lost_is_made_again(flusher: Flusher, pool: Database) -> None:
    await flusher.report(report(1, group="training", loss=1.0), FACTS)
    await flusher.report(report(2, group="training", loss=2.0), FACTS)
    another = Summaries(pool)  # as a master that starts after the first one died
    await another.write_due()
    figures = (await trial(pool))["summary_metrics"]["avg_metrics"]["loss"]
    assert (figures["count"], figures["sum"], figures["last"]) == (2, 3.0, 2.0)


async def test_reports_continue_after_another_process_has_stored_some(
    flusher: Flusher, pool: Database
) -> None:
    other = Flusher(pool)
    running = asyncio.create_task(other.run())
    for step, one in enumerate((flusher, other, flusher, other), start=1):
        await one.report(report(step, group="training", loss=1.0), FACTS)
    assert (await shown(other, pool))["avg_metrics"]["loss"]["count"] == 4
    assert await pool.fetchval("SELECT count(*) FROM metrics") == 4
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_the_same_report_twice_in_one_flush_is_stored_once(
    flusher: Flusher, pool: Database
) -> None:
    await flusher.report(report(1), FACTS)
    answers = await flusher.report_many([report(2), report(2), report(3)], FACTS)
    assert answers == [None, None, None]
    await flusher.summaries.write_due()
    after = await trial(pool)
    assert after["summary_metrics"]["validation_metrics"]["accuracy"]["count"] == 3
    assert (after["best"], after["latest"]) == (3, 3)


async def test_reports_that_are_sent_again_are_looked_up_together_and_add_to_each_other(
    flusher: Flusher, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted(monkeypatch, rows, "list_taken")
    await flusher.report_many([report(n) for n in range(20)], FACTS)
    added = [report(3, loss=1.0), report(3, lr=2.0), report(3, loss=3.0)]
    answers = await flusher.report_many([*(report(n) for n in range(20)), *added], FACTS)
    assert [type(a) for a in answers] == [type(None)] * 22 + [AlreadyExists]
    assert len(asked) == 1
    stored = await pool.fetch("SELECT metrics FROM metrics WHERE steps IN (3, 4) ORDER BY steps")
    assert [row["metrics"] for row in stored] == [
        {"accuracy": 0.3, "loss": 1.0, "lr": 2.0},
        {"accuracy": 0.4},
    ]


async def test_many_values_are_stored_in_several_flushes_and_answered_in_order(
    flusher: Flusher, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metric_flush, "MAX_VALUES_A_FLUSH", 10)
    flushes = counted(monkeypatch, flusher.store, "store_known")
    wrong = report(7, group="a.b", loss=1.0, a=2.0, b=3.0)
    reports = [wrong if n == 7 else report(n, loss=1.0, a=2.0, b=3.0) for n in range(10)]
    answers = await flusher.report_many(reports, FACTS)
    assert [n for n, answer in enumerate(answers) if answer is not None] == [7]
    assert [len(items) for _, items in flushes] == [4, 4, 2]
    assert await pool.fetchval("SELECT count(*) FROM metrics") == 9


async def test_replaced_reports_of_a_rerun_are_searched_once(
    flusher: Flusher, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search's validations come one by one, and the reports of a trial may be many."""
    await flusher.report_many([report(n) for n in range(6)], FACTS)
    await pool.execute("UPDATE trials SET run_id = 2")
    looked = counted(monkeypatch, rows, "archive_later_reports")

    async def write(*steps: int) -> None:
        async with pool.acquire() as conn, conn.transaction():
            await flusher.store.write(conn, [(report(n, run_id=2), FACTS) for n in steps])

    await write(4)
    await write(5)
    await write(6, 7)
    assert len(looked) == 1
    await write(2)
    assert len(looked) == 2
    counting = "SELECT steps FROM metrics WHERE run_id = 1 AND NOT archived ORDER BY steps"
    assert [row["steps"] for row in await pool.fetch(counting)] == [0, 1]


async def test_rolled_back_summaries_are_read_again(flusher: Flusher, pool: Database) -> None:
    await flusher.report_many([report(n) for n in range(6)], FACTS)
    await pool.execute("UPDATE trials SET run_id = 2")
    items = [(report(3, run_id=2), FACTS)]
    async with pool.acquire() as conn:
        attempt = conn.transaction()
        await attempt.start()
        await flusher.store.write(conn, items)
        await attempt.rollback()
        async with conn.transaction():
            await flusher.store.write(conn, items)
    assert await pool.fetchval("SELECT count(*) FROM metrics WHERE archived") == 3


async def test_summaries_are_written_in_turn_as_many_bytes_a_round_as_may_be(
    flusher: Flusher, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pool.execute(
        "INSERT INTO trials (experiment_id, request_id, task_id, state, hparams, seed, run_id,"
        " started_at) SELECT 1, gen_random_uuid(), '1.' || n, 'ACTIVE', '{}', 0, 1, $1"
        " FROM generate_series(2, 4) n",
        AT,
    )
    summaries = flusher.summaries
    write_due = summaries.write_due
    monkeypatch.setattr(summaries, "write_due", lambda: asyncio.sleep(0))  # only when told to
    for trial_id in (3, 1, 4, 2):
        one = msgspec.structs.replace(report(1, group="training"), trial_id=trial_id)
        await flusher.report(one, FACTS)
    await write_due()
    monkeypatch.setattr(metric_summaries, "MAX_BYTES_A_ROUND", 1)
    monkeypatch.setattr(metric_summaries, "MAX_BYTES_AT_ONCE", 1)
    order: list[int] = []
    for step in range(2, 6):
        for trial_id in (4, 3, 2, 1):  # who reports again does not lose its turn, nor gain one
            one = msgspec.structs.replace(report(step, group="training"), trial_id=trial_id)
            await flusher.report(one, FACTS)
        before = summaries.unwritten(range(1, 5))
        await write_due()
        order += before - summaries.unwritten(range(1, 5))
    assert order == [4, 3, 2, 1]
    monkeypatch.setattr(metric_summaries, "MAX_KEPT", 3)  # more are there, so that all may go
    await write_due()
    assert not summaries.unwritten(range(1, 5))


async def test_the_best_of_an_experiment_is_that_of_its_best_trial(
    flusher: Flusher, pool: Database
) -> None:
    for step, accuracy in ((1, 0.5), (2, 0.9), (3, 0.7)):
        await flusher.report(report(step, accuracy=accuracy), FACTS)
    row = await pool.fetchrow("SELECT best_trial_id, best_metric FROM experiments")
    assert row is not None
    assert tuple(row) == (1, -0.9)


async def test_figures_of_the_machine_are_no_progress_and_take_nothing_back(
    flusher: Flusher, pool: Database
) -> None:
    await flusher.report(report(5), FACTS)
    await flusher.report(report(900, group="gpu"), FACTS)
    await pool.execute("UPDATE trials SET run_id = 2")
    await flusher.report(report(1, 2, "gpu"), FACTS)
    await flusher.report(report(5, 2, "training"), FACTS)
    assert (await trial(pool))["total_batches"] == 5
    counted = await pool.fetch("SELECT metric_group, steps FROM metrics WHERE NOT archived")
    assert {tuple(row) for row in counted} == {
        ("validation", 5),
        ("training", 5),
        ("gpu", 900),
        ("gpu", 1),
    }


async def test_output_queued_during_a_lost_connection_is_stored_over_the_next_one(
    flusher: Flusher, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report whose connection goes is told so; none that waits behind it is forgotten."""
    store_known, seen = flusher.store.store_known, []

    async def store_or_lose(conn: Any, reports: Any) -> bool:
        seen.append([r.steps for r, _ in reports])
        if len(seen) == 1:
            waiting.append(asyncio.create_task(flusher.report(report(2), FACTS)))
            await asyncio.sleep(0)  # it is in the queue then
            conn.terminate()
        return bool(await store_known(conn, reports))

    waiting: list[asyncio.Task[None]] = []
    monkeypatch.setattr(flusher.store, "store_known", store_or_lose)
    async with asyncio.timeout(30):
        with pytest.raises(DATABASE_ERRORS):
            await flusher.report(report(1), FACTS)
        await waiting[0]
    assert seen[:2] == [[1], [2]]

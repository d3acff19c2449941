"""What may be reported through the API, and how what may not is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.api.client import Client
from tests.store.rows import add_experiment, add_trial

from determined_master.engine import EngineUnavailable
from determined_master.engine.kind import Outcome
from determined_master.records.metrics import SystemSample
from determined_master.services.catalog import Services
from determined_master.services.metrics.service import Metrics
from determined_master.store.db import Conn, Database
from determined_master.store.metrics import system_metrics


@pytest.fixture
async def trial(admin: Client, pool: Database) -> int:
    return await add_trial(pool, await add_experiment(pool, 1))


def body(trial: int, steps: int | None, metrics: Any, group: str = "validation") -> dict[str, Any]:
    said: dict[str, Any] = {"trialId": trial, "trialRunId": 0, "metrics": {"avgMetrics": metrics}}
    if steps is not None:
        said["stepsCompleted"] = steps
    return {"group": group, "metrics": said}


async def post(client: Client, trial: int, *args: Any) -> tuple[int, str]:
    answer = await client("POST", f"/api/v1/trials/{trial}/metrics", body(trial, *args))
    return answer.status, answer.body.decode()


async def test_nested_values_and_what_is_no_finite_number_are_kept_as_they_are(
    admin: Client, trial: int
) -> None:
    values = {
        "loss": "NaN",
        "high": "Infinity",
        "low": "-Infinity",
        "nested": {"per class": [0.5, "NaN", {"a": None}], "flag": True},
        "text": "warm-up",
    }
    assert (await post(admin, trial, 1, values))[0] == 200
    found = (await admin("GET", f"/api/v1/trials/{trial}")).json()["trial"]
    assert found["latestValidation"]["metrics"]["avgMetrics"] == values
    assert found["bestValidation"] is None
    kinds = {n: f["type"] for n, f in found["summaryMetrics"]["validation_metrics"].items()}
    assert kinds == {
        "loss": "number",
        "high": "number",
        "low": "number",
        "nested": "object",
        "text": "string",
    }


async def test_a_summary_keeps_the_finite_numbers_of_a_metric_that_changes_its_type(
    admin: Client, trial: int
) -> None:
    for steps, value in enumerate((3, "NaN", "diverged", 1.0, None, "-Infinity"), 1):
        assert (await post(admin, trial, steps, {"loss": value}))[0] == 200
    shown = (await admin("GET", f"/api/v1/trials/{trial}")).json()["trial"]
    assert shown["summaryMetrics"]["validation_metrics"]["loss"] == {
        "count": 2,
        "last": "-Infinity",
        "max": 3,
        "mean": 2.0,
        "min": 1.0,
        "others": 4,
        "sum": 4.0,
        "type": "number",
    }


@pytest.mark.parametrize("large", [10**308, 1e308])
async def test_numbers_whose_sum_is_beyond_all_numbers_stop_no_summary(
    admin: Client, trial: int, large: float
) -> None:
    for steps, value in enumerate((large, large, 0.5), 1):
        assert (await post(admin, trial, steps, {"loss": value, "accuracy": 0.5}))[0] == 200
    shown = (await admin("GET", f"/api/v1/trials/{trial}")).json()["trial"]
    figures = shown["summaryMetrics"]["validation_metrics"]
    assert (figures["loss"]["sum"], figures["loss"]["count"]) == ("Infinity", 3)
    assert (figures["loss"]["min"], figures["accuracy"]["mean"]) == (0.5, 0.5)


@pytest.mark.slow
async def test_a_report_of_very_many_values_is_refused_and_the_limit_is_named(
    admin: Client, trial: int
) -> None:
    status, told = await post(admin, trial, 1, {"histogram": [0] * 240_000})
    assert status == 400
    assert "240000 values in one report: at most 100000" in told


async def test_in_a_batch_only_the_report_that_is_too_much_is_refused(
    admin: Client, trial: int
) -> None:
    reports = [body(trial, n, {"loss": n, "n" * (2000 if n == 2 else 1): 1}) for n in (1, 2, 3)]
    request = {"reports": reports}
    answer = await admin("POST", f"/api/v1/trials/{trial}/metrics/batch", request)
    errors = [result["error"] for result in answer.json()["results"]]
    assert (errors[0], errors[2]) == ("", "")
    assert "has 2000 bytes: at most 1000" in errors[1]


async def test_a_batch_that_is_not_settled_in_time_is_to_be_sent_again_and_counts_once(
    admin: Client, services: Services, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search may have heard of a report all the same; the trial must not die of it."""
    halving = await add_experiment(pool, 1, searcher_type="adaptive_asha")
    trial = await add_trial(pool, halving)
    outcomes: list[Outcome | EngineUnavailable] = [
        EngineUnavailable("not settled in time"),
        Outcome(version=2, is_duplicate=True),
    ]

    async def post_once(*_: Any, **__: Any) -> Outcome:
        outcome = outcomes.pop(0)
        if isinstance(outcome, EngineUnavailable):
            raise outcome
        return outcome

    monkeypatch.setattr(services[Metrics]._engine, "post", post_once)
    reports = [body(trial, 1, {"loss": 2.0}, "training"), body(trial, 1, {"loss": 1.0})]
    path = f"/api/v1/trials/{trial}/metrics/batch"
    assert (await admin("POST", path, {"reports": reports})).status == 503
    again = await admin("POST", path, {"reports": reports})
    assert [result["error"] for result in again.json()["results"]] == ["", ""]
    assert await pool.fetchval("SELECT count(*) FROM metrics") == 2


async def test_figures_of_the_machine_need_no_steps_and_come_often(
    admin: Client, pool: Database, trial: int
) -> None:
    for n in range(3):
        figures = {"agent-1": {"cpu_util_simple": n}}
        said = body(trial, None, figures, "cpu")
        said["metrics"]["reportTime"] = f"2026-11-21T10:00:0{n}Z"
        answer = await admin("POST", f"/api/v1/trials/{trial}/metrics", said)
        assert answer.status == 200, answer.body
    assert await pool.fetchval("SELECT count(*) FROM system_metrics") == 3
    assert await pool.fetchval("SELECT total_batches FROM trials") == 0


async def test_figures_of_the_machine_in_a_batch_are_stored_together_in_their_order(
    admin: Client, pool: Database, trial: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted: list[int] = []
    insert = system_metrics.insert_samples

    async def counting(conn: Conn, samples: Sequence[SystemSample]) -> None:
        inserted.append(len(samples))
        await insert(conn, samples)

    monkeypatch.setattr(system_metrics, "insert_samples", counting)
    figures = [body(trial, None, {"agent-1": {"util": n}}, "cpu") for n in range(5)]
    reports = [*figures[:3], body(trial, 1, {"loss": 1.0}, "training"), *figures[3:]]
    answer = await admin("POST", f"/api/v1/trials/{trial}/metrics/batch", {"reports": reports})
    assert [result["error"] for result in answer.json()["results"]] == [""] * 6
    assert inserted == [3, 2]
    stored = await pool.fetch("SELECT metrics->'agent-1'->'util' FROM system_metrics ORDER BY id")
    assert [row[0] for row in stored] == [0, 1, 2, 3, 4]

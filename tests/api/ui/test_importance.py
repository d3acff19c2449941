"""The importance of hyperparameters, asked for through the API."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok
from tests.store.rows import add_experiment, add_project, add_trial

from determined_master.store.db import Database

pytestmark = pytest.mark.slow


async def a_search(pool: Database, runs: int) -> int:
    """A search whose metric depends on `lr`."""
    random = Random(7)
    experiment = await add_experiment(pool, await add_project(pool))
    for _ in range(runs):
        trial = await add_trial(pool, experiment)
        lr, width = random.random(), random.randrange(100)
        figures = {"min": lr, "max": 1 - lr, "last": 0.5}
        summary = {"validation_metrics": {"loss": figures}, "extra": {"m": {"min": float(width)}}}
        query = "UPDATE trials SET hparams = $2, summary_metrics = $3 WHERE id = $1"
        await pool.execute(query, trial, {"lr": lr, "net": {"width": width}}, summary)
    return experiment


async def importance(client: Client, experiment: int, query: str = "") -> dict[str, Any]:
    path = f"/api/ui/v1/experiments/{experiment}/hp-importance?{query}"
    found: dict[str, Any] = await ok(client, "GET", path)
    return found


async def test_the_hyperparameter_that_the_metric_depends_on_comes_first(
    user: Client, pool: Database
) -> None:
    experiment = await a_search(pool, 60)
    found = await importance(user, experiment, "metric=loss&smallerIsBetter=true")
    assert (found["n"], found["total"], found["warning"]) == (60, 60, "")
    assert [p["name"] for p in found["parameters"]] == ["lr", "net.width"]
    assert found["parameters"][0]["correlation"] == -1
    other = await importance(user, experiment, "metric=m&group=extra&smallerIsBetter=true")
    assert other["parameters"][0]["name"] == "net.width"


async def test_few_runs_are_warned_of(user: Client, pool: Database) -> None:
    experiment = await a_search(pool, 5)
    found = await importance(user, experiment, "metric=loss")
    assert "only 5 trials have the metric" in found["warning"]
    nothing = await importance(user, experiment, "metric=other")
    assert (nothing["n"], nothing["total"], nothing["parameters"]) == (0, 5, [])


async def test_without_a_metric_it_is_the_searchers(user: Client, pool: Database) -> None:
    experiment = await a_search(pool, 1)
    found = await importance(user, experiment)
    row = await pool.fetchrow(
        "SELECT searcher_metric, smaller_is_better FROM experiments WHERE id = $1", experiment
    )
    assert (found["metric"], found["smallerIsBetter"], found["group"]) == (*row, "validation")


async def test_there_is_none_of_nothing(user: Client) -> None:
    assert (await user("GET", "/api/ui/v1/experiments/999/hp-importance")).status == 404

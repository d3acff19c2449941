"""Series for charts, asked for through the API."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok
from tests.services.metrics.test_series_points import change, many_reports
from tests.store.rows import add_experiment, add_project, add_trial

from determined_master.store.db import Database

pytestmark = pytest.mark.slow
LOSS = {"group": "training", "name": "loss"}


@pytest.fixture
async def trial(pool: Database) -> int:
    return await add_trial(pool, await add_experiment(pool, await add_project(pool)))


async def test_a_series_has_its_columns(user: Client, pool: Database, trial: int) -> None:
    await many_reports(pool, trial, 1, 5)
    await change(pool, trial, 2, loss="NaN")
    await change(pool, trial, 3, loss=1e300)
    body = {"trialIds": [trial], "metrics": [LOSS], "xMin": 2, "xMax": 4}
    (series,) = (await ok(user, "POST", "/api/ui/v1/series", body))["series"]
    times = series.pop("time")
    assert len(times) == 2
    assert series.pop("last")[0] == 1e300
    assert series == {
        "trialId": trial,
        **LOSS,
        "count": 2,
        "bucketed": False,
        "x": [3, 4],
        "min": [],
        "max": [],
        "n": [],
        "nonFinite": [{"x": 2, "value": "NaN"}],
        "nonFiniteCount": 1,
        "withoutX": 0,
        "placesOf": "",
    }
    body = {**body, "metrics": [LOSS, {"group": "training", "name": "other"}], "xMin": 4}
    shared = await ok(user, "POST", "/api/ui/v1/series", {**body, "sharesPlaces": True})
    assert [(one["x"], one["placesOf"]) for one in shared["series"]] == [([4], ""), ([], "loss")]


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({"trialIds": [99]}, 404, "trial '99' not found"),
        ({"trialIds": []}, 400, "trialIds has 0"),
        ({"metrics": []}, 400, "metrics has 0"),
        ({"x": "steps"}, 400, "x is 'steps': it must be batches, time, epochs or metric:NAME"),
        ({"x": "metric:"}, 400, "x is 'metric:'"),
        ({"xMin": 2, "xMax": 1}, 400, "xMin must not be above xMax"),
        ({"xMin": "NaN"}, 400, "xMin must not be above xMax"),
        ({"buckets": 4001}, 400, "buckets is 4001"),
        ({"buckets": -1}, 400, "buckets is -1"),
        (
            {"trialIds": list(range(1, 101)), "metrics": [LOSS] * 2, "buckets": 4000},
            400,
            "200 series of 4000 buckets are more than 600000",
        ),
    ],
)
async def test_values_are_checked(
    user: Client, trial: int, changes: dict[str, Any], status: int, text: str
) -> None:
    body = {"trialIds": [trial], "metrics": [LOSS], **changes}
    answer = await user("POST", "/api/ui/v1/series", body)
    assert (answer.status, text in answer.text) == (status, True), answer.text

"""N2: the numbers of one configuration become everybody's work."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.samples import World

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
HUGE = 2**31 - 1
AXIS = {"type": "int", "minval": 1, "maxval": HUGE, "count": HUGE}
BASE: dict[str, Any] = {"entrypoint": "x", "searcher": {"name": "single", "metric": "loss"}}
HALVING = {"metric": "loss", "time_metric": "batches", "max_time": HUGE, "max_trials": 10}


def searcher(name: str, **keys: Any) -> dict[str, Any]:
    return {"searcher": {"name": name, "metric": "loss", **keys}}


@pytest.mark.parametrize(
    ("harm", "key", "setting"),
    [
        (searcher("random", max_trials=HUGE), "searcher.max_trials", "max_trials"),
        (
            searcher("random", max_trials=HUGE, max_concurrent_trials=HUGE),
            "searcher.max_trials",
            "max_trials",
        ),
        ({**searcher("grid"), "hyperparameters": {"a": AXIS}}, "hyperparameters", "max_trials"),
        (
            searcher("adaptive_asha", **{**HALVING, "max_trials": HUGE}),
            "searcher.max_trials",
            "max_trials",
        ),
        (
            searcher("async_halving", **HALVING, num_rungs=HUGE),
            "searcher.num_rungs",
            "max_rungs",
        ),
        (
            searcher("adaptive_asha", **HALVING, bracket_rungs=[1] * 5000),
            "searcher.bracket_rungs",
            "max_brackets",
        ),
        (
            searcher("adaptive_asha", **HALVING, divisor=1.0001, max_rungs=HUGE),
            "searcher.max_rungs",
            "max_rungs",
        ),
        ({"max_restarts": HUGE}, "max_restarts", "max_restarts"),
        ({"preemption_timeout": 2**62}, "preemption_timeout", "max_preemption_timeout"),
        ({"labels": [f"{n}" for n in range(5_000)]}, "labels", "max_labels"),
        (
            {"hyperparameters": {f"{n}": n for n in range(5_000)}},
            "hyperparameters",
            "max_hyperparameters",
        ),
    ],
)
async def test_a_configuration_of_a_user_without_bound_is_refused(
    world: World, harm: dict[str, Any], key: str, setting: str
) -> None:
    config = json.dumps({**BASE, **harm})
    answer = await world.clients["user"]("POST", "/api/v1/experiments", {"config": config})
    assert answer.status == 400
    message = answer.json()["error"]["error"]
    assert key in message
    assert f"ask an admin to raise config_limits.{setting}" in message


async def test_a_preview_has_the_same_limits(world: World) -> None:
    config = {**BASE, **searcher("async_halving", **HALVING, num_rungs=HUGE)}
    answer = await world.clients["user"]("POST", "/api/v1/preview-hp-search", {"config": config})
    assert answer.status == 400
    assert "config_limits.max_rungs" in answer.body.decode()


async def test_tasks_have_the_same_limits(world: World) -> None:
    mounts = [{"host_path": "/d", "container_path": f"/d{n}"} for n in range(1000)]
    config = {"entrypoint": ["x"], "bind_mounts": mounts}
    answer = await world.clients["user"]("POST", "/api/v1/commands", {"config": config})
    assert answer.status == 400
    assert "config_limits.max_bind_mounts" in answer.body.decode()


async def test_labels_of_a_stored_experiment_have_the_same_limit(world: World) -> None:
    user = world.clients["user"]
    labels = [f"{n}" for n in range(100)]
    body = {"config": json.dumps({**BASE, "labels": labels})}
    made = (await user("POST", "/api/v1/experiments", body)).json()["experiment"]["id"]
    path = f"/api/v1/experiments/{made}"
    assert (await user("PATCH", path, {"labels": [*labels, "x"]})).status == 400
    answer = await user("PUT", f"{path}/labels/x")
    assert answer.status == 400
    assert "ask an admin to raise config_limits.max_labels" in answer.json()["error"]["error"]
    assert (await user("DELETE", f"{path}/labels/0")).json()["labels"] == labels[1:]
    assert (await user("PUT", f"{path}/labels/x")).json()["labels"] == [*labels[1:], "x"]

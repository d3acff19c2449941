"""Trials that programs outside the cluster run, over the API."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.api import cases_detached as detached
from tests.api import cases_experiments as scene
from tests.api.checkpoints.test_gc import collections_of
from tests.api.client import Answer
from tests.api.samples import World
from tests.api.scenes import reaches

from determined_master import clock, entropy
from determined_master.services.access.users import Users
from determined_master.services.experiments.detached import SILENT_AFTER, Detached

pytestmark = pytest.mark.slow


async def send(world: World, method: str, path: str, body: Any = None) -> Any:
    answer = await attempt(world, method, path, body)
    assert answer.status == 200, answer.body
    return answer.json()


async def attempt(world: World, method: str, path: str, body: Any = None) -> Answer:
    return await world.clients["admin"](method, f"/api/v1{path}", body)


async def started(world: World) -> str:
    """A new trial in its first run; its path."""
    await detached.new_trial(world)
    path = f"/trials/{world.names['trial_id']}"
    await send(world, "POST", f"{path}/start", {"resume": False})
    return path


async def says(world: World, path: str, state: str | None = None) -> str:
    """Patch a trial; its state then."""
    body = {"state": f"STATE_{state}"} if state else {}
    got = await send(world, "PATCH", path, body)
    return str(got["trial"]["state"]).removeprefix("STATE_")


async def report(world: World, path: str, run_id: int, steps: int, loss: float) -> Answer:
    metrics = {
        "trialRunId": run_id,
        "stepsCompleted": steps,
        "metrics": {"avgMetrics": {"loss": loss}},
    }
    return await attempt(
        world, "POST", f"{path}/metrics", {"group": "training", "metrics": metrics}
    )


async def checkpoint(world: World, path: str, steps: int) -> str:
    trial = (await send(world, "GET", path))["trial"]
    uuid = str(entropy.new_uuid())
    body = {
        "taskId": trial["taskId"],
        "uuid": uuid,
        "resources": {"a.txt": "1"},
        "metadata": {"steps_completed": steps},
        "state": "STATE_COMPLETED",
    }
    await send(world, "POST", "/checkpoints", body)
    return uuid


async def age(world: World, path: str, by: timedelta) -> None:
    """Let the last sign of life of a trial be longer ago."""
    query = "UPDATE trials SET last_activity_at = last_activity_at - $2::interval WHERE id = $1"
    async with world.services[Users]._db.acquire() as conn:
        await conn.execute(query, int(path.rpartition("/")[2]), by)


async def test_names_given_outside_are_one_experiment_and_one_trial(world: World) -> None:
    body = {"config": detached.CONFIG, "unmanaged": True}
    puts = [send(world, "PUT", "/experiments/by-external-id/e%201", body) for _ in range(4)]
    made = await asyncio.gather(*puts)
    [number] = {m["experiment"]["id"] for m in made}
    assert made[0]["experiment"]["externalExperimentId"] == "e 1"
    create = {"experimentId": number, "hparams": {"lr": 1}, "unmanaged": True}
    body = {"createTrialRequest": create, "externalTrialId": "t/1"}
    trials = await asyncio.gather(*[send(world, "PUT", "/trials", body) for _ in range(4)])
    [trial_id] = {t["trial"]["id"] for t in trials}
    again = await send(world, "PUT", "/trials", {**body, "externalTrialId": "t2"})
    assert again["trial"]["id"] != trial_id
    assert again["trial"]["taskId"] == f"{number}.t2"
    found = await send(world, "GET", "/trials/by-external-id/e%201/t2")
    assert found["trial"]["id"] == again["trial"]["id"]
    runs = await send(world, "POST", "/runs", {})
    assert {r.get("externalRunId") for r in runs["runs"]} == {"t/1", "t2"}


@pytest.mark.parametrize(
    "path", ["/trials/by-external-id/none/t", "/trials/by-external-id/extexp1/t"]
)
async def test_a_name_that_nobody_gave_is_not_found(world: World, path: str) -> None:
    await detached.experiment(world)
    answer = await attempt(world, "GET", path)
    assert answer.status == 404
    assert "external id" in answer.text


async def test_a_run_continues_from_the_latest_checkpoint_or_begins_again(world: World) -> None:
    path = await started(world)
    assert (await report(world, path, 1, 10, 0.5)).status == 200
    uuid = await checkpoint(world, path, 10)
    resumed = await send(world, "POST", f"{path}/start", {"resume": True})
    assert resumed == {"trialRunId": 2, "latestCheckpoint": uuid, "stepsCompleted": 10}
    again = await send(world, "POST", f"{path}/start", {"resume": False})
    assert again == {"trialRunId": 3, "stepsCompleted": 0}
    late = await report(world, path, 2, 11, 0.4)
    assert late.status == 400
    assert "invalid run id, 2 != 3" in late.text
    assert (await report(world, path, 3, 4, 0.9)).status == 200
    summary = (await send(world, "GET", path))["trial"]["summaryMetrics"]
    assert summary["avg_metrics"]["loss"]["last"] == 0.9


async def test_its_program_says_how_it_goes_and_the_experiment_follows(world: World) -> None:
    path = await started(world)
    number = world.names["experiment_id"]
    await reaches(world, number, "STATE_RUNNING")
    running = await send(world, "GET", "/experiments?states=STATE_RUNNING")
    assert [e["id"] for e in running["experiments"]] == [int(number)]
    assert await says(world, path) == "RUNNING"
    assert await says(world, path, "PAUSED") == "PAUSED"
    assert await says(world, path, "ACTIVE") == "RUNNING"
    assert await says(world, path, "COMPLETED") == "COMPLETED"
    ended = await reaches(world, number, "STATE_COMPLETED")
    assert ended["endTime"]
    assert await says(world, path, "COMPLETED") == "COMPLETED"
    answer = await attempt(world, "PATCH", path, {"state": "STATE_RUNNING"})
    assert answer.status == 400
    assert "cannot become RUNNING: start its next attempt" in answer.text
    await send(world, "POST", f"{path}/start", {"resume": True})
    open_again = await reaches(world, number, "STATE_RUNNING")
    assert open_again["endTime"] is None


async def test_a_state_that_only_the_master_gives_is_refused(world: World) -> None:
    path = await started(world)
    answer = await attempt(world, "PATCH", path, {"state": "STATE_STOPPING_KILLED"})
    assert answer.status == 400
    assert "STATE_COMPLETED" in answer.text


async def test_silence_is_an_error_until_it_is_heard_of_again(world: World) -> None:
    path = await started(world)
    service = world.services[Detached]
    assert await service.end_silent(clock.now()) == 0
    await age(world, path, SILENT_AFTER)
    assert await service.end_silent(clock.now()) == 1
    silent = (await send(world, "GET", path))["trial"]
    assert silent["state"] == "STATE_ERROR"
    assert silent["endTime"] < clock.now().isoformat()
    await reaches(world, world.names["experiment_id"], "STATE_ERROR")
    assert await says(world, path) == "RUNNING"
    assert (await send(world, "GET", path))["trial"]["endTime"] is None
    await reaches(world, world.names["experiment_id"], "STATE_RUNNING")
    assert await service.end_silent(clock.now()) == 0


async def test_a_report_is_a_sign_of_life(world: World) -> None:
    path = await started(world)
    await age(world, path, SILENT_AFTER)
    assert (await report(world, path, 1, 1, 0.5)).status == 200
    assert await world.services[Detached].end_silent(clock.now()) == 0


async def test_one_that_failed_of_itself_is_not_revived_by_a_sign_of_life(world: World) -> None:
    path = await started(world)
    assert await says(world, path, "ERROR") == "ERROR"
    assert await says(world, path) == "ERROR"


@pytest.mark.parametrize("action", ["kill", "cancel"])
async def test_a_user_ends_it_and_its_program_learns_so(world: World, action: str) -> None:
    path = await started(world)
    number = world.names["experiment_id"]
    await send(world, "POST", f"/experiments/{number}/{action}")
    await reaches(world, number, "STATE_CANCELED")
    answer = await attempt(world, "PATCH", path, {"state": "STATE_COMPLETED"})
    assert answer.status == 400
    assert "terminal state CANCELED" in answer.text


@pytest.mark.parametrize("action", ["pause", "activate"])
async def test_the_cluster_does_not_steer_it(world: World, action: str) -> None:
    await started(world)
    number = world.names["experiment_id"]
    answer = await attempt(world, "POST", f"/experiments/{number}/{action}")
    assert answer.status == 400
    assert f"experiment {number} is unmanaged" in answer.text


async def test_trials_of_the_cluster_are_its_own(world: World) -> None:
    await scene.paused(world)
    trial = f"/trials/{world.names['trial_id']}"
    number = int(world.names["experiment_id"])
    for method, path, body in (
        ("POST", f"{trial}/start", {"resume": True}),
        ("PATCH", trial, {"state": "STATE_COMPLETED"}),
        ("PATCH", trial, {}),
        ("POST", "/trials", {"experimentId": number, "unmanaged": True}),
    ):
        answer = await attempt(world, method, path, body)
        assert answer.status == 400, path
        assert "run by the cluster" in answer.text
    answer = await attempt(world, "POST", "/trials", {"experimentId": number})
    assert "only unmanaged trials" in answer.text


async def test_its_logs_are_followed_to_their_end_over_several_runs(world: World) -> None:
    path = await started(world)
    task_id = (await send(world, "GET", path))["trial"]["taskId"]
    for text in ("one", "two"):
        line = {"taskId": task_id, "log": f"{text}\n", "level": "LOG_LEVEL_INFO"}
        await send(world, "POST", "/task/logs", {"logs": [line]})
        await says(world, path, "COMPLETED")
        answer = await attempt(world, "GET", f"{path}/logs?follow=true")
        assert f'"log":"{text}\\n"' in answer.body.decode()
        await send(world, "POST", f"{path}/start", {"resume": True})


async def test_its_checkpoint_can_be_deleted_and_none_goes_by_itself(world: World) -> None:
    path = await started(world)
    uuids = [await checkpoint(world, path, steps) for steps in (1, 2, 3)]
    await says(world, path, "COMPLETED")
    await reaches(world, world.names["experiment_id"], "STATE_COMPLETED")
    await send(world, "DELETE", "/checkpoints", {"checkpointUuids": uuids[:1]})
    [allocation_id] = await collections_of(world)
    task_id = allocation_id.rpartition(".")[0]
    query = "SELECT uuids::text[] FROM collections WHERE task_id = $1"
    async with world.services[Users]._db.acquire() as conn:
        assert await conn.fetchval(query, task_id) == uuids[:1]


async def test_a_deleted_experiment_takes_no_trials(world: World) -> None:
    path = await started(world)
    await says(world, path, "COMPLETED")
    number = int(world.names["experiment_id"])
    await reaches(world, number, "STATE_COMPLETED")
    await send(world, "DELETE", f"/experiments/{number}")
    answer = await attempt(world, "POST", f"{path}/start", {"resume": True})
    assert answer.status in (400, 404)
    answer = await attempt(world, "POST", "/trials", {"experimentId": number, "unmanaged": True})
    assert answer.status in (400, 404)

"""How long logs are kept, the cluster's message, and steering tasks."""

from __future__ import annotations

import json
from datetime import timedelta

from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.samples import World
from tests.covers import covers

from determined_master import clock
from determined_master.services.workspaces.service import Workspaces

MESSAGE = "/api/v1/master/cluster_message"


async def finished_with_logs(world: World, *, days_ago: int) -> Client:
    """A trial that ended so long ago, with two lines."""
    admin = world.clients["admin"]
    await scene.ended(world)
    task = world.names["task_id"]
    logs = [{"taskId": task, "log": text} for text in ("one\n", "two\n")]
    assert (await admin("POST", "/api/v1/task/logs", {"logs": logs})).status == 200
    async with world.services[Workspaces]._db.acquire() as conn:
        query = "UPDATE tasks SET ended_at = $2 WHERE id = $1"
        await conn.execute(query, task, clock.now() - timedelta(days=days_ago))
    return admin


async def lines(world: World) -> int:
    admin = world.clients["admin"]
    answer = await admin("GET", f"/api/v1/trials/{world.names['trial_id']}/logs")
    return len(answer.body.splitlines())


async def remaining(world: World) -> int:
    path = f"/api/v1/trials/{world.names['trial_id']}/remaining_log_retention_days"
    return int((await world.clients["admin"]("GET", path)).json()["remainingDays"])


@covers("experiment-config 16.log_retention_days")
async def test_a_trials_own_retention_wins_until_its_experiments_changes(world: World) -> None:
    admin = await finished_with_logs(world, days_ago=3)
    experiment = f"/api/v1/experiments/{world.names['experiment_id']}/retain_logs"
    trial = f"/api/v1/trials/{world.names['trial_id']}/retain_logs"
    assert await remaining(world) == -1
    await admin("PUT", experiment, {"numDays": 5})
    assert await remaining(world) == 2
    await admin("PUT", trial, {"numDays": 10})
    assert await remaining(world) == 7
    await admin("PUT", experiment, {"numDays": 1})
    assert await remaining(world) == 0
    assert (await admin("PUT", trial, {"numDays": -2})).status == 400
    assert (await admin("PUT", "/api/v1/trials/99/retain_logs", {"numDays": 1})).status == 404


@covers("experiment-config 16.log_retention_days")
async def test_a_clean_up_removes_only_what_is_kept_no_longer(world: World) -> None:
    admin = await finished_with_logs(world, days_ago=3)
    experiment = f"/api/v1/experiments/{world.names['experiment_id']}/retain_logs"
    there = await lines(world)
    for days, removed in ((-1, 0), (4, 0), (2, there), (0, 0)):
        await admin("PUT", experiment, {"numDays": days})
        answer = await admin("POST", "/api/v1/cleanup_logs")
        assert answer.json() == {"removedCount": str(removed)}
        assert await lines(world) == (there if days in (-1, 4) else 0)


async def test_values_to_filter_by_go_with_the_lines_and_come_with_new_ones(world: World) -> None:
    admin = await finished_with_logs(world, days_ago=3)
    task = world.names["task_id"]
    line = {"taskId": task, "log": "late\n", "agentId": "a1"}

    async def agents() -> list[str]:
        answer = await admin("GET", f"/api/v1/tasks/{task}/logs/fields?follow=true")
        [fields] = [json.loads(text)["result"] for text in answer.body.splitlines()]
        return list(fields["agentIds"])

    for there in (["a1"], []):
        await admin("POST", "/api/v1/task/logs", {"logs": [line]})
        assert await agents() == ["a1"]
        if there:
            path = f"/api/v1/experiments/{world.names['experiment_id']}/retain_logs"
            await admin("PUT", path, {"numDays": 2})
            await admin("POST", "/api/v1/cleanup_logs")
            assert await agents() == []


async def test_only_admins_clean_up(user: Client) -> None:
    assert (await user("POST", "/api/v1/cleanup_logs")).status == 403


async def test_a_message_is_shown_to_anybody_from_its_start(
    admin: Client, anonymous: Client
) -> None:
    async def shown() -> Answer:
        return await anonymous("GET", "/api/v1/master")

    assert (await admin("PUT", MESSAGE, {"message": "soon down"})).status == 200
    assert (await shown()).json()["clusterMessage"]["message"] == "soon down"
    later = (clock.now() + timedelta(hours=1)).isoformat()
    await admin("PUT", MESSAGE, {"message": "later", "startTime": later, "duration": "30m"})
    assert (await admin("GET", MESSAGE)).json()["clusterMessage"]["message"] == "later"
    assert not (await shown()).json().get("clusterMessage")
    await admin("DELETE", MESSAGE)
    assert (await admin("GET", MESSAGE)).json() == {}


async def test_a_message_whose_end_comes_before_its_start_is_refused(admin: Client) -> None:
    now = clock.now()
    body = {
        "message": "m",
        "startTime": now.isoformat(),
        "endTime": (now - timedelta(hours=1)).isoformat(),
    }
    assert (await admin("PUT", MESSAGE, body)).status == 400
    assert (await admin("PUT", MESSAGE, {"message": "m", "duration": "1 day"})).status == 400
    assert (await admin("PUT", MESSAGE, {"message": " "})).status == 400


async def test_a_trials_task_shows_its_config_and_can_be_killed(world: World) -> None:
    admin = world.clients["admin"]
    await scene.running(world)
    path = f"/api/v1/tasks/{world.names['task_id']}"
    config = json.loads((await admin("GET", f"{path}/config")).json()["config"])
    assert config["searcher"]["metric"] == "loss"
    assert (await admin("POST", f"{path}/kill", {})).status == 200
    await scene.until(
        admin,
        f"/api/v1/trials/{world.names['trial_id']}",
        lambda got: "STOPPING_KILLED" in got["trial"]["state"],
    )
    assert (await admin("POST", "/api/v1/tasks/nope/kill", {})).status == 404

"""Going on with ended experiments, and forking them, over the API."""

from __future__ import annotations

from tests.api import cases_experiments as scene
from tests.api.samples import World
from tests.api.scenes import reaches, run_to_end, trials_of
from tests.covers import covers

CONTINUE = "/api/v1/experiments/continue"
GRID = """
name: g
entrypoint: python3 train.py
searcher: {name: grid, metric: loss, max_concurrent_trials: 2}
hyperparameters: {x: {type: categorical, vals: [1, 2, 3]}}
max_restarts: 0
"""


@covers("experiment-config 21.continue")
async def test_a_single_search_continues_as_a_new_task_from_its_checkpoint(world: World) -> None:
    await scene.ended(world)
    admin, names = world.clients["admin"], world.names
    body = {"id": int(names["experiment_id"]), "overrideConfig": "max_restarts: 4\n"}
    answer = await admin("POST", CONTINUE, body)
    assert answer.status == 200, answer.body
    experiment = answer.json()["experiment"]
    assert experiment["endTime"] is None
    assert experiment["progress"] == 0
    assert experiment["config"]["max_restarts"] == 4

    path = f"/api/v1/trials/{names['trial_id']}"
    trial = (await admin("GET", path)).json()["trial"]  # open once that is answered
    assert trial["taskIds"] == [names["task_id"], f"{names['task_id']}-1"]
    assert (trial["restarts"], trial["endTime"]) == (0, None)

    await run_to_end(world, f"{names['task_id']}-1.2", 0)
    ended = await reaches(world, names["experiment_id"], "STATE_COMPLETED")
    assert ended["endTime"] is not None
    first = (await admin("GET", f"/api/v1/tasks/{names['task_id']}")).json()["task"]
    second = (await admin("GET", f"/api/v1/tasks/{names['task_id']}-1")).json()["task"]
    assert first["endTime"] < second["startTime"]


async def test_new_hyperparameters_of_a_single_search_reach_its_trial(world: World) -> None:
    await scene.ended(world)
    admin, names = world.clients["admin"], world.names
    override = "hyperparameters: {lr: 0.7}\n"
    body = {"id": int(names["experiment_id"]), "overrideConfig": override}
    assert (await admin("POST", CONTINUE, body)).status == 200
    path = f"/api/v1/trials/{names['trial_id']}"
    await scene.until(admin, path, lambda got: got["trial"]["hparams"]["lr"] == 0.7)


@covers("experiment-config 21.continue")
async def test_a_grid_continues_with_the_trials_that_failed_and_those_never_made(
    world: World,
) -> None:
    admin = world.clients["admin"]
    made = await admin("POST", "/api/v1/experiments", {"config": GRID, "activate": True})
    number = made.json()["experiment"]["id"]
    first, second = await trials_of(world, number, 2)
    await run_to_end(world, f"{first['taskId']}.1", 1)
    third = (await trials_of(world, number, 3))[2]
    await admin("POST", f"/api/v1/experiments/{number}/kill")
    await reaches(world, number, "STATE_CANCELED")

    refused = await admin("POST", CONTINUE, {"id": number, "overrideConfig": "name: z"})
    assert refused.status == 400
    # The public client sends this when it was given nothing.
    answer = await admin("POST", CONTINUE, {"id": number, "overrideConfig": "{}\n"})
    assert answer.status == 200, answer.body
    twice = await admin("POST", CONTINUE, {"id": number, "overrideConfig": ""})
    assert twice.status == 400
    await run_to_end(world, f"{first['taskId']}-1.2", 0)
    for trial in (second, third):
        await run_to_end(world, f"{trial['taskId']}-1.2", 0)
    await reaches(world, number, "STATE_COMPLETED")
    again = await admin("POST", CONTINUE, {"id": number, "overrideConfig": ""})
    assert (again.status, "completed" in again.text) == (400, True)


@covers("experiment-config 21.fork")
async def test_a_fork_takes_its_parents_model_directory_when_none_is_sent(world: World) -> None:
    names = await scene.submitted(world)
    admin, parent = world.clients["admin"], int(names["experiment_id"])
    body = {"config": scene.CONFIG, "parentId": parent}
    fork = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]
    assert fork["forkedFrom"] == parent
    paths = [f"/api/v1/experiments/{n}/model_def" for n in (parent, fork["id"])]
    ours, theirs = [(await admin("GET", path)).json()["b64Tgz"] for path in paths]
    assert ours == theirs != ""
    missing = {"config": scene.CONFIG, "parentId": 999}
    answer = await admin("POST", "/api/v1/experiments", missing)
    assert (answer.status, answer.text) == (404, "experiment '999' not found")


@covers("experiment-config 21.continue")
async def test_an_experiment_that_cannot_continue_has_a_reason(world: World) -> None:
    admin = world.clients["admin"]
    names = await scene.submitted(world, activate=False)
    number = int(names["experiment_id"])
    running = await admin("POST", CONTINUE, {"id": number, "overrideConfig": ""})
    assert (running.status, "terminal state" in running.text) == (400, True)
    missing = await admin("POST", CONTINUE, {"id": 999, "overrideConfig": ""})
    assert missing.status == 404
    await admin("POST", f"/api/v1/experiments/{number}/kill")
    await reaches(world, number, "STATE_CANCELED")
    moved = {"id": number, "overrideConfig": "workspace: a\nproject: b\n"}
    answer = await admin("POST", CONTINUE, moved)
    assert (answer.status, "move" in answer.text) == (400, True)


async def test_nothing_continues_in_an_archived_project(world: World) -> None:
    admin = world.clients["admin"]
    place = (await admin("POST", "/api/v1/workspaces", {"name": "attic"})).json()["workspace"][
        "id"
    ]
    path = f"/api/v1/workspaces/{place}"
    project = (await admin("POST", f"{path}/projects", {"name": "p"})).json()["project"]["id"]
    body = {"config": GRID, "projectId": project, "activate": True}
    made = (await admin("POST", "/api/v1/experiments", body)).json()["experiment"]["id"]
    await admin("POST", f"/api/v1/experiments/{made}/kill")
    await reaches(world, str(made), "STATE_CANCELED")
    assert (await admin("POST", f"{path}/archive")).status == 200
    refused = await admin("POST", CONTINUE, {"id": made, "overrideConfig": ""})
    assert (refused.status, "is archived; unarchive it first" in refused.text) == (400, True)
    assert (await admin("POST", f"{path}/unarchive")).status == 200
    continued = await admin("POST", CONTINUE, {"id": made, "overrideConfig": ""})
    assert continued.status == 200, continued.text

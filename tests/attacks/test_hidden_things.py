"""Finding 17: ids and metrics of hidden tasks show where other things are listed."""

from __future__ import annotations

import json

import pytest
from tests.api import cases_experiments as scene
from tests.api.hidden import EDITOR, VIEWER, give, ok, take
from tests.api.samples import World
from tests.attacks.tasks import as_task

from determined_master import entropy
from determined_master.domain.allocation import messages as alloc

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def test_agents_show_no_ids_of_hidden_containers(hidden: World) -> None:
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    names = await scene.submitted(hidden)
    project = int(hidden.names["project"])
    path = f"/api/v1/experiments/{names['experiment_id']}/move"
    await ok(admin, "POST", path, {"destinationProjectId": project})
    names["container_id"] = str(entropy.new_uuid())
    placed = (alloc.Placed(names["container_id"], "a1", (0,)),)
    await scene.post(hidden, names, alloc.Assigned(placed))
    await scene.container(hidden, names, "RUNNING")
    workspace = int(hidden.names["workspace"])
    for path in ("/api/v1/agents", "/api/v1/agents/a1", "/api/v1/agents/a1/slots",
                 "/api/v1/agents/a1/slots/0"):  # fmt: skip
        assert names["container_id"] in json.dumps(await ok(admin, "GET", path))
        shown = json.dumps(await ok(user, "GET", path))
        assert names["container_id"] not in shown
        assert '"permissionDenied": true' in shown
        await give(hidden, VIEWER, workspace)
        assert names["container_id"] in json.dumps(await ok(user, "GET", path))
        await take(hidden, VIEWER, workspace)


async def test_metrics_of_hidden_trials_do_not_show_at_the_checkpoint_that_they_use(
    hidden: World,
) -> None:
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    made = await ok(admin, "POST", "/api/v1/workspaces", {"name": "open place"})
    body = {"name": "p", "workspaceId": made["workspace"]["id"]}
    workspace = made["workspace"]["id"]
    project = await ok(admin, "POST", f"/api/v1/workspaces/{workspace}/projects", body)
    shown = await scene.submitted(hidden)
    path = f"/api/v1/experiments/{shown['experiment_id']}/move"
    await ok(admin, "POST", path, {"destinationProjectId": project["project"]["id"]})
    uuid = str(entropy.new_uuid())
    checkpoint = {"taskId": shown["task_id"], "uuid": uuid, "state": "STATE_COMPLETED"}
    await ok(admin, "POST", "/api/v1/checkpoints", {**checkpoint, "resources": {"a": "1"}})
    source = {
        "trialId": int(hidden.names["trial"]),
        "checkpointUuid": uuid,
        "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
    }
    path = "/api/v1/trial-source-info"
    await ok(admin, "POST", path, {"trialSourceInfo": source})
    await give(hidden, VIEWER, workspace)
    path = f"/api/v1/checkpoints/{uuid}/metrics"
    assert (await ok(admin, "GET", path))["metrics"]
    assert (await ok(user, "GET", path))["metrics"] == []
    await take(hidden, VIEWER, workspace)


async def test_a_task_notes_no_hidden_checkpoint_as_its_source(hidden: World) -> None:
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    made = await ok(admin, "POST", "/api/v1/workspaces", {"name": "place of a task"})
    workspace = made["workspace"]["id"]
    body = {"name": "p", "workspaceId": workspace}
    project = await ok(admin, "POST", f"/api/v1/workspaces/{workspace}/projects", body)
    await give(hidden, EDITOR, workspace)
    config = {"config": scene.CONFIG, "modelDefinition": [scene.FILE], "activate": True}
    body = {**config, "projectId": project["project"]["id"]}
    number = (await ok(user, "POST", "/api/v1/experiments", body))["experiment"]["id"]
    path = f"/api/v1/experiments/{number}/trials"
    [trial] = await scene.until(user, path, lambda got: got["trials"])
    path = f"/api/v1/tasks/{trial['taskId']}"
    [run] = await scene.until(user, path, lambda got: got["task"]["allocations"])
    task = await as_task(hidden, run["allocationId"])

    async def noted(uuid: str) -> int:
        source = {
            "trialId": trial["id"],
            "checkpointUuid": uuid,
            "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
        }
        answer = await task("POST", "/api/v1/trial-source-info", {"trialSourceInfo": source})
        return answer.status

    assert await noted(hidden.names["uuid"]) == 404
    await give(hidden, VIEWER, int(hidden.names["workspace"]))
    assert await noted(hidden.names["uuid"]) == 200
    await take(hidden, VIEWER, int(hidden.names["workspace"]))
    await take(hidden, EDITOR, workspace)

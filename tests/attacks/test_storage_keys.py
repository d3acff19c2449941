"""Finding 6: a viewer is given the keys of a storage."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.cases_experiments import FILE, until
from tests.api.hidden import EDITOR, VIEWER, give, ok, take
from tests.api.samples import World

from determined_master import entropy

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
KEY = "hush-hush-key"
CONFIG = {
    "name": "x",
    "entrypoint": "true",
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
    "checkpoint_storage": {"type": "s3", "bucket": "b", "access_key": KEY, "secret_key": KEY},
    "environment": {"registry_auth": {"username": "u", "password": KEY}},
}


async def checkpoint(world: World) -> str:
    """A checkpoint of an experiment with keys, registered as a version of the model `mod`."""
    admin = world.clients["admin"]
    body: dict[str, Any] = {"config": json.dumps(CONFIG), "modelDefinition": [FILE]}
    body |= {"projectId": int(world.names["project"]), "activate": False}
    made = await ok(admin, "POST", "/api/v1/experiments", body)
    number = made["experiment"]["id"]
    path = f"/api/v1/experiments/{number}/trials"
    [trial] = await until(admin, path, lambda got: got["trials"])
    uuid = str(entropy.new_uuid())
    report = {"taskId": trial["taskId"], "uuid": uuid, "state": "STATE_COMPLETED"}
    await ok(admin, "POST", "/api/v1/checkpoints", {**report, "resources": {"a": "1"}})
    world.names["checked_experiment"] = str(number)
    return uuid


async def test_a_viewer_gets_no_keys_of_a_storage_and_an_editor_does(hidden: World) -> None:
    user, workspace = hidden.clients["user"], int(hidden.names["workspace"])
    uuid = await checkpoint(hidden)
    await ok(hidden.clients["admin"], "POST", "/api/v1/models/mod/versions",
             {"checkpointUuid": uuid})  # fmt: skip
    paths = [
        f"/api/v1/checkpoints/{uuid}",
        f"/api/v1/experiments/{hidden.names['checked_experiment']}/checkpoints",
        "/api/v1/models/mod/versions",
    ]
    await give(hidden, VIEWER, workspace)
    for path in paths:
        shown = json.dumps(await ok(user, "GET", path))
        assert KEY not in shown
        assert '"bucket": "b"' in shown
    found = await ok(user, "GET", paths[0])
    storage = found["checkpoint"]["training"]["experimentConfig"]["checkpoint_storage"]
    assert (storage["access_key"], storage["secret_key"]) == (None, None)
    await take(hidden, VIEWER, workspace)
    await give(hidden, EDITOR, workspace)
    for path in paths:
        shown = json.dumps(await ok(user, "GET", path))
        assert f'"secret_key": "{KEY}"' in shown
        assert f'"password": "{KEY}"' not in shown
    await take(hidden, EDITOR, workspace)


async def test_a_viewer_gets_no_keys_of_a_template_and_an_editor_does(hidden: World) -> None:
    user, workspace = hidden.clients["user"], int(hidden.names["workspace"])
    config = {key: CONFIG[key] for key in ("checkpoint_storage", "environment")}
    body = {"config": config, "workspaceId": workspace}
    await ok(hidden.clients["admin"], "POST", "/api/v1/templates/keys", body)
    paths = ["/api/v1/templates/keys", "/api/v1/templates"]
    await give(hidden, VIEWER, workspace)
    for path in paths:
        assert KEY not in json.dumps(await ok(user, "GET", path))
    await take(hidden, VIEWER, workspace)
    await give(hidden, EDITOR, workspace)
    for path in paths:
        assert KEY in json.dumps(await ok(user, "GET", path))
    await take(hidden, EDITOR, workspace)

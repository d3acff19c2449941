"""In which pools interactive tasks run, and in which they may not."""

from __future__ import annotations

import json

from tests.api.samples import World
from tests.api.several_pools import several_pools
from tests.api.tasks import test_generic_tasks as generic
from tests.api.test_interactive_tasks import KINDS, PREFIX, launch, refused
from tests.api.workspaces.test_projects import workspace
from tests.covers import covers

from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, Database


@covers("scheduling-and-provisioning e.4.interactive")
async def test_a_pool_that_cannot_be_used_is_an_invalid_argument(pools: World) -> None:
    admin = pools.clients["admin"]
    space = await workspace(admin, "elsewhere")
    bind = {"workspaceIds": [space], "workspaceNames": []}
    path = "/api/v1/resource-pools/lab/workspace-bindings"
    assert (await admin("POST", path, bind)).status == 200
    for name in ("nowhere", "lab"):
        config = {"entrypoint": ["x"], "resources": {"resource_pool": name}}
        for kind in KINDS:
            said = await refused(admin, kind=kind, config=config)
            assert said.startswith(PREFIX)
            assert f"resource pool {name} does not exist or is not available to workspace" in said
    config = {"entrypoint": ["x"], "resources": {"resource_pool": "lab"}}
    assert (await launch(admin, config=config, workspaceId=space)).status == 200


async def test_a_task_without_slots_goes_to_the_aux_pool(pools: World) -> None:
    admin = pools.clients["admin"]
    for slots, pool, priority in ((0, "side", 9), (1, "main", 42)):
        config = {"entrypoint": ["x"], "resources": {"slots": slots}}
        answer = (await launch(admin, config=config)).json()
        assert answer["command"]["resourcePool"] == pool
        assert answer["config"]["resources"]["priority"] == priority


async def test_a_task_larger_than_every_agent_waits_without_launch_error(
    database: Address, pool: Database, passwords: Passwords
) -> None:
    resources = {"resource_pool": "main", "slots": 5}
    too_large = ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    async with several_pools(database, pool, passwords, launch_error=False) as world:
        admin = world.clients["admin"]
        for kind in KINDS:
            config = {"entrypoint": ["x"], "resources": resources}
            answer = await launch(admin, kind=kind, config=config)
            assert answer.status == 200, answer.text
            assert answer.json()["warnings"] == too_large
            assert answer.json()[kind]["state"] == "STATE_QUEUED"
        single = {**resources, "is_single_node": True}
        body = {"config": json.dumps({"entrypoint": ["x"], "resources": single})}
        answer = await admin("POST", generic.TASKS, body)
        assert answer.status == 200, answer.text
        assert answer.json()["warnings"] == too_large

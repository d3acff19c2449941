"""In which pools interactive tasks run, and in which they may not."""

from __future__ import annotations

from tests.api.samples import World
from tests.api.test_interactive_tasks import KINDS, PREFIX, launch, refused
from tests.api.workspaces.test_projects import workspace
from tests.covers import covers


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

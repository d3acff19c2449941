"""Lists and trees of generic tasks."""

from __future__ import annotations

import pytest
from tests.api.hidden import VIEWER, give, hidden_world, ok
from tests.api.samples import World
from tests.api.tasks.test_generic_tasks import create, done

from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

pytestmark = pytest.mark.slow
LIST = "/api/ui/v1/generic-tasks"


async def test_generic_tasks_are_listed_with_what_may_be_done_to_them(world: World) -> None:
    admin = world.clients["admin"]
    first = await create(admin)
    second = await create(admin, parentId=first, noPause=True)
    fork = await create(admin, forkedFrom=first)
    found = (await ok(admin, "GET", LIST))["tasks"]
    assert [one["id"] for one in found] == [fork, second, first]
    by_id = {one["id"]: one for one in found}
    one = by_id[first]
    facts = (one["state"], one["userId"], one["workspaceId"], one["projectId"])
    assert facts == ("QUEUED", 1, 1, 1)
    assert one["name"] == "python3 go.py"
    assert (one["slots"], one["resourcePool"], one["canPause"], one["endTime"]) == (
        0,
        "default",
        True,
        None,
    )
    assert (by_id[second]["parentId"], by_id[second]["canPause"]) == (first, False)
    assert (by_id[fork]["forkedFrom"], by_id[fork]["parentId"]) == (first, "")
    assert len((await ok(admin, "GET", f"{LIST}?limit=1"))["tasks"]) == 1


async def test_a_paused_task_shows_that_state(world: World) -> None:
    admin = world.clients["admin"]
    task = await create(admin)
    await done(admin, task, "pause")
    (one,) = (await ok(admin, "GET", LIST))["tasks"]
    assert one["state"] in ("PAUSED", "STOPPING_PAUSED")


async def test_a_tree_has_all_tasks_above_and_below(world: World) -> None:
    admin = world.clients["admin"]
    root = await create(admin)
    child = await create(admin, parentId=root)
    leaf = await create(admin, parentId=child)
    await create(admin)
    for task in (root, child, leaf):
        found = (await ok(admin, "GET", f"/api/ui/v1/tasks/{task}/tree"))["tasks"]
        assert [one["id"] for one in found] == [root, child, leaf]


@pytest.mark.parametrize("limit", ["-1", "10001"])
async def test_a_limit_out_of_bounds_is_refused(world: World, limit: str) -> None:
    answer = await world.clients["admin"]("GET", f"{LIST}?limit={limit}")
    assert (answer.status, f"limit is {limit}" in answer.text) == (400, True)


async def test_a_task_that_is_no_generic_one_has_no_tree(world: World) -> None:
    answer = await world.clients["admin"]("GET", "/api/ui/v1/tasks/nothing/tree")
    assert answer.status == 404


async def test_with_roles_tasks_of_hidden_workspaces_are_left_out(
    postgres: Address, passwords: Passwords
) -> None:
    async with hidden_world(postgres, passwords) as world:
        admin, user = world.clients["admin"], world.clients["user"]
        (task,) = [one["id"] for one in (await ok(admin, "GET", LIST))["tasks"]]
        assert (await ok(user, "GET", LIST))["tasks"] == []
        assert (await user("GET", f"/api/ui/v1/tasks/{task}/tree")).status == 404
        await give(world, VIEWER, int(world.names["workspace"]))
        assert [one["id"] for one in (await ok(user, "GET", LIST))["tasks"]] == [task]
        tree = (await ok(user, "GET", f"/api/ui/v1/tasks/{task}/tree"))["tasks"]
        assert [one["id"] for one in tree] == [task]

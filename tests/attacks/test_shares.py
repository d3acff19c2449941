"""A user enters a notebook or a shell that is not shared with them. No roles decide."""

from __future__ import annotations

import contextlib

import pytest
from tests.api.cases_interactive import launched
from tests.api.samples import World

from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import NotFound
from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.services.access.identities import Identities
from determined_master.services.tasks import shares
from determined_master.services.tasks.proxies import ServiceTarget
from determined_master.services.tasks.service_access import ServiceAccess
from determined_master.store.db import Database

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def caller_of(world: World, who: str) -> Caller:
    caller = await world.services[Identities].authenticate(world.clients[who].token)
    assert caller is not None
    return caller


async def enters(world: World, who: str, shell_id: str) -> bool:
    """Whether the proxy lets a user into a shell."""
    target = ServiceTarget(
        service_id=shell_id,
        allocation_id=f"{shell_id}.1",
        task_id=shell_id,
        port=ProxyPort(22, is_tcp=True),
        host="127.0.0.1",
        host_port=22,
        agent_id="a1",
        container_id="c",
        is_trial=False,
        has_own_token=False,
        is_only_shown=False,
        has_ssh_keys=True,
    )
    rules = world.services[ServiceAccess]
    with contextlib.suppress(NotFound):
        await rules.check(target, await caller_of(world, who))
        return True
    return False


async def key_of(world: World, who: str, shell_id: str) -> str:
    answer = await world.clients[who]("GET", f"/api/v1/shells/{shell_id}")
    return str(answer.json()["shell"]["privateKey"])


async def test_a_shell_is_entered_by_its_owner_admins_and_those_it_is_shared_with(
    world: World,
) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    name = (await caller_of(world, "user")).username
    shell = (await launched(world, "shell"))["id"]
    path = f"/api/v1/tasks/{shell}/shares"
    assert await enters(world, "admin", shell)
    assert not await enters(world, "user", shell)
    assert await key_of(world, "user", shell) == ""
    assert (await user("POST", path, {"users": [name]})).status == 403, "not by themselves"
    for _ in range(2):  # again changes nothing
        answer = await admin("POST", path, {"users": [name]})
        assert [s["username"] for s in answer.json()["shares"]] == [name]
    assert await enters(world, "user", shell)
    assert "PRIVATE KEY" in await key_of(world, "user", shell)
    assert (await admin("POST", f"{path}/revoke", {"users": [name]})).json()["shares"] == []
    assert not await enters(world, "user", shell)
    assert await key_of(world, "user", shell) == ""


async def test_a_group_lets_its_members_in_as_long_as_they_are_in_it(world: World) -> None:
    admin = world.clients["admin"]
    caller = await caller_of(world, "user")
    made = await admin(
        "POST", "/api/v1/groups", {"name": "lab-shares", "addUsers": [caller.user_id]}
    )
    group_id = made.json()["group"]["groupId"]
    shell = (await launched(world, "shell"))["id"]
    shared = await admin("POST", f"/api/v1/tasks/{shell}/shares", {"groups": ["lab-shares"]})
    assert [s["group"] for s in shared.json()["shares"]] == ["lab-shares"]
    assert await enters(world, "user", shell)
    await admin("PUT", f"/api/v1/groups/{group_id}", {"removeUsers": [caller.user_id]})
    assert not await enters(world, "user", shell)


async def test_a_share_is_an_act_of_its_owner(world: World, pool: Database) -> None:
    admin = world.clients["admin"]
    name = (await caller_of(world, "user")).username
    notebook = (await launched(world, "notebook"))["id"]
    path = f"/api/v1/tasks/{notebook}/shares"
    await admin("POST", path, {"users": [name]})
    await admin("POST", f"{path}/revoke", {"users": [name]})
    async with world.services[shares.TaskShares]._db.acquire() as conn:
        acts = await conn.fetch(
            "SELECT operation FROM user_acts WHERE path LIKE $1", f"%{notebook}%"
        )
    assert [act["operation"] for act in acts] == ["share_task", "revoke_task_shares"]


@pytest.mark.parametrize(
    ("kind", "names", "status", "text"),
    [
        ("notebook", {"users": ["nobody-knows"]}, 404, "user 'nobody-knows' not found"),
        ("notebook", {"groups": ["no-group"]}, 404, "group 'no-group' not found"),
        ("notebook", {}, 400, "name at least one user or group"),
        ("notebook", {"users": ["u"] * 101}, 400, "at most 100 users and groups"),
        ("command", {"users": ["x"]}, 400, "only notebooks and shells are shared"),
    ],
)
async def test_a_mistake_is_named(
    world: World, kind: str, names: dict[str, list[str]], status: int, text: str
) -> None:
    task = (await launched(world, kind))["id"]
    answer = await world.clients["admin"]("POST", f"/api/v1/tasks/{task}/shares", names)
    assert (answer.status, text in answer.text) == (status, True), answer.text

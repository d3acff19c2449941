"""Commands, notebooks and shells over the API: launch, lists, states, priority, end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.cases_interactive import CONFIG, launched
from tests.api.client import Answer, Client
from tests.api.configs.test_policies import of, set_policies
from tests.api.samples import World
from tests.api.scenes import run
from tests.api.shared_world import shared_world
from tests.api.workspaces.test_projects import workspace
from tests.covers import covers

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.store.db import Address

KINDS = ("command", "notebook", "shell")
PREFIX = "failed to prepare launch params: "


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with shared_world(postgres, passwords) as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return world.clients["admin"]


async def launch(client: Client, kind: str = "command", **body: Any) -> Answer:
    return await client("POST", f"/api/v1/{kind}s", {"config": CONFIG, **body})


async def refused(client: Client, status: int = 400, kind: str = "command", **body: Any) -> str:
    answer = await launch(client, kind, **body)
    assert answer.status == status, answer.body
    return answer.text


async def get(client: Client, task_id: str, kind: str = "command") -> dict[str, Any]:
    answer = await client("GET", f"/api/v1/{kind}s/{task_id}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()[kind]
    return found


async def reaches(client: Client, task_id: str, state: str, kind: str = "command") -> Any:
    """The task, once it is in that state."""
    return await scene.until(
        client,
        f"/api/v1/{kind}s/{task_id}",
        lambda got: got[kind] if got[kind]["state"] == f"STATE_{state}" else None,
    )


async def listed(client: Client, query: str = "", kind: str = "command") -> list[str]:
    answer = await client("GET", f"/api/v1/{kind}s?{query}")
    assert answer.status == 200, answer.body
    return [task["id"] for task in answer.json()[f"{kind}s"]]


async def job_of(client: Client, task_id: str) -> Any:
    """Its place in the queue, once it has one."""
    return await scene.until(
        client,
        "/api/v1/job-queues?limit=1000",
        lambda got: next((j for j in got["jobs"] if j["entityId"] == task_id), None),
    )


async def end(world: World, task_id: str, exit_code: int = 0) -> None:
    """Let it run and leave."""
    names = await run(world, f"{task_id}.1")
    await scene.container(world, names, "TERMINATED", exit_code=exit_code)
    await reaches(world.clients["admin"], task_id, "TERMINATED")


async def query(world: World, text: str, *values: Any) -> Any:
    async with world.services[Users]._db.acquire() as conn:
        return await conn.fetchval(text, *values)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_task_has_its_allocation_when_its_launch_is_answered(client, kind) -> None:
    """Scripts of 0.38.1 index it."""
    for _ in range(5):
        task_id = (await launch(client, kind)).json()[kind]["id"]
        task = (await client("GET", f"/api/v1/tasks/{task_id}")).json()["task"]
        assert [a["allocationId"] for a in task["allocations"]] == [f"{task_id}.1"]


@covers("experiment-config 22.command")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (0, "allocation exited successfully"),
        (
            3,
            "resources failed with non-zero exit code: container failed with non-zero exit code: "
            "3 (exit code 3)",
        ),
    ],
)
async def test_a_command_runs_once_and_ends_with_its_program(
    world: World, client: Client, code: int, status: str
) -> None:
    task = await launched(world, "command")
    assert (task["state"], task["exitStatus"], task["container"]) == ("STATE_QUEUED", "", None)
    names = await run(world, f"{task['id']}.1")
    running = await reaches(client, task["id"], "RUNNING")
    assert running["container"]["parent"] == "/agents/a1"
    assert running["container"]["id"] == names["container_id"]
    await scene.container(world, names, "TERMINATED", exit_code=code)
    over = await reaches(client, task["id"], "TERMINATED")
    assert (over["exitStatus"], over["container"]) == (status, None)
    answer = await client("GET", f"/api/v1/tasks/{task['id']}")
    assert [a["allocationId"] for a in answer.json()["task"]["allocations"]] == [f"{task['id']}.1"]
    assert "endTime" in answer.json()["task"]


@covers("scheduling-and-provisioning a.4.interactive b.5.single_types")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_task_keeps_its_slots_on_one_agent(
    world: World, client: Client, kind: str
) -> None:
    task = await launched(world, kind, config={"entrypoint": ["x"]})
    await run(world, f"{task['id']}.1")
    request = (await world.engine.read(ALLOCATION, f"{task['id']}.1")).request
    assert (request.is_preemptible, request.is_single_node, request.slots) == (False, True, 1)
    assert (request.task_type, request.name) == (kind.upper(), task["description"])


async def test_its_container_gets_the_users_command_variables_and_directory(
    world: World, client: Client
) -> None:
    config = {**CONFIG, "work_dir": "/tmp/of/$DET_USER", "debug": True,
              "environment": {"environment_variables": ["A=1"]}}  # fmt: skip
    task = await launched(world, "command", config=config)
    await run(world, f"{task['id']}.1")

    async def ordered() -> list[Any]:
        return [o for o in world.orders() if o.spec.task_id == task["id"]]

    await scene.until_true(ordered, bool, [])
    [order] = await ordered()
    spec = order.spec
    assert spec.entrypoint[-4:] == ("command", "sh", "-c", "sleep 100")
    assert spec.work_dir == spec.environment["DET_WORKDIR"] == "/tmp/of/admin"
    assert (spec.environment["A"], spec.environment["DET_DEBUG"]) == ("1", "true")
    assert (spec.environment["DET_TASK_TYPE"], spec.task_type) == ("COMMAND", "COMMAND")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_kill_ends_a_waiting_task_and_one_that_runs(
    world: World, client: Client, kind: str
) -> None:
    waits, runs = await launched(world, kind), await launched(world, kind)
    names = await run(world, f"{runs['id']}.1")
    for task in (waits, runs):
        answer = await client("POST", f"/api/v1/{kind}s/{task['id']}/kill", {})
        assert (answer.status, answer.json()[kind]["id"]) == (200, task["id"])
    assert (
        "user requested kill"
        in (await reaches(client, waits["id"], "TERMINATED", kind))["exitStatus"]
    )
    await scene.container(world, names, "TERMINATED", exit_code=137)
    over = await reaches(client, runs["id"], "TERMINATED", kind)
    assert over["exitStatus"].endswith("(reason: user requested kill)")
    again = await client("POST", f"/api/v1/{kind}s/{runs['id']}/kill", {})
    assert (again.status, again.json()[kind]["exitStatus"]) == (200, over["exitStatus"])
    assert (await client("POST", f"/api/v1/{kind}s/nope/kill", {})).status == 404


async def test_a_task_is_known_only_as_what_it_is(world: World, client: Client) -> None:
    task = await launched(world, "command")
    for kind in ("notebook", "shell", "tensorboard"):
        answer = await client("GET", f"/api/v1/{kind}s/{task['id']}")
        assert (answer.status, answer.text) == (404, f"{kind} '{task['id']}' not found")


async def test_any_task_is_killed_and_configured_by_its_id(world: World, client: Client) -> None:
    task = await launched(world, "shell")
    answer = await client("GET", f"/api/v1/tasks/{task['id']}/config")
    assert json.loads(answer.json()["config"])["resources"]["slots"] == 0
    assert (await client("POST", f"/api/v1/tasks/{task['id']}/kill", {})).json() == {}
    await reaches(client, task["id"], "TERMINATED", "shell")


async def test_its_tokens_end_with_it(world: World, client: Client) -> None:
    task = await launched(world, "command")
    alive = """
        SELECT count(*) FROM user_sessions s JOIN allocations a ON a.session_id = s.id
         WHERE a.task_id = $1 AND s.revoked_at IS NULL
    """
    names = await run(world, f"{task['id']}.1")
    assert await query(world, alive, task["id"]) == 1
    await scene.container(world, names, "TERMINATED", exit_code=0)
    await reaches(client, task["id"], "TERMINATED")
    assert await query(world, alive, task["id"]) == 0


async def test_a_list_shows_what_is_asked_for_in_its_order(world: World, client: Client) -> None:
    here, there = await workspace(client, "lists"), await workspace(client, "other lists")
    named = [
        (await launched(world, "command", config={**CONFIG, "description": name},
                        workspaceId=here))["id"]
        for name in ("b", "a")
    ]  # fmt: skip
    other = (await launch(world.clients["user"], workspaceId=here)).json()["command"]["id"]
    away = (await launched(world, "command", workspaceId=there))["id"]
    every = f"workspaceId={here}"
    assert await listed(client, every) == sorted([*named, other])
    assert await listed(client, f"{every}&sortBy=SORT_BY_START_TIME") == [*named, other]
    by_text = await listed(client, f"{every}&sortBy=SORT_BY_DESCRIPTION&users=admin")
    assert by_text == named[::-1]
    last_first = f"{every}&sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC"
    assert await listed(client, last_first) == [other, *named[::-1]]
    assert await listed(client, f"{last_first}&limit=1&offset=1") == [named[1]]
    assert await listed(client, f"{every}&sortBy=SORT_BY_START_TIME&offset=-1") == [other]
    assert (await listed(client, "sortBy=SORT_BY_WORKSPACE_ID"))[-1] == away
    assert await listed(client, "users=determined") == [other]
    assert await listed(client, f"{every}&userIds=1&sortBy=SORT_BY_START_TIME") == named
    assert await listed(client, "users=nobody") == []
    assert await listed(client, every, kind="shell") == []
    page = (await client("GET", f"/api/v1/commands?{every}&limit=2")).json()["pagination"]
    assert page == {"offset": 0, "limit": 2, "startIndex": 0, "endIndex": 2, "total": 3}


async def test_a_task_is_listed_for_a_day_after_its_end(world: World, client: Client) -> None:
    fresh, old = (await launched(world, "command"))["id"], (await launched(world, "command"))["id"]
    for task_id in (fresh, old):
        await end(world, task_id)
    shift = "UPDATE tasks SET ended_at = now() - $2::text::interval WHERE id = $1"
    await query(world, shift, fresh, "23 hours 59 minutes")
    await query(world, shift, old, "24 hours 1 minute")
    assert {fresh, old} & set(await listed(client)) == {fresh}
    assert (await get(client, old))["state"] == "STATE_TERMINATED"


async def test_a_priority_is_set_while_it_waits_or_runs(world: World, client: Client) -> None:
    task_id = (await launched(world, "command"))["id"]
    path = f"/api/v1/commands/{task_id}/set_priority"
    assert (await client("POST", path, {"priority": 0})).text.startswith("priority must be betwe")
    await job_of(client, task_id)
    assert (await client("POST", path, {"priority": 7})).status == 200
    job = await job_of(client, task_id)
    assert (job["priority"], job["type"]) == (7, "TYPE_COMMAND")
    config = (await client("GET", f"/api/v1/commands/{task_id}")).json()["config"]
    assert config["resources"]["priority"] == 7
    await end(world, task_id)
    assert (await client("POST", path, {"priority": 8})).status == 200


async def test_the_place_of_a_job_in_the_queue_is_shown(world: World, client: Client) -> None:
    task_id = (await launched(world, "command"))["id"]
    job = await job_of(client, task_id)
    assert (job["name"], job["isPreemptible"]) == (
        (await get(client, task_id))["description"],
        False,
    )
    body = {"updates": [{"jobId": job["jobId"], "priority": 9}]}
    assert (await client("POST", "/api/v1/job-queues", body)).status == 200
    config = (await client("GET", f"/api/v1/commands/{task_id}")).json()["config"]
    assert config["resources"]["priority"] == 9


async def test_the_reason_why_a_task_waits_is_shown(world: World, client: Client) -> None:
    task_id = (await launched(world, "command"))["id"]
    job_id = (await get(client, task_id))["jobId"]
    for name in (job_id, task_id, f"{task_id}.1"):
        why = await scene.until(
            client,
            f"/api/v1/job-queues/{name}/why",
            lambda got: got["state"] == "QUEUED" and got["text"] and got,
        )
        assert why["jobId"] == job_id


async def test_a_template_lies_below_what_its_user_says(world: World, client: Client) -> None:
    body = {"config": {"description": "from below", "debug": True}, "workspaceId": 1}
    assert (await client("POST", "/api/v1/templates/quiet", body)).status == 200
    config = {**CONFIG, "debug": False}
    answer = await launch(client, config=config, templateName="quiet")
    assert answer.json()["command"]["description"] == "from below"
    assert answer.json()["config"]["debug"] is False
    missing = await refused(client, 404, templateName="loud")
    assert missing == f"{PREFIX}template 'loud' not found"


@covers("experiment-config 22.limits")
async def test_policies_bound_what_a_task_asks_for(world: World, client: Client) -> None:
    space = await workspace(client, "bounded")
    rules = "constraints: {priority_limit: 50, resources: {max_slots: 0}}"
    await set_policies(client, rules, of(space, "NTSC"))
    said = await refused(client, workspaceId=space, config={"entrypoint": ["x"]})
    assert said.startswith(f"{PREFIX}failed constraint check: ")
    assert "resources.slots 1 exceeds the limit of 0" in said
    low = {**CONFIG, "resources": {"slots": 0, "priority": 60}}
    answer = await launch(client, workspaceId=space, config=low)
    assert answer.status == 200, answer.body
    task_id = answer.json()["command"]["id"]
    change = await client("POST", f"/api/v1/commands/{task_id}/set_priority", {"priority": 40})
    assert (change.status, "limit of 50" in change.text) == (400, True)
    assert (await launch(client, config={"entrypoint": ["x"]})).status == 200


async def test_a_task_that_cannot_start_is_refused_with_every_reason(
    world: World, client: Client
) -> None:
    said = await refused(client, config={"resources": {"slots": -1, "pool": "x"}, "bogus": 1})
    assert said.startswith(f"{PREFIX}invalid command configuration: ")
    for part in ("slots: must be >= 0", '"bogus" not allowed'):
        assert part in said
    said = await refused(client, config={"entrypoint": ["x"], "resources": {"slots": 9}})
    assert said.startswith(PREFIX)
    assert "resources.slots is 9" in said
    missing = await refused(client, 404, workspaceId=99)
    assert missing == f"{PREFIX}workspace '99' not found"
    both = {**CONFIG, "work_dir": "/x"}
    assert "work_dir: cannot be set together" in await refused(
        client, config=both, files=[scene.FILE]
    )


async def test_tasks_end_with_their_workspace(world: World, client: Client) -> None:
    space = await workspace(client, "short-lived")
    inside, outside = [
        (await launch(client, workspaceId=w)).json()["command"]["id"] for w in (space, 1)
    ]
    assert (await client("DELETE", f"/api/v1/workspaces/{space}")).json() == {"completed": True}
    over = await reaches(client, inside, "TERMINATED")
    assert f"workspace {space} is deleted" in over["exitStatus"]
    shown = (await client("GET", "/api/v1/commands")).json()["commands"]
    assert (inside in [c["id"] for c in shown], outside in [c["id"] for c in shown]) == (
        False,
        True,
    )
    gone = await client("GET", f"/api/v1/commands?workspaceId={space}")
    assert (gone.status, gone.text) == (404, f"workspace '{space}' not found")
    assert (await get(client, outside))["state"] == "STATE_QUEUED"


async def test_an_archived_workspace_takes_no_tasks(world: World, client: Client) -> None:
    space = await workspace(client, "closed")
    assert (await client("POST", f"/api/v1/workspaces/{space}/archive", {})).status == 200
    assert "is archived" in await refused(client, 404, workspaceId=space)


async def test_a_task_starts_in_the_directory_that_is_sent(world: World, client: Client) -> None:
    task_id = (await launched(world, "command", files=[scene.FILE]))["id"]
    answer = await client("GET", f"/api/v1/tasks/{task_id}/context_directory")
    assert answer.json()["b64Tgz"]
    from determined_master.store.experiments.experiments import delete_orphaned_models

    async with world.services[Users]._db.acquire() as conn:
        assert await delete_orphaned_models(conn, limit=100) == 0


async def test_secrets_in_a_config_are_masked(world: World, client: Client) -> None:
    auth = {"registry_auth": {"username": "u", "password": "p", "serveraddress": "r"}}
    answer = await launch(client, config={**CONFIG, "environment": auth})
    assert answer.json()["config"]["environment"]["registry_auth"]["password"] == "********"
    assert b'"p"' not in answer.body


async def test_active_tasks_are_counted_by_kind(world: World, client: Client) -> None:
    for kind in (*KINDS, "command"):
        await launched(world, kind)

    async def open_tasks() -> dict[str, int]:
        found = {"tensorboards": 0}
        for kind in KINDS:
            tasks = (await client("GET", f"/api/v1/{kind}s")).json()[f"{kind}s"]
            found[f"{kind}s"] = sum(task["state"] != "STATE_TERMINATED" for task in tasks)
        return found

    wanted = await open_tasks()
    assert wanted["commands"] > 1
    await scene.until(client, "/api/v1/tasks/count", lambda got: got == wanted)

"""Generic tasks over the API: what may be asked, and how a tree of them is steered."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.samples import World
from tests.api.scenes import run
from tests.api.workspaces.test_projects import project, workspace
from tests.covers import covers

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.services.access.users import Users

TASKS = "/api/v1/generic-tasks"
QUEUES = "/api/v1/job-queues"
CONFIG = "entrypoint: [python3, go.py]\nresources: {slots: 0}\n"


@pytest.fixture
def client(world: World) -> Client:
    return world.clients["admin"]


async def create(client: Client, config: str = CONFIG, **more: Any) -> str:
    answer = await client("POST", TASKS, {"config": config, **more})
    assert answer.status == 200, answer.body
    return str(answer.json()["taskId"])


async def refused(client: Client, status: int = 400, **body: Any) -> str:
    answer = await client("POST", TASKS, body)
    assert answer.status == status, answer.body
    return answer.text


async def act(client: Client, task_id: str, action: str, **body: Any) -> Answer:
    return await client("POST", f"/api/v1/tasks/{task_id}/{action}", body)


async def done(client: Client, task_id: str, action: str, **body: Any) -> None:
    answer = await act(client, task_id, action, **body)
    assert (answer.status, answer.json()) == (200, {})


async def get(client: Client, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client("GET", f"/api/v1/tasks/{task_id}")).json()["task"]
    return found


async def reaches(client: Client, task_id: str, state: str) -> dict[str, Any]:
    """The task, once it is in that state."""
    name = f"GENERIC_TASK_STATE_{state}"
    found: dict[str, Any] = await scene.until(
        client,
        f"/api/v1/tasks/{task_id}",
        lambda got: got["task"] if got["task"]["taskState"] == name else None,
    )
    return found


async def leaves(world: World, names: dict[str, str], exit_code: int) -> None:
    """Its container is over."""
    await scene.container(world, names, "TERMINATED", exit_code=exit_code)


async def context_of(client: Client, task_id: str) -> list[str]:
    """Names of the files that it starts with."""
    answer = await client("GET", f"/api/v1/tasks/{task_id}/context_directory")
    packed = base64.b64decode(answer.json()["b64Tgz"])
    if not packed:
        return []
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return archive.getnames()


async def config_of(client: Client, task_id: str) -> Any:
    answer = await client("GET", f"/api/v1/tasks/{task_id}/config")
    return json.loads(answer.json()["config"])


async def test_a_task_runs_once_and_ends_with_its_program(world, client) -> None:
    for code, state in ((0, "COMPLETED"), (3, "ERROR")):
        task_id = await create(client)
        task = await get(client, task_id)
        assert (task["taskType"], task["taskState"]) == (
            "TASK_TYPE_GENERIC",
            "GENERIC_TASK_STATE_ACTIVE",
        )
        await leaves(world, await run(world, f"{task_id}.1"), code)
        over = await reaches(client, task_id, state)
        assert "endTime" in over
        assert [a["allocationId"] for a in over["allocations"]] == [f"{task_id}.1"]


async def test_its_container_gets_the_users_command_variables_and_directory(world, client) -> None:
    config = CONFIG + "work_dir: /tmp/of/$DET_USER\nenvironment: {environment_variables: [A=1]}\n"
    task_id = await create(client, config + "debug: true\n")
    await run(world, f"{task_id}.1")
    found: list[Any] = []

    async def ordered() -> list[Any]:
        return [o for o in world.orders() if o.spec.task_id == task_id]

    await scene.until_true(ordered, bool, found)
    [order] = found
    spec = order.spec
    assert spec.entrypoint[-3:] == ("command", "python3", "go.py")
    assert spec.work_dir == spec.environment["DET_WORKDIR"] == "/tmp/of/admin"
    assert (spec.environment["A"], spec.environment["DET_DEBUG"]) == ("1", "true")
    assert (spec.environment["DET_TASK_TYPE"], spec.task_type) == ("GENERIC", "GENERIC")
    assert spec.description == "generic-task"
    assert spec.image


async def test_a_task_has_its_allocation_when_its_creation_is_answered(client: Client) -> None:
    """Scripts of 0.38.1 index it."""
    for _ in range(20):
        task_id = await create(client)
        [allocation] = (await get(client, task_id))["allocations"]
        assert allocation["allocationId"] == f"{task_id}.1"


@covers("experiment-config 23.requests")
async def test_a_task_is_paused_and_continues_as_the_same_task(world, client) -> None:
    task_id = await create(client)
    names = await run(world, f"{task_id}.1")
    await done(client, task_id, "pause")
    await done(client, task_id, "pause")
    await reaches(client, task_id, "STOPPING_PAUSED")
    too_early = await act(client, task_id, "unpause")
    assert (too_early.status, "not in paused state" in too_early.text) == (400, True)
    await leaves(world, names, 137)
    await reaches(client, task_id, "PAUSED")
    await done(client, task_id, "unpause")
    assert [a["allocationId"][-2:] for a in (await get(client, task_id))["allocations"]] == [
        ".2",
        ".1",
    ]
    second = await run(world, f"{task_id}.2")
    state = await world.engine.read(ALLOCATION, f"{task_id}.2")
    assert state.request.is_preemptible is True
    first = await world.engine.read(ALLOCATION, f"{task_id}.1")
    assert first.request.is_preemptible is False
    await leaves(world, second, 0)
    over = await reaches(client, task_id, "COMPLETED")
    assert [a["allocationId"][-2:] for a in over["allocations"]] == [".2", ".1"]
    for action in ("pause", "unpause"):
        answer = await act(client, task_id, action)
        assert (answer.status, "COMPLETED" in answer.text) == (400, True)
    await done(client, task_id, "kill")


@covers("experiment-config 23.requests")
async def test_a_task_may_be_made_so_that_it_is_not_paused(world, client) -> None:
    task_id = await create(client, noPause=True)
    answer = await act(client, task_id, "pause")
    assert (answer.status, "no_pause" in answer.text) == (400, True)
    assert (await get(client, task_id))["noPause"] is True


@covers("experiment-config 23.requests")
async def test_pauses_and_kills_reach_the_tasks_below(world, client) -> None:
    root = await create(client)
    below = await create(client, parentId=root, noPause=False)
    deeper = await create(client, parentId=below, noPause=False)
    unasked = await create(client, parentId=root)
    held = {i: await run(world, f"{i}.1") for i in (root, below, deeper, unasked)}
    assert (await get(client, below))["parentId"] == root
    await done(client, root, "pause")
    for task_id in (root, below, deeper):
        await reaches(client, task_id, "STOPPING_PAUSED")
        await leaves(world, held[task_id], 137)
        await reaches(client, task_id, "PAUSED")
    assert (await get(client, unasked))["taskState"].endswith("_ACTIVE")
    await done(client, root, "unpause")
    for task_id in (root, below, deeper):
        await reaches(client, task_id, "ACTIVE")
    await done(client, below, "kill")
    for task_id in (below, deeper):
        await reaches(client, task_id, "CANCELED")
    assert (await get(client, root))["taskState"].endswith("_ACTIVE")
    await done(client, unasked, "kill", killFromRoot=True)
    await reaches(client, unasked, "STOPPING_CANCELED")
    await reaches(client, root, "CANCELED")


@covers("experiment-config 23.requests")
async def test_a_fork_starts_as_the_task_was_but_for_what_it_says(world, client) -> None:
    first = await create(client, CONFIG + "work_dir: null\ndebug: true\n",
                         contextDirectory=[scene.FILE])  # fmt: skip
    assert await context_of(client, first) == ["train.py"]
    same = await create(client, "", forkedFrom=first)
    assert (await get(client, same))["forkedFrom"] == first
    assert await config_of(client, same) == await config_of(client, first)
    assert await context_of(client, same) == ["train.py"]
    other = await create(client, "resources: {weight: 2}", forkedFrom=first)
    config = await config_of(client, other)
    assert config["resources"] == {"weight": 2}  # a top-level key is replaced as a whole
    assert config["entrypoint"] == ["python3", "go.py"]
    own = {**scene.FILE, "path": "own.py"}
    assert await context_of(
        client, await create(client, "", forkedFrom=first, contextDirectory=[own])
    ) == ["own.py"]


@covers("experiment-config 23.requests")
async def test_a_task_may_start_in_the_directory_of_its_parent(world, client) -> None:
    parent = await create(client, contextDirectory=[scene.FILE])
    child = await create(client, parentId=parent, inheritContext=True)
    alone = await create(client, parentId=parent)
    assert await context_of(client, child) == ["train.py"]
    assert await context_of(client, alone) == []
    said = await refused(client, config=CONFIG, inheritContext=True)
    assert "inherit_context needs a parent" in said
    both = {"parentId": parent, "inheritContext": True, "contextDirectory": [scene.FILE]}
    assert "exclude each other" in await refused(client, config=CONFIG, **both)


async def test_a_directory_is_kept_while_a_task_has_it(world, client) -> None:
    from determined_master.store.experiments.experiments import delete_orphaned_models

    task_id = await create(client, contextDirectory=[scene.FILE])
    async with world.services[Users]._db.acquire() as conn:
        assert await delete_orphaned_models(conn, limit=100) == 0
    assert await context_of(client, task_id) == ["train.py"]


@covers("experiment-config 23.requests")
async def test_a_task_that_cannot_start_is_refused_with_every_reason(world, client) -> None:
    assert "has no config" in await refused(client)
    said = await refused(client, config="resources: {slots: -1, pool: x}\nsurprise: 1")
    assert said.startswith("invalid generic task config: Check Failed! 4 errors found:")
    assert "<config>.entrypoint: is missing" in said
    assert "<config>.resources.slots: must be >= 0" in said
    assert 'additionalProperties "surprise" not allowed' in said
    many = CONFIG.replace("0", "9")
    assert "resources.slots is 9 with is_single_node" in await refused(client, config=many)
    spread = CONFIG.replace("slots: 0", "slots: 9, is_single_node: false")
    said = await refused(client, config=spread)
    assert "resources.slots is 9, pool default has 1 slots" in said
    for field in ("forkedFrom", "parentId"):
        body = {"config": CONFIG, field: "nope"}
        assert "task 'nope' not found" in await refused(client, 404, **body)
    assert "project '99' not found" in await refused(client, 404, config=CONFIG, projectId=99)
    work_dir = CONFIG + "work_dir: /x\n"
    said = await refused(client, config=work_dir, contextDirectory=[scene.FILE])
    assert "work_dir: cannot be set together with a directory" in said


async def test_only_generic_tasks_are_paused(world, client) -> None:
    await scene.running(world)
    for action in ("pause", "unpause"):
        answer = await act(client, world.names["task_id"], action)
        assert (answer.status, "no generic task" in answer.text) == (404, True)
        assert (await act(client, "nope", action)).status == 404


async def test_a_generic_task_is_seen_in_the_queue_of_its_pool(world, client) -> None:
    task_id = await create(client, CONFIG + "debug: false\n")
    [job] = await scene.until(
        client, "/api/v1/job-queues?resourcePool=default", lambda got: got["jobs"]
    )
    assert (job["type"], job["entityId"]) == ("TYPE_GENERIC", task_id)
    assert job["requestedSlots"] == 0


@pytest.mark.parametrize("what", ["project", "workspace"])
async def test_tasks_end_with_their_project_or_workspace(client, what: str) -> None:
    space = await workspace(client, "short-lived")
    there = await project(client, space)
    task_id, other = await create(client, projectId=there), await create(client)
    path = f"projects/{there}" if what == "project" else f"workspaces/{space}"
    assert (await client("DELETE", f"/api/v1/{path}")).json() == {"completed": True}
    await reaches(client, task_id, "CANCELED")
    assert (await get(client, other))["taskState"].endswith("_ACTIVE")


async def test_the_next_run_knows_what_its_job_was_given_in_the_queue(world, client) -> None:
    task_id = await create(client)
    names = await run(world, f"{task_id}.1")
    [job] = (await client("GET", "/api/v1/job-queues")).json()["jobs"]
    for change in ({"priority": 7}, {"weight": 2.5}):
        body = {"updates": [{"jobId": job["jobId"], **change}]}
        assert (await client("POST", "/api/v1/job-queues", body)).status == 200
    await done(client, task_id, "pause")
    await leaves(world, names, 137)
    await reaches(client, task_id, "PAUSED")
    await done(client, task_id, "unpause")
    await run(world, f"{task_id}.2")
    request = (await world.engine.read(ALLOCATION, f"{task_id}.2")).request
    assert (request.priority, request.weight) == (7, 2.5)


async def test_a_paused_task_keeps_its_place_and_is_given_another(world, client) -> None:
    first, second, third = [await create(client) for _ in range(3)]
    names = await run(world, f"{third}.1")
    queued = await scene.until(client, QUEUES, _queued(first, second, third))
    jobs = {j["entityId"]: j["jobId"] for j in queued}

    async def paused(names: dict[str, str]) -> None:
        await done(client, third, "pause")
        await leaves(world, names, 137)
        await reaches(client, third, "PAUSED")

    async def asked_again(run_id: int) -> tuple[int, list[str]]:
        """The priority of its next run, and the queue with it."""
        await done(client, third, "unpause")
        is_whole = _queued(third)
        found = await scene.until(client, QUEUES, is_whole)
        request = (await world.engine.read(ALLOCATION, f"{third}.{run_id}")).request
        return request.priority, [job["entityId"] for job in found]

    async def changed(**change: Any) -> None:
        body = {"updates": [{"jobId": jobs[third], **change}]}
        answer = await client("POST", QUEUES, body)
        assert answer.status == 200, answer.body

    await changed(aheadOf=jobs[second])
    await paused(names)
    assert await asked_again(2) == (42, [first, third, second])
    await paused(await run(world, f"{third}.2"))
    await changed(aheadOf=jobs[first])
    assert await asked_again(3) == (42, [third, first, second])
    await paused(await run(world, f"{third}.3"))
    await changed(priority=50)
    await changed(weight=3)
    assert await asked_again(4) == (50, [first, second, third])
    why = (await client("GET", f"{QUEUES}/{jobs[third]}/why")).json()
    assert why["waiting"] == 1


async def test_tasks_are_held_to_the_config_policies_of_tasks(world, client) -> None:
    space = await workspace(client, "bounded")
    there = await project(client, space)
    path = f"/api/v1/config-policies/workspaces/{space}/NTSC"
    policies = {"configPolicies": "constraints: {priority_limit: 40, resources: {max_slots: 1}}"}
    assert (await client("PUT", path, policies)).status == 200
    urgent = CONFIG.replace("slots: 0", "slots: 0, priority: 39")
    assert "exceeds the limit of 40" in await refused(client, config=urgent, projectId=there)
    task_id, free = await create(client, projectId=there), await create(client, urgent)
    queued = await scene.until(client, QUEUES, _queued(task_id, free))
    jobs = {j["entityId"]: j["jobId"] for j in queued}
    for change, status in (
        ({"priority": 39}, 400),
        ({"aheadOf": jobs[free]}, 400),
        ({"priority": 40}, 200),
        ({"weight": 3}, 200),
    ):
        body = {"updates": [{"jobId": jobs[task_id], **change}]}
        answer = await client("POST", QUEUES, body)
        assert answer.status == status, change
        if status != 200:
            assert "a config policy of workspace 'bounded' sets" in answer.text
    await done(client, task_id, "kill")
    await done(client, free, "kill")


async def test_a_paused_task_shows_its_reason_and_an_ended_one_is_no_job(world, client) -> None:
    task_id = await create(client)
    names = await run(world, f"{task_id}.1")
    [job] = (await client("GET", QUEUES)).json()["jobs"]
    await done(client, task_id, "pause")
    await leaves(world, names, 137)
    await reaches(client, task_id, "PAUSED")
    why = (await client("GET", f"{QUEUES}/{job['jobId']}/why")).json()
    assert why["text"] == f"task {task_id} is PAUSED: nothing of it waits or runs now"
    await done(client, task_id, "kill")
    await reaches(client, task_id, "CANCELED")
    body = {"updates": [{"jobId": job["jobId"], "priority": 3}]}
    answer = await client("POST", QUEUES, body)
    assert (answer.status, answer.text) == (404, f"job {job['jobId']} not found")


def _queued(*task_ids: str) -> Callable[[Any], Any]:
    def found(got: Any) -> Any:
        return got["jobs"] if {*task_ids} <= {j["entityId"] for j in got["jobs"]} else None

    return found


async def test_secrets_in_a_tasks_config_are_masked(world, client) -> None:
    auth = "environment: {registry_auth: {username: u, password: p, serveraddress: r}}\n"
    config = await config_of(client, await create(client, CONFIG + auth))
    assert config["environment"]["registry_auth"]["password"] == "********"

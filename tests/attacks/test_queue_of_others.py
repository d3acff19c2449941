"""N16: the queue and the counts of tasks show ids, places and numbers of hidden work."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.hidden import EDITOR, MARK, VIEWER, give, ok, take
from tests.api.samples import World
from tests.domain.builders import T0, agent, pending

from determined_master.domain.schedule.plan import Behind, Full, Plan
from determined_master.domain.schedule.view import PoolView
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loop import PoolDecision
from determined_master.services.queue.job_why import JobWhy

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

LISTS = ("/api/v1/job-queues", "/api/v1/job-queues-v2")
COUNT = "/api/v1/tasks/count"


async def facts(world: World, path: str) -> list[dict[str, Any]]:
    """The jobs as an admin sees them."""
    jobs = (await ok(world.clients["admin"], "GET", path))["jobs"]
    return [job.get("full", job) for job in jobs]


@pytest.mark.parametrize("path", LISTS)
async def test_the_queue_shows_no_id_and_no_workspace_of_a_hidden_job(
    hidden: World, path: str
) -> None:
    user = hidden.clients["user"]
    jobs = await facts(hidden, path)
    assert jobs
    shown = await ok(user, "GET", path)
    text = json.dumps(shown)
    for job in jobs:
        for key in ("jobId", "name", "username"):
            assert job[key] not in text or not job[key], key
    assert MARK not in text
    assert len(shown["jobs"]) >= len(jobs)  # the place of an own job needs them; others may come
    for number, (job, full) in enumerate(zip(shown["jobs"], jobs, strict=False)):
        part = job.get("limited", job)
        assert (part["jobId"], part["workspaceId"], part["progress"]) == ("", 0, 0)
        assert part["summary"]["jobsAhead"] == number
        assert part["requestedSlots"] == full["requestedSlots"]


async def test_a_role_shows_the_ids_again(hidden: World) -> None:
    user, workspace = hidden.clients["user"], int(hidden.names["workspace"])
    await give(hidden, VIEWER, workspace)
    shown = {job["jobId"] for job in (await ok(user, "GET", LISTS[0]))["jobs"]}
    await take(hidden, VIEWER, workspace)
    assert shown & {job["jobId"] for job in await facts(hidden, LISTS[0])}


async def test_counts_of_tasks_leave_out_hidden_ones(hidden: World) -> None:
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    assert sum((await ok(admin, "GET", COUNT)).values()) > 0
    assert sum((await ok(user, "GET", COUNT)).values()) == 0
    workspace = int(hidden.names["workspace"])
    await give(hidden, VIEWER, workspace)
    assert sum((await ok(user, "GET", COUNT)).values()) > 0
    await take(hidden, VIEWER, workspace)


async def test_an_empty_id_changes_no_hidden_job(hidden: World) -> None:
    user = hidden.clients["user"]
    await give(hidden, EDITOR, 1)
    for update in ({"jobId": "", "priority": 1}, {"jobId": "", "aheadOf": ""}):
        answer = await user("POST", LISTS[0], {"updates": [update]})
        assert answer.status in (400, 404), answer.body
    assert (await user("GET", f"{LISTS[0]}//why")).status == 404
    await take(hidden, EDITOR, 1)


async def live_of(world: World, task_id: str) -> Any:
    """The one allocation of a task, once it waits."""
    live = world.services[LiveAllocations]

    async def allocations() -> Any:
        return live.of_task(task_id)

    await scene.until_true(allocations, bool, [])
    [one] = live.of_task(task_id)
    return one


async def test_the_reason_of_a_wait_names_no_hidden_request(
    hidden: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's task waits behind one of another user, in a workspace that the user never sees."""
    user, workspace = hidden.clients["user"], int(hidden.names["workspace"])
    await give(hidden, EDITOR, 1)
    body = {"config": "entrypoint: [x]\n", "projectId": 1}
    own_task = (await ok(user, "POST", "/api/v1/generic-tasks", body))["taskId"]
    own = await live_of(hidden, own_task)
    other = await live_of(hidden, hidden.names["generic"])
    requests = (pending(other.id, slots=8, priority=1), pending(own.id, slots=4))
    view = PoolView("default", (agent("a1"),), requests, now=T0)
    plan = Plan(waits=(Full(other.id), Behind(own.id, other.id)))
    decision = PoolDecision(view, plan)
    job_why = hidden.services[JobWhy]
    monkeypatch.setattr(job_why, "_decision", lambda pool: decision)
    path = f"{LISTS[0]}/{own_task}/why"
    shown = await ok(user, "GET", path)
    assert "behind more urgent requests" in shown["text"]
    for id in (other.id, other.request.task_id, other.request.job_id):
        assert id not in json.dumps(shown)
    assert other.id not in str(await job_why.explain(decision, own.id)), "it goes to the log"
    assert (
        f"of which {other.id} is next" in (await ok(hidden.clients["admin"], "GET", path))["text"]
    )
    await give(hidden, VIEWER, workspace)
    assert f"of which {other.id} is next" in (await ok(user, "GET", path))["text"]
    await take(hidden, VIEWER, workspace)
    await take(hidden, EDITOR, 1)


async def test_without_roles_everybody_sees_every_job(world: World) -> None:
    names = await scene.submitted(world)
    user = world.clients["user"]

    def is_listed(answer: Any) -> bool:
        return names["experiment_id"] in {job["entityId"] for job in answer["jobs"]}

    assert await scene.until(user, LISTS[0], is_listed), "once the pool has planned it"
    assert (await ok(user, "GET", COUNT)) == (await ok(world.clients["admin"], "GET", COUNT))

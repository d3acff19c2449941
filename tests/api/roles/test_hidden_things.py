"""What roles show, hide, allow and refuse."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from msgspec.structs import replace
from tests.api.client import Client
from tests.api.hidden import (
    EDITOR,
    MARK,
    VIEWER,
    WORKSPACE_ADMIN,
    give,
    ok,
    take,
)
from tests.api.roles.asked import CONFIG, EVERYTHING, WORKSPACES, names
from tests.api.samples import World
from tests.covers import covers

from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import NotFound
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.services.access.guard import Claim, Guard
from determined_master.services.access.identities import Identities
from determined_master.services.tasks.proxies import ServiceTarget
from determined_master.services.tasks.service_access import ServiceAccess

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVICE = ServiceTarget(
    service_id="s",
    allocation_id="a.1",
    task_id="a",
    port=ProxyPort(80),
    host="127.0.0.1",
    host_port=80,
    agent_id="a1",
    container_id="c",
    is_trial=False,
    has_own_token=False,
)


async def test_lists_leave_out_what_is_hidden_before_they_count_and_cut(
    world: World, user: Client, hush: int
) -> None:
    search = {"limit": 5, "filter": EVERYTHING}

    async def shown() -> dict[str, int]:
        listed = {
            path: (await ok(user, "GET", f"/api/v1/{path}?limit=5"))["pagination"]["total"]
            for path in ("experiments", "models", "templates", "workspaces")
        }
        for path in ("runs", "experiments-search"):
            found = await ok(user, "POST", f"/api/v1/{path}", search)
            listed[path] = found["pagination"]["total"]
        listed["labels"] = len((await ok(user, "GET", "/api/v1/experiment/labels"))["labels"])
        listed["model labels"] = len((await ok(user, "GET", "/api/v1/model/labels"))["labels"])
        listed["tasks"] = len((await ok(user, "GET", "/api/v1/tasks"))["allocationIdToSummary"])
        return listed

    assert set((await shown()).values()) == {0}
    await give(world, VIEWER, hush)
    assert await shown() == {
        "experiments": 2,
        "models": 1,
        "templates": 1,
        "workspaces": 1,
        "runs": 1,
        "experiments-search": 2,
        "labels": 1,
        "model labels": 1,
        "tasks": 5,
    }


@covers("scheduling-and-provisioning a.5.limited")
async def test_the_queue_shows_only_the_place_of_a_hidden_job(
    world: World, user: Client, hush: int
) -> None:
    path = "/api/v1/job-queues-v2"
    job = (await ok(user, "GET", path))["jobs"][0]
    limited = job["limited"]
    assert "full" not in job
    assert (limited["jobId"], limited["workspaceId"]) == ("", 0)
    assert limited["summary"]["state"] == "STATE_QUEUED"
    assert not {"name", "username", "userId", "submissionTime", "entityId"} & limited.keys()
    bare = (await ok(user, "GET", "/api/v1/job-queues"))["jobs"][0]
    told = [bare[key] for key in ("name", "username", "userId", "submissionTime", "entityId")]
    assert told == ["", "", 0, None, ""]
    listed = await ok(user, "GET", "/api/ui/v1/jobs")
    assert (listed["jobs"], listed["hiddenCount"], listed["total"] > 0) == (
        [],
        listed["total"],
        True,
    )
    full = (await ok(world.clients["admin"], "GET", path))["jobs"][0]["full"]
    assert (await user("GET", f"/api/v1/job-queues/{full['jobId']}/why")).status == 404
    update = {"updates": [{"jobId": full["jobId"], "priority": 3}]}
    await give(world, EDITOR, 1)
    assert (await user("POST", "/api/v1/job-queues", update)).status == 404
    await give(world, VIEWER, hush)
    job = (await ok(user, "GET", path))["jobs"][0]
    assert job["full"]["username"] == "admin"
    assert (await user("POST", "/api/v1/job-queues", update)).status == 403


@covers("experiment-config 20.permission")
async def test_a_template_in_a_hidden_workspace_is_not_found(
    world: World, user: Client, hush: int
) -> None:
    await give(world, EDITOR, 1)
    body = {"config": CONFIG, "template": "tpl", "validateOnly": True}
    refused = await user("POST", "/api/v1/experiments", body)
    assert (refused.status, "template 'tpl' not found" in refused.text) == (404, True)
    assert (await user("GET", "/api/v1/templates/tpl")).status == 404
    await give(world, VIEWER, hush)
    assert (await user("POST", "/api/v1/experiments", body)).status == 200


async def test_experiments_are_created_where_a_role_allows_it(
    world: World, user: Client, hush: int
) -> None:
    config = f"workspace: {MARK} place\nproject: {MARK} project\n{CONFIG}"
    body: dict[str, Any] = {"config": config, "validateOnly": True}
    assert (await user("POST", "/api/v1/experiments", body)).status == 404
    await give(world, EDITOR, 1)
    hidden = await user("POST", "/api/v1/experiments", body)
    assert (hidden.status, f"workspace/project '{MARK} place/" in hidden.text) == (404, True)
    await give(world, VIEWER, hush)
    assert (await user("POST", "/api/v1/experiments", body)).status == 403
    await give(world, EDITOR, hush)
    assert (await user("POST", "/api/v1/experiments", body)).status == 200
    body = {"config": CONFIG, "validateOnly": True}  # goes to the first workspace
    assert (await user("POST", "/api/v1/experiments", body)).status == 200
    await take(world, EDITOR, 1)
    refused = await user("POST", "/api/v1/experiments", body)
    lacks = "access denied: determined lacks 'create experiment' in workspace 'Uncategorized'"
    assert (refused.status, lacks in refused.text) == (403, True)


async def test_a_refusal_names_the_permission_and_the_workspace(
    world: World, user: Client, hush: int
) -> None:
    await give(world, VIEWER, hush)
    name = (await ok(world.clients["admin"], "GET", f"/api/v1/workspaces/{hush}"))["workspace"]
    made = await user("POST", f"/api/v1/workspaces/{hush}/projects", {"name": "mine"})
    assert made.status == 403
    lacks = f"determined lacks 'create project' in workspace '{name['name']}'"
    assert (
        made.json()["error"]["error"] == f"user does not have permission: access denied: {lacks}"
    )


async def test_a_workspace_is_edited_by_its_editors_and_the_first_is_renamed_by_nobody(
    world: World, user: Client, hush: int
) -> None:
    patch = {"name": "renamed"}
    assert (await user("PATCH", f"/api/v1/workspaces/{hush}", patch)).status == 404
    await give(world, VIEWER, hush)
    refused = await user("PATCH", f"/api/v1/workspaces/{hush}", patch)
    assert (refused.status, "lacks 'update workspace'" in refused.text) == (403, True), (
        refused.text
    )
    await give(world, VIEWER, 1)
    refused = await user("PATCH", "/api/v1/workspaces/1", patch)
    assert (refused.status, "immutable" in refused.text) == (400, True), refused.text


@pytest.mark.parametrize("role", [None, VIEWER])
async def test_a_refused_start_names_the_permission_and_the_workspace(
    world: World, user: Client, hush: int, role: int | None
) -> None:
    """Also to those who may start things nowhere."""
    tasks = {f"/api/v1/{kind}": "nsc" for kind in ("commands", "notebooks", "shells")}
    tasks["/api/v1/generic-tasks"] = "nsc"
    starts = {**tasks, "/api/v1/experiments": "experiment", "/api/v1/models": "model registry"}
    config: Any = {"entrypoint": ["true"]}
    for path, what in starts.items():
        text = CONFIG if what == "experiment" else "entrypoint: ['true']"
        given = config if path in tasks and "generic" not in path else text
        refused = await user("POST", path, {"config": given, "name": "mine"})
        lacks = f"determined lacks 'create {what}' in workspace 'Uncategorized'"
        assert (refused.status, lacks in refused.text) == (403, True), refused.text
    if role is None:
        return
    await give(world, role, hush)
    for path in ("/api/v1/commands", "/api/v1/notebooks", "/api/v1/shells"):
        refused = await user("POST", path, {"config": config, "workspaceId": hush})
        lacks = f"determined lacks 'create nsc' in workspace '{MARK}"
        assert (refused.status, lacks in refused.text) == (403, True), refused.text
    template = {"config": {}, "workspaceId": hush}
    refused = await user("POST", "/api/v1/templates/mine", template)
    lacks = f"determined lacks 'create templates' in workspace '{MARK}"
    assert (refused.status, lacks in refused.text) == (403, True), refused.text


async def test_a_search_may_not_start_from_a_hidden_trial_or_checkpoint(
    world: World, user: Client
) -> None:
    await give(world, EDITOR, 1)
    by_uuid = f"source_checkpoint_uuid: {world.names['checkpoint']}"
    for source in (f"source_trial_id: {world.names['trial']}", by_uuid):
        searcher = f"{{name: single, metric: loss, max_length: {{batches: 1}}, {source}}}"
        config = f"entrypoint: x\nname: n\nsearcher: {searcher}\n"
        body = {"config": config, "validateOnly": True}
        assert (await user("POST", "/api/v1/experiments", body)).status == 400
        assert (await world.clients["admin"]("POST", "/api/v1/experiments", body)).status == 200


async def test_bulk_actions_report_for_each_run_whether_it_is_hidden_or_forbidden(
    world: World, user: Client, hush: int
) -> None:
    run = int(world.names["trial"])
    for verb in ("kill", "archive", "pause", "delete"):
        body = {"runIds": [run]}
        [hidden] = (await ok(user, "POST", f"/api/v1/runs/{verb}", body))["results"]
        assert hidden == {"id": run, "error": f"run '{run}' not found"}
    await give(world, VIEWER, hush)
    await give(world, EDITOR, 1)
    for verb in ("kill", "archive", "delete"):
        body = {"runIds": [run]}
        [refused] = (await ok(user, "POST", f"/api/v1/runs/{verb}", body))["results"]
        action = "delete" if verb == "delete" else "update"
        lacks = f"determined lacks '{action} experiment' in workspace "
        assert refused["id"] == run
        assert refused["error"].startswith(
            f"user does not have permission: access denied: {lacks}"
        )
    filtered = {"filter": EVERYTHING}
    await take(world, VIEWER, hush)
    assert (await ok(user, "POST", "/api/v1/runs/kill", filtered))["results"] == []


async def test_bulk_actions_on_any_project_reach_nothing_hidden_or_forbidden(
    world: World, user: Client, hush: int
) -> None:
    experiment = int(world.names["experiment"])
    project = "/api/v1/projects/-1/experiments"
    by_id = {"experimentIds": [experiment], "projectId": -1}
    by_filter = {"experimentIds": [], "projectId": -1, "filters": {"name": ""}}
    missing = {"id": experiment, "error": f"experiment '{experiment}' not found"}
    for verb in ("kill", "archive", "pause", "activate", "cancel"):
        assert (await ok(user, "POST", f"{project}/{verb}", by_id))["results"] == [missing]
        assert (await ok(user, "POST", f"{project}/{verb}", by_filter))["results"] == []
    await give(world, VIEWER, hush)
    for verb in ("kill", "archive", "pause", "activate", "cancel"):
        [refused] = (await ok(user, "POST", f"{project}/{verb}", by_id))["results"]
        assert (refused["id"], "permission" in refused["error"]) == (experiment, True)


async def test_visits_of_hidden_projects_are_neither_made_nor_shown(
    world: World, admin: Client, user: Client, hush: int
) -> None:
    path = f"{WORKSPACES}/{hush}/projects"
    project = (await ok(admin, "GET", path))["projects"][0]["id"]
    visit = {
        "activityType": "ACTIVITY_TYPE_GET",
        "entityType": "ENTITY_TYPE_PROJECT",
        "entityId": project,
    }
    assert (await user("POST", "/api/v1/users/activity", visit)).status == 404
    await give(world, VIEWER, hush)
    await ok(user, "POST", "/api/v1/users/activity", visit)
    shown = "/api/v1/user/projects/activity"
    assert [p["id"] for p in (await ok(user, "GET", shown))["projects"]] == [project]
    await take(world, VIEWER, hush)
    assert (await ok(user, "GET", shown))["projects"] == []


async def test_a_maker_of_workspaces_becomes_admin_of_their_own(
    world: World, admin: Client, user: Client
) -> None:
    body = {"name": "made by user"}
    assert (await user("POST", WORKSPACES, body)).status == 403
    await give(world, 3, None)
    made = (await ok(user, "POST", WORKSPACES, body))["workspace"]["id"]
    assert (await user("PATCH", f"{WORKSPACES}/{made}", {"name": "renamed"})).status == 200
    assert await names(user, WORKSPACES, "workspaces") == ["renamed"]
    await ok(admin, "DELETE", f"{WORKSPACES}/{made}")


async def test_another_users_model_is_deleted_by_admins_of_its_workspace_only(
    world: World, admin: Client, user: Client, hush: int
) -> None:
    await ok(admin, "POST", "/api/v1/models", {"name": "theirs", "workspaceId": hush})
    await give(world, EDITOR, hush)
    assert (await user("DELETE", "/api/v1/models/theirs")).status == 403
    await ok(user, "POST", "/api/v1/models", {"name": "own", "workspaceId": hush})
    assert (await user("DELETE", "/api/v1/models/own")).status == 200
    await give(world, WORKSPACE_ADMIN, hush)
    assert (await user("DELETE", "/api/v1/models/theirs")).status == 200


async def test_a_checkpoint_is_registered_only_by_who_sees_it(world: World, user: Client) -> None:
    await give(world, EDITOR, 1)
    await ok(user, "POST", "/api/v1/models", {"name": "thief"})
    body = {"checkpointUuid": world.names["checkpoint"]}
    assert (await user("POST", "/api/v1/models/thief/versions", body)).status == 404
    await ok(user, "DELETE", "/api/v1/models/thief")


async def test_an_interactive_task_is_seen_by_viewers_and_controlled_by_editors(
    world: World, user: Client, hush: int
) -> None:
    shell = f"/api/v1/shells/{world.names['shell']}"
    notebook = f"/api/v1/notebooks/{world.names['notebook']}"
    claim = Claim("task", [world.names["notebook"]], "control", "task")
    for kind in ("commands", "notebooks", "shells", "tensorboards"):
        assert (await ok(user, "GET", f"/api/v1/{kind}"))["pagination"]["total"] == 0
    await give(world, VIEWER, hush)
    for kind in ("commands", "notebooks", "shells", "tensorboards"):
        assert (await ok(user, "GET", f"/api/v1/{kind}"))["pagination"]["total"] == 1
    assert (await ok(user, "GET", shell))["shell"]["privateKey"] == ""
    assert "token" not in (await ok(user, "GET", notebook))["notebook"]["serviceAddress"]
    assert not await world.services[Guard].can(await caller_of(world), claim)
    await give(world, EDITOR, hush)
    assert (await ok(user, "GET", shell))["shell"]["privateKey"] == ""
    assert "token" not in (await ok(user, "GET", notebook))["notebook"]["serviceAddress"]
    owner = world.clients["admin"]
    assert "PRIVATE KEY" in (await ok(owner, "GET", shell))["shell"]["privateKey"]
    assert "?token=" in (await ok(owner, "GET", notebook))["notebook"]["serviceAddress"]
    assert await world.services[Guard].can(await caller_of(world), claim)


async def caller_of(world: World) -> Caller:
    """The user as the master knows them now."""
    found = await world.services[Identities].authenticate(world.clients["user"].token)
    assert found is not None
    return found


async def reached(world: World) -> list[str]:
    """The kinds of services that the user reaches through the proxy."""
    rules = world.services[ServiceAccess]
    kinds = []
    for kind in ("notebook", "shell", "tensorboard"):
        facts = TASK_KINDS[kind.upper()]
        target = replace(
            SERVICE,
            task_id=world.names[kind],
            is_only_shown=facts.is_only_shown,
            has_own_token=facts.has_own_token,
            has_ssh_keys=facts.has_ssh_keys,
        )
        with contextlib.suppress(NotFound):
            await rules.check(target, await caller_of(world))
            kinds.append(kind)
    return kinds


async def test_viewers_and_editors_reach_tensorboards_and_no_notebooks(
    world: World, user: Client, hush: int
) -> None:
    """Through the proxy, with roles: the page of a notebook runs code as its owner."""
    assert await reached(world) == []
    await give(world, VIEWER, hush)
    assert await reached(world) == ["tensorboard"]
    await give(world, EDITOR, hush)
    assert await reached(world) == ["tensorboard"]


async def test_a_viewer_enters_the_notebooks_and_shells_that_are_shared_with_them(
    world: World, user: Client, hush: int
) -> None:
    owner, name = world.clients["admin"], (await caller_of(world)).username
    tasks = {kind: world.names[kind] for kind in ("notebook", "shell")}
    shares = {kind: f"/api/v1/tasks/{task_id}/shares" for kind, task_id in tasks.items()}
    refused = await owner("POST", shares["shell"], {"users": [name]})
    assert (refused.status, "shows workspace" in refused.text) == (400, True), refused.text
    await give(world, VIEWER, hush)
    for path in shares.values():
        assert (await user("POST", path, {"users": [name]})).status == 403
        assert (await user("GET", path)).status == 403
        answer = await ok(owner, "POST", path, {"users": [name]})
        assert [one["username"] for one in answer["shares"]] == [name]
    assert await reached(world) == ["notebook", "shell", "tensorboard"]
    shell, notebook = (f"/api/v1/{kind}s/{tasks[kind]}" for kind in ("shell", "notebook"))
    assert "PRIVATE KEY" in (await ok(user, "GET", shell))["shell"]["privateKey"]
    assert "?token=" in (await ok(user, "GET", notebook))["notebook"]["serviceAddress"]
    for path in shares.values():
        assert (await ok(owner, "POST", f"{path}/revoke", {"users": [name]}))["shares"] == []
    assert await reached(world) == ["tensorboard"]
    assert (await ok(user, "GET", shell))["shell"]["privateKey"] == ""
    assert "?token=" not in (await ok(user, "GET", notebook))["notebook"]["serviceAddress"]


async def test_interactive_tasks_are_started_where_a_role_allows_it(
    world: World, user: Client, hush: int
) -> None:
    body = {"config": {"entrypoint": ["true"], "resources": {"slots": 0}}, "workspaceId": hush}
    assert (await user("POST", "/api/v1/commands", body)).status == 404
    await give(world, EDITOR, 1)
    assert (await user("POST", "/api/v1/commands", body)).status == 404
    await give(world, VIEWER, hush)
    assert (await user("POST", "/api/v1/commands", body)).status == 403
    await give(world, EDITOR, hush)
    started = (await ok(user, "POST", "/api/v1/commands", body))["command"]["id"]
    await ok(user, "POST", f"/api/v1/commands/{started}/kill")


async def test_projects_move_only_where_one_may_make_them(
    world: World, user: Client, hush: int
) -> None:
    path = f"/api/v1/projects/{world.names['project']}/move"
    await give(world, EDITOR, hush)
    assert (await user("POST", path, {"destinationWorkspaceId": 1})).status == 404
    await give(world, VIEWER, 1)
    assert (await user("POST", path, {"destinationWorkspaceId": 1})).status == 403

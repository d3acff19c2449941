"""Groups and roles over the API, and what roles show, hide, allow and refuse."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.api.client import Answer, Client
from tests.api.hidden import (
    CLUSTER_ADMIN,
    EDITOR,
    MARK,
    VIEWER,
    WORKSPACE_ADMIN,
    give,
    hidden_world,
    ok,
    take,
)
from tests.api.master import PASSWORD, SETTINGS, running_services
from tests.api.samples import World
from tests.covers import covers
from tests.postgres import new_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.access import Caller
from determined_master.services.guard import Claim
from determined_master.services.passwords import Passwords
from determined_master.settings_security import Authz, Security
from determined_master.store.pool import Address, open_pool

pytestmark = pytest.mark.asyncio(loop_scope="module")
CONFIG = (
    "entrypoint: x\nname: n\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"
)
EVERYTHING = json.dumps(
    {"filterGroup": {"kind": "group", "conjunction": "and", "children": []}, "showArchived": True}
)
SUMMARY = "/api/v1/permissions/summary"
WORKSPACES = "/api/v1/workspaces"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def whole(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def world(whole: World) -> AsyncIterator[World]:
    """The user has no role; whatever a test gives is taken away."""
    yield whole
    async with whole.services.users._pool.acquire() as conn:
        await conn.execute("DELETE FROM role_assignments WHERE user_id = 2 OR group_id > 1")
        await conn.execute("DELETE FROM user_groups WHERE id > 1")
    whole.services.identities.forget_rights()


@pytest.fixture
def admin(world: World) -> Client:
    return world.clients["admin"]


@pytest.fixture
def user(world: World) -> Client:
    return world.clients["user"]


@pytest.fixture
def hush(world: World) -> int:
    """The workspace that has everything."""
    return int(world.names["workspace"])


async def group(admin: Client, name: str, *user_ids: int) -> int:
    body = {"name": name, "addUsers": list(user_ids)}
    made = await ok(admin, "POST", "/api/v1/groups", body)
    return int(made["group"]["groupId"])


async def assign(client: Client, path: str = "add", **scope: Any) -> Answer:
    """Give the user a role, or take it."""
    role_id, whom = scope.pop("role"), scope.pop("group", None)
    assignment = {"role": {"roleId": role_id}, **scope}
    if whom is not None:
        body: Any = {"groupRoleAssignments": [{"groupId": whom, "roleAssignment": assignment}]}
    else:
        body = {"userRoleAssignments": [{"userId": 2, "roleAssignment": assignment}]}
    return await client("POST", f"/api/v1/roles/{path}-assignments", body)


async def names(client: Client, path: str, key: str) -> list[str]:
    return [item["name"] for item in (await ok(client, "GET", path))[key]]


async def test_a_group_is_renamed_filled_emptied_and_deleted(admin: Client) -> None:
    number = await group(admin, "g1", 2)
    changed = await ok(
        admin,
        "PUT",
        f"/api/v1/groups/{number}",
        {"name": "g2", "addUsers": [1], "removeUsers": [2]},
    )
    assert changed["group"]["name"] == "g2"
    assert [member["id"] for member in changed["group"]["users"]] == [1]
    assert await ok(admin, "DELETE", f"/api/v1/groups/{number}") == {}
    assert (await admin("GET", f"/api/v1/groups/{number}")).status == 404


async def test_a_group_refuses_what_cannot_be(admin: Client) -> None:
    number = await group(admin, "g1", 2)
    for method, path, body, status in (
        ("POST", "/api/v1/groups", {"name": "g1"}, 409),
        ("POST", "/api/v1/groups", {"name": " "}, 400),
        ("POST", "/api/v1/groups", {"name": "g9", "addUsers": [99]}, 404),
        ("PUT", f"/api/v1/groups/{number}", {"addUsers": [2]}, 409),
        ("PUT", f"/api/v1/groups/{number}", {"removeUsers": [1]}, 404),
        ("PUT", "/api/v1/groups/999", {"name": "x"}, 404),
        ("DELETE", "/api/v1/groups/999", None, 404),
        ("POST", "/api/v1/groups/search", {"limit": 501}, 400),
    ):
        assert (await admin(method, path, body)).status == status, (method, path, body)
    assert (await ok(admin, "POST", "/api/v1/groups/search", {"limit": 9, "name": "g9"}))[
        "groups"
    ] == []


async def test_who_changes_no_groups_sees_those_of_their_own(admin: Client, user: Client) -> None:
    mine, other = await group(admin, "mine", 2), await group(admin, "other", 1)
    found = await ok(user, "POST", "/api/v1/groups/search", {"limit": 9})
    assert [g["group"]["name"] for g in found["groups"]] == ["mine"]
    assert found["pagination"]["total"] == 1
    assert (await user("GET", f"/api/v1/groups/{mine}")).status == 200
    assert (await user("GET", f"/api/v1/groups/{other}")).status == 403
    assert (await user("DELETE", f"/api/v1/groups/{mine}")).status == 403


async def test_users_are_put_into_groups_and_out_of_others(admin: Client) -> None:
    one, two = await group(admin, "one", 2), await group(admin, "two")
    body = {"userIds": [1, 2], "addGroups": [two], "removeGroups": [one]}
    for _ in range(2):  # what is so already stays so
        assert await ok(admin, "PATCH", "/api/v1/users/assignments", body) == {}
    sizes = await ok(admin, "POST", "/api/v1/groups/search", {"limit": 9})
    found = {g["group"]["name"]: g["numMembers"] for g in sizes["groups"]}
    assert (found["one"], found["two"]) == (0, 2)
    body = {"userIds": [2], "addGroups": [999], "removeGroups": []}
    assert (await admin("PATCH", "/api/v1/users/assignments", body)).status == 404


async def test_a_role_shows_its_workspace_at_once_and_hides_it_at_once(
    world: World, user: Client, hush: int
) -> None:
    path = f"{WORKSPACES}/{hush}"
    assert (await user("GET", path)).status == 404
    await give(world, VIEWER, hush)
    assert (await user("GET", path)).status == 200
    await take(world, VIEWER, hush)
    assert (await user("GET", path)).status == 404


async def test_a_role_of_a_group_is_that_of_its_members_while_they_are_in_it(
    admin: Client, user: Client, hush: int
) -> None:
    number = await group(admin, "readers", 2)
    path = f"{WORKSPACES}/{hush}"
    assert (await assign(admin, role=VIEWER, group=number, scopeWorkspaceId=hush)).status == 200
    assert (await user("GET", path)).status == 200
    await ok(admin, "PUT", f"/api/v1/groups/{number}", {"removeUsers": [2]})
    assert (await user("GET", path)).status == 404
    await ok(admin, "PUT", f"/api/v1/groups/{number}", {"addUsers": [2]})
    assert (await user("GET", path)).status == 200
    await ok(admin, "DELETE", f"/api/v1/groups/{number}")
    assert (await user("GET", path)).status == 404


async def test_assignments_refuse_what_cannot_be(
    world: World, admin: Client, user: Client, hush: int
) -> None:
    everywhere: dict[str, Any] = {"scopeCluster": True}
    place: dict[str, Any] = {"scopeWorkspaceId": hush}
    assert (await admin("POST", "/api/v1/roles/add-assignments", {})).status == 400
    assert (await assign(admin, role=CLUSTER_ADMIN, **place)).status == 400
    assert (await assign(admin, role=VIEWER, **place, **everywhere)).status == 400
    assert (await assign(admin, role=99, **everywhere)).status == 404
    assert (await assign(admin, role=VIEWER, scopeWorkspaceId=999)).status == 404
    assert (await assign(admin, role=VIEWER, group=999, **everywhere)).status == 404
    assert (await assign(admin, "remove", role=VIEWER, **everywhere)).status == 404
    assert (await assign(admin, role=VIEWER, **everywhere)).status == 200
    assert (await assign(admin, role=VIEWER, **everywhere)).status == 409
    assert (await assign(user, role=EDITOR, **everywhere)).status == 403


async def test_an_admin_of_a_workspace_gives_roles_there_and_nowhere_else(
    world: World, user: Client, hush: int
) -> None:
    await give(world, WORKSPACE_ADMIN, hush)
    await give(world, VIEWER, 1)
    assert (await assign(user, role=EDITOR, scopeWorkspaceId=hush)).status == 200
    assert (await assign(user, role=EDITOR, scopeWorkspaceId=1)).status == 403
    assert (await assign(user, role=EDITOR, scopeCluster=True)).status == 403
    assert (await assign(user, role=CLUSTER_ADMIN, scopeCluster=True)).status == 403


async def test_the_summary_tells_what_one_holds_and_where(
    world: World, admin: Client, user: Client, hush: int
) -> None:
    assert await ok(user, "GET", SUMMARY) == {"roles": [], "assignments": []}
    await give(world, VIEWER, hush)
    await give(world, EDITOR, None)
    summary = await ok(user, "GET", SUMMARY)
    assert summary["assignments"] == [
        {"roleId": VIEWER, "scopeWorkspaceIds": [hush], "scopeCluster": False},
        {"roleId": EDITOR, "scopeWorkspaceIds": [], "scopeCluster": True},
    ]
    assert [role["name"] for role in summary["roles"]] == ["Viewer", "Editor"]
    whole = await ok(admin, "GET", SUMMARY)
    assert [role["name"] for role in whole["roles"]] == ["ClusterAdmin", "WorkspaceAdmin"]


async def test_roles_are_found_by_user_group_id_and_workspace(
    world: World, admin: Client, user: Client, hush: int
) -> None:
    number = await group(admin, "crew", 2)
    await assign(admin, role=EDITOR, group=number, scopeWorkspaceId=hush)
    await give(world, VIEWER, hush)
    by_user = await ok(admin, "GET", "/api/v1/roles/search/by-user/2")
    assert [one["role"]["name"] for one in by_user["roles"]] == ["Viewer", "Editor"]
    by_group = await ok(admin, "GET", f"/api/v1/roles/search/by-group/{number}")
    assert by_group["assignments"][0]["scopeWorkspaceIds"] == [hush]
    body: dict[str, Any] = {"roleIds": [EDITOR]}
    [by_id] = (await ok(admin, "POST", "/api/v1/roles/search/by-ids", body))["roles"]
    assert [g["groupId"] for g in by_id["groupRoleAssignments"]] == [number]
    members = await ok(admin, "GET", f"/api/v1/roles/workspace/{hush}")
    assert [u["username"] for u in members["usersAssignedDirectly"]] == ["admin", "determined"]
    assert [g["name"] for g in members["groups"]] == ["crew"]
    named = await ok(admin, "GET", f"/api/v1/roles/workspace/{hush}?name=cre")
    assert (named["usersAssignedDirectly"], len(named["groups"])) == ([], 1)
    body = {"limit": 20, "workspaceId": hush}
    can_be = await ok(user, "POST", "/api/v1/roles/search/by-assignability", body)
    assert "ClusterAdmin" not in [role["name"] for role in can_be["roles"]]


async def test_who_has_roles_in_a_hidden_workspace_is_not_told(
    admin: Client, user: Client, hush: int
) -> None:
    number = await group(admin, "crew", 1)
    await assign(admin, role=EDITOR, group=number, scopeWorkspaceId=hush)
    body = {"roleIds": [WORKSPACE_ADMIN, EDITOR]}
    for one in (await ok(user, "POST", "/api/v1/roles/search/by-ids", body))["roles"]:
        assert one["userRoleAssignments"] == one["groupRoleAssignments"] == []
    by_user = await ok(user, "GET", "/api/v1/roles/search/by-user/1")
    assert by_user["roles"] == []
    by_group = await ok(user, "GET", f"/api/v1/roles/search/by-group/{number}")
    assert by_group["assignments"] == []


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
async def test_of_a_hidden_job_the_queue_tells_only_the_place(
    world: World, user: Client, hush: int
) -> None:
    path = "/api/v1/job-queues-v2"
    job = (await ok(user, "GET", path))["jobs"][0]
    limited = job["limited"]
    assert "full" not in job
    assert limited["workspaceId"] == hush
    assert limited["summary"]["state"] == "STATE_QUEUED"
    assert not {"name", "username", "userId", "submissionTime", "entityId"} & limited.keys()
    bare = (await ok(user, "GET", "/api/v1/job-queues"))["jobs"][0]
    told = [bare[key] for key in ("name", "username", "userId", "submissionTime", "entityId")]
    assert told == ["", "", 0, None, ""]
    assert (await user("GET", f"/api/v1/job-queues/{limited['jobId']}/why")).status == 404
    update = {"updates": [{"jobId": limited["jobId"], "priority": 3}]}
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
    assert (await user("POST", "/api/v1/experiments", body)).status == 403
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
    assert (await user("POST", "/api/v1/experiments", body)).status == 404


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


async def test_bulk_actions_tell_of_each_run_whether_it_is_hidden_or_forbidden(
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
        assert refused == {"id": run, "error": "user does not have permission"}
    filtered = {"filter": EVERYTHING}
    await take(world, VIEWER, hush)
    assert (await ok(user, "POST", "/api/v1/runs/kill", filtered))["results"] == []


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


async def test_a_cluster_admin_by_role_may_do_what_an_admin_may(
    world: World, user: Client, hush: int
) -> None:
    assert (await user("GET", "/api/v1/master/config")).status == 403
    await give(world, CLUSTER_ADMIN, None)
    assert (await user("GET", "/api/v1/master/config")).status == 200
    assert (await user("GET", f"{WORKSPACES}/{hush}")).status == 200
    await take(world, CLUSTER_ADMIN, None)
    assert (await user("GET", "/api/v1/master/config")).status == 403


async def test_an_interactive_task_is_seen_by_viewers_and_entered_by_editors(
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
    assert not await world.services.guard.can(await caller_of(world), claim)
    await give(world, EDITOR, hush)
    assert "PRIVATE KEY" in (await ok(user, "GET", shell))["shell"]["privateKey"]
    assert "?token=" in (await ok(user, "GET", notebook))["notebook"]["serviceAddress"]
    assert await world.services.guard.can(await caller_of(world), claim)


async def caller_of(world: World) -> Caller:
    """The user as the master knows them now."""
    found = await world.services.identities.authenticate(world.clients["user"].token)
    assert found is not None
    return found


async def test_interactive_tasks_are_started_where_a_role_allows_it(
    world: World, user: Client, hush: int
) -> None:
    body = {"config": {"entrypoint": ["true"], "resources": {"slots": 0}}, "workspaceId": hush}
    assert (await user("POST", "/api/v1/commands", body)).status == 403
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


async def test_clients_are_told_whether_roles_decide(world: World) -> None:
    master = await ok(world.clients["user"], "GET", "/api/v1/master")
    assert (master["rbacEnabled"], master["strictJobQueueControl"]) == (True, False)


@pytest.mark.slow
async def test_a_strict_queue_is_changed_by_who_may_and_by_nobody_else(
    postgres: Address, passwords: Passwords
) -> None:
    for authz in (
        Authz(strict_job_queue_control=True),
        Authz(type="rbac", strict_job_queue_control=True),
    ):
        settings = msgspec.structs.replace(SETTINGS, security=Security(authz=authz))
        async with (
            new_database(postgres) as address,
            await open_pool(address, min_size=1) as pool,
            running_services(address, pool, passwords, settings) as (services, _),
        ):
            api = Api(all_routes(), services, services.identities)
            opened = await services.auth.login("determined", PASSWORD, is_hashed=False)
            user = Client(api, opened.token)
            assert (await user("POST", "/api/v1/job-queues", {"updates": []})).status == 403
            opened = await services.auth.login("admin", PASSWORD, is_hashed=False)
            admin = Client(api, opened.token)
            assert (await admin("POST", "/api/v1/job-queues", {"updates": []})).status == 200
            api.close()

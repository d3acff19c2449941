"""Groups and roles over the API: who has which, and what one holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.api.client import Client
from tests.api.hidden import (
    CLUSTER_ADMIN,
    EDITOR,
    VIEWER,
    WORKSPACE_ADMIN,
    give,
    ok,
    take,
)
from tests.api.master import PASSWORD, SETTINGS, running_services
from tests.api.roles.asked import SUMMARY, WORKSPACES, assign, group
from tests.api.samples import World
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.settings.security import Authz, Security
from determined_master.store.db import Address, open_database

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
    await group(admin, "g2", 2)
    texts = {404: "not found", 409: "row already exists"}  # that scripts of 0.38.1 look for
    for method, path, body, status in (
        ("POST", "/api/v1/groups", {"name": "g1"}, 409),
        ("POST", "/api/v1/groups", {"name": " "}, 400),
        ("POST", "/api/v1/groups", {"name": "g9", "addUsers": [99]}, 404),
        ("PUT", f"/api/v1/groups/{number}", {"name": "g2"}, 409),
        ("PUT", f"/api/v1/groups/{number}", {"addUsers": [2]}, 409),
        ("PUT", f"/api/v1/groups/{number}", {"removeUsers": [1]}, 404),
        ("PUT", "/api/v1/groups/999", {"name": "x"}, 404),
        ("DELETE", "/api/v1/groups/999", None, 404),
        ("POST", "/api/v1/groups/search", {"limit": 501}, 400),
    ):
        answer = await admin(method, path, body)
        assert answer.status == status, (method, path, body)
        assert texts.get(status, "") in answer.text, (method, path, answer.text)
    assert (await ok(admin, "POST", "/api/v1/groups/search", {"limit": 9, "name": "g9"}))[
        "groups"
    ] == []


async def test_users_without_group_permission_see_their_own_groups(
    admin: Client, user: Client
) -> None:
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


async def test_users_are_listed_by_roles_that_are_their_own(
    world: World, admin: Client, hush: int
) -> None:
    async def listed(*role_ids: int) -> list[str]:
        query = "&".join(f"roleIdAssignedDirectlyToUser={i}" for i in role_ids)
        answer = await ok(admin, "GET", f"/api/v1/users?{query}")
        assert answer["pagination"]["total"] == len(answer["users"])
        return [user["username"] for user in answer["users"]]

    await assign(admin, role=EDITOR, group=await group(admin, "g", 2), scopeCluster=True)
    assert await listed(EDITOR, VIEWER) == []
    await give(world, VIEWER, hush)
    await give(world, EDITOR, None)
    assert await listed(EDITOR, VIEWER) == ["determined"]
    assert await listed(VIEWER) == ["determined"]
    assert await listed(WORKSPACE_ADMIN) == ["admin"]  # who made the workspace
    assert await listed() == ["admin", "determined"]


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
    missing = await assign(admin, "remove", role=VIEWER, **everywhere)
    assert (missing.status, "not found" in missing.text) == (404, True), missing.text
    assert (await assign(admin, role=VIEWER, **everywhere)).status == 200
    twice = await assign(admin, role=VIEWER, **everywhere)
    assert (twice.status, "row already exists" in twice.text) == (409, True), twice.text
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


async def test_the_summary_shows_resources_and_their_agents(
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


async def test_assignments_in_a_hidden_workspace_are_not_shown(
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


async def test_a_cluster_admin_by_role_may_do_what_an_admin_may(
    world: World, user: Client, hush: int
) -> None:
    assert (await user("GET", "/api/v1/master/config")).status == 403
    await give(world, CLUSTER_ADMIN, None)
    assert (await user("GET", "/api/v1/master/config")).status == 200
    assert (await user("GET", f"{WORKSPACES}/{hush}")).status == 200
    await take(world, CLUSTER_ADMIN, None)
    assert (await user("GET", "/api/v1/master/config")).status == 403


async def test_clients_learn_whether_roles_are_on(world: World) -> None:
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
            ready_database(postgres) as address,
            await open_database(address, min_size=1) as pool,
            running_services(address, pool, passwords, settings) as (services, _),
        ):
            api = Api(all_routes(), services, services[Identities])
            opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
            user = Client(api, opened.token)
            assert (await user("POST", "/api/v1/job-queues", {"updates": []})).status == 403
            opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
            admin = Client(api, opened.token)
            assert (await admin("POST", "/api/v1/job-queues", {"updates": []})).status == 200
            api.close()

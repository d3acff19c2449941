"""Workspaces and projects over the API: what is in them moves, hides and goes with them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.samples import World
from tests.covers import covers

from determined_master.services.workspaces.projects import Projects
from determined_master.services.workspaces.service import Workspaces
from determined_master.store.workspaces.workspaces import find_agent_user

CONFIG = "{name: e, entrypoint: x, searcher: {name: single, metric: loss}%s}"


async def workspace(client: Client, name: str = "w", **more: Any) -> int:
    answer = await client("POST", "/api/v1/workspaces", {"name": name, **more})
    assert answer.status == 200, answer.body
    return int(answer.json()["workspace"]["id"])


async def project(client: Client, workspace_id: int, name: str = "p") -> int:
    answer = await client("POST", f"/api/v1/workspaces/{workspace_id}/projects", {"name": name})
    assert answer.status == 200, answer.body
    return int(answer.json()["project"]["id"])


async def experiment(client: Client, more: str = "", **body: Any) -> dict[str, Any]:
    given = {"config": CONFIG % more, "activate": False, **body}
    answer = await client("POST", "/api/v1/experiments", given)
    assert answer.status == 200, answer.body
    made: dict[str, Any] = answer.json()["experiment"]
    return made


async def over(client: Client, number: int) -> None:
    await client("POST", f"/api/v1/experiments/{number}/kill")
    await scene.until(
        client,
        f"/api/v1/experiments/{number}",
        lambda got: got["experiment"]["state"] == "STATE_CANCELED",
    )


@covers("experiment-config 2.workspace")
async def test_an_experiment_goes_to_the_project_that_its_request_or_config_names(
    admin: Client,
) -> None:
    there = await project(admin, await workspace(admin))
    by_id = await experiment(admin, projectId=there)
    by_name = await experiment(admin, ", workspace: W, project: P")
    nowhere = await experiment(admin)
    assert (by_id["projectId"], by_name["projectId"], nowhere["projectId"]) == (there, there, 1)
    assert by_id["workspaceName"] == "w"
    assert by_id["projectName"] == "p"


async def test_a_template_names_the_project_for_those_who_do_not(admin: Client) -> None:
    there = await project(admin, await workspace(admin))
    body = {"config": {"workspace": "w", "project": "p"}, "workspaceId": 1}
    await admin("POST", "/api/v1/templates/placed", body)
    assert (await experiment(admin, template="placed"))["projectId"] == there


@pytest.mark.parametrize(
    ("more", "body", "status", "text"),
    [
        ("", {"projectId": 99}, 404, "project '99' not found"),
        (", workspace: w, project: x", {}, 404, "workspace/project 'w/x' not found"),
        (", workspace: w", {}, 400, "project is missing"),
    ],
)
@covers("experiment-config 2.workspace")
async def test_a_project_that_is_not_there_is_refused(
    admin: Client, more: str, body: dict[str, Any], status: int, text: str
) -> None:
    await workspace(admin)
    given = {"config": CONFIG % more, **body}
    answer = await admin("POST", "/api/v1/experiments", given)
    assert answer.status == status
    assert text in answer.json()["error"]["error"]


@covers("experiment-config 2.workspace")
async def test_nothing_is_put_into_an_archived_project(admin: Client) -> None:
    workspace_id = await workspace(admin)
    there = await project(admin, workspace_id)
    made = await experiment(admin)
    await admin("POST", f"/api/v1/workspaces/{workspace_id}/archive")
    answer = await admin(
        "POST", "/api/v1/experiments", {"config": CONFIG % "", "projectId": there}
    )
    assert answer.status == 400
    assert "archived" in answer.json()["error"]["error"]
    move = {"destinationProjectId": there}
    answer = await admin("POST", f"/api/v1/experiments/{made['id']}/move", move)
    assert answer.status == 400


@covers("experiment-config 18.layer.8")
async def test_a_workspace_gives_its_storage_and_pools_to_its_experiments(admin: Client) -> None:
    storage = {"type": "shared_fs", "host_path": "/tmp/of-workspace"}
    workspace_id = await workspace(admin, checkpointStorageConfig=storage)
    made = await experiment(admin, projectId=await project(admin, workspace_id))
    assert made["config"]["checkpoint_storage"]["host_path"] == "/tmp/of-workspace"


async def test_a_secret_that_comes_back_as_asterisks_stays_what_it_was(world: World) -> None:
    admin = world.clients["admin"]
    storage = {"type": "s3", "bucket": "b", "access_key": "AK", "secret_key": "SK"}
    number = await workspace(admin, checkpointStorageConfig=storage)
    path = f"/api/v1/workspaces/{number}"
    shown = (await admin("GET", path)).json()["workspace"]["checkpointStorageConfig"]
    assert (shown["access_key"], shown["secret_key"]) == ("********", "********")
    answer = await admin("PATCH", path, {"checkpointStorageConfig": {**shown, "bucket": "c"}})
    assert answer.status == 200, answer.body
    async with world.services[Workspaces]._db.acquire() as conn:
        query = "SELECT checkpoint_storage FROM workspaces WHERE id = $1"
        stored = await conn.fetchval(query, number)
    assert stored == {**storage, "bucket": "c", "type": "s3"}


async def test_a_workspace_s_group_can_be_set_without_a_user(admin: Client) -> None:
    group = {"agentGid": 1000, "agentGroup": "staff"}
    path = f"/api/v1/workspaces/{await workspace(admin, agentUserGroup=group)}"
    shown = (await admin("GET", path)).json()["workspace"]["agentUserGroup"]
    assert {name: value for name, value in shown.items() if value} == group


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"name": " "}, "non-whitespace"),
        ({"name": "x" * 81}, "80"),
        ({"checkpointStorageConfig": {"type": "tape"}}, "tape"),
        ({"checkpointStorageConfig": {"type": "s3"}}, "bucket"),
        ({"agentUserGroup": {"agentUid": 1}}, "missing: agent_user"),
        ({"defaultComputePool": "nosuch"}, "available: default"),
    ],
)
async def test_invalid_workspaces_are_refused(
    admin: Client, body: dict[str, Any], text: str
) -> None:
    answer = await admin("POST", "/api/v1/workspaces", {"name": "w", **body})
    assert answer.status == 400, answer.body
    assert text in answer.json()["error"]["error"]


async def test_only_an_admin_says_as_which_user_the_tasks_of_a_workspace_run(
    admin: Client, user: Client
) -> None:
    """An admin links users to users of the agents' machines: theirs is not to be chosen over."""
    root = {"agentUid": 0, "agentGid": 0, "agentUser": "root", "agentGroup": "root"}
    refused = await user("POST", "/api/v1/workspaces", {"name": "r", "agentUserGroup": root})
    assert (refused.status, refused.text.partition(":")[0][:15]) == (403, "only admins may")
    path = f"/api/v1/workspaces/{await workspace(user, agentUserGroup={})}"
    assert (await user("PATCH", path, {"agentUserGroup": root})).status == 403
    assert "agentUserGroup" not in (await user("GET", path)).json()["workspace"]
    assert (await admin("PATCH", path, {"agentUserGroup": root})).status == 200
    same = {"name": "own", "agentUserGroup": root}
    assert (await user("PATCH", path, same)).json()["workspace"]["name"] == "own"
    assert (await user("PATCH", path, {"agentUserGroup": {}})).status == 403


async def test_names_are_taken_whatever_their_case(admin: Client) -> None:
    number = await workspace(admin, "Vision")
    await project(admin, number, "Cats")
    assert (await admin("POST", "/api/v1/workspaces", {"name": "vision"})).status == 409
    path = f"/api/v1/workspaces/{number}/projects"
    assert (await admin("POST", path, {"name": "cats"})).status == 409


async def test_pins_are_everybodys_own(admin: Client, user: Client) -> None:
    number = await workspace(admin)
    assert await pinned(admin) == [number]
    assert await pinned(user) == []
    for _ in range(2):
        assert (await user("POST", f"/api/v1/workspaces/{number}/pin")).status == 200
    await admin("POST", f"/api/v1/workspaces/{number}/unpin")
    assert (await pinned(admin), await pinned(user)) == ([], [number])


async def pinned(client: Client) -> list[int]:
    answer = await client("GET", "/api/v1/workspaces?pinned=true")
    return [w["id"] for w in answer.json()["workspaces"]]


async def test_only_owners_and_admins_change_workspaces_and_projects(
    admin: Client, user: Client
) -> None:
    number = await workspace(admin)
    theirs = await project(admin, number)
    for method, path, body in (
        ("PATCH", f"/api/v1/workspaces/{number}", {"name": "x"}),
        ("POST", f"/api/v1/workspaces/{number}/archive", None),
        ("DELETE", f"/api/v1/workspaces/{number}", None),
        ("PATCH", f"/api/v1/projects/{theirs}", {"name": "x"}),
        ("POST", f"/api/v1/projects/{theirs}/archive", None),
        ("DELETE", f"/api/v1/projects/{theirs}", None),
    ):
        assert (await user(method, path, body)).status == 403, path
    own = await project(user, await workspace(user, "own"))
    answer = await user("PATCH", f"/api/v1/projects/{own}", {"name": "x", "key": "xy"})
    assert (answer.json()["project"]["name"], answer.json()["project"]["key"]) == ("x", "XY")


async def test_the_first_workspace_and_project_stay_as_they_are(admin: Client) -> None:
    for method, path, body in (
        ("PATCH", "/api/v1/workspaces/1", {"name": "x"}),
        ("POST", "/api/v1/workspaces/1/archive", None),
        ("DELETE", "/api/v1/workspaces/1", None),
        ("POST", "/api/v1/workspaces/1/projects", {"name": "x"}),
        ("DELETE", "/api/v1/projects/1", None),
        ("POST", "/api/v1/projects/1/archive", None),
    ):
        answer = await admin(method, path, body)
        assert answer.status == 400, path
        assert "immutable" in answer.json()["error"]["error"]


async def test_the_first_workspace_refuses_a_name_before_it_asks_for_rights(user: Client) -> None:
    """Scripts of 0.38.1 look for these."""
    at = "/api/v1/workspaces/1"
    renamed = await user("PATCH", at, {"name": "x"})
    assert (renamed.status, "immutable" in renamed.text) == (400, True), renamed.text
    for method, path, body in (
        ("PATCH", at, {"defaultComputePool": "default"}),
        ("POST", f"{at}/archive", None),
        ("POST", f"{at}/unarchive", None),
        ("DELETE", at, None),
    ):
        refused = await user(method, path, body)
        assert (refused.status, "only admins may" in refused.text) == (403, True), refused.text


async def test_a_moved_experiment_is_listed_where_it_went_with_its_runs(world: World) -> None:
    admin = world.clients["admin"]
    there = await project(admin, await workspace(admin))
    await scene.ended(world)
    number = int(world.names["experiment_id"])
    body = {"experimentIds": [number, 99], "destinationProjectId": there}
    answer = await admin("POST", "/api/v1/projects/1/experiments/move", body)
    assert [(r["id"], bool(r["error"])) for r in answer.json()["results"]] == [
        (99, True),
        (number, False),
    ]
    assert await ids_in(admin, there) == [number]
    assert await ids_in(admin, 1) == []
    runs = await admin("POST", "/api/v1/runs", {"projectId": there, "limit": 5})
    assert [r["experiment"]["id"] for r in runs.json()["runs"]] == [number]
    moved = (await admin("GET", f"/api/v1/experiments/{number}")).json()["experiment"]
    assert (moved["projectName"], moved["workspaceName"]) == ("p", "w")


async def ids_in(client: Client, project_id: int) -> list[int]:
    answer = await client("GET", f"/api/v1/experiments?projectId={project_id}")
    return [e["id"] for e in answer.json()["experiments"]]


async def test_a_moved_project_takes_its_experiments_along(admin: Client) -> None:
    there = await project(admin, await workspace(admin, "from"))
    made = await experiment(admin, projectId=there)
    target = await workspace(admin, "to")
    body = {"destinationWorkspaceId": target}
    assert (await admin("POST", f"/api/v1/projects/{there}/move", body)).status == 200
    moved = (await admin("GET", f"/api/v1/experiments/{made['id']}")).json()["experiment"]
    assert (moved["workspaceId"], moved["workspaceName"]) == (target, "to")


async def test_a_project_goes_once_its_experiments_are_gone(admin: Client) -> None:
    workspace_id = await workspace(admin)
    there = await project(admin, workspace_id)
    made = await experiment(admin, projectId=there)
    refused = await admin("DELETE", f"/api/v1/projects/{there}")
    assert refused.status == 400
    assert f"not over ({made['id']})" in refused.json()["error"]["error"]
    await over(admin, made["id"])
    answer = await admin("DELETE", f"/api/v1/workspaces/{workspace_id}")
    assert answer.json() == {"completed": False}
    shown = (await admin("GET", f"/api/v1/projects/{there}")).json()
    assert "project" not in shown or shown["project"]["state"] == "WORKSPACE_STATE_DELETING"
    await scene.until_true(
        lambda: admin("GET", f"/api/v1/workspaces/{workspace_id}"),
        lambda got: got.status == 404,
        [],
    )
    for path in (f"/api/v1/projects/{there}", f"/api/v1/experiments/{made['id']}"):
        assert (await admin("GET", path)).status == 404


async def test_a_deleted_workspace_kills_what_has_not_ended(world: World) -> None:
    admin = world.clients["admin"]
    workspace_id = await workspace(admin)
    there = await project(admin, workspace_id)
    paused = await experiment(admin, projectId=there)
    queued = await experiment(admin, projectId=there, activate=True)
    detached = await experiment(admin, projectId=there, unmanaged=True)
    answer = await admin("DELETE", f"/api/v1/workspaces/{workspace_id}")
    assert (answer.status, answer.json()) == (200, {"completed": False})
    for made in (paused, queued, detached):

        def is_leaving(got: Answer) -> bool:
            return got.status == 404 or got.json()["experiment"]["state"] == "STATE_DELETING"

        at = f"/api/v1/experiments/{made['id']}"
        await scene.until_true(lambda at=at: admin("GET", at), is_leaving, [])


async def test_the_deletion_of_a_workspace_that_a_master_left_half_done_kills(
    world: World,
) -> None:
    admin = world.clients["admin"]
    workspace_id = await workspace(admin)
    made = await experiment(admin, projectId=await project(admin, workspace_id))
    async with world.services[Projects]._db.acquire() as conn:
        for table, column in (("projects", "workspace_id"), ("workspaces", "id")):
            query = f"UPDATE {table} SET state = 'DELETING' WHERE {column} = $1"
            await conn.execute(query, workspace_id)
    await world.services[Projects]._deletions.settle()
    world.services[Projects]._deletions._news.set()
    await scene.until_true(
        lambda: admin("GET", f"/api/v1/workspaces/{workspace_id}"),
        lambda got: got.status == 404,
        [],
    )
    assert (await admin("GET", f"/api/v1/experiments/{made['id']}")).status == 404


async def test_an_empty_project_goes_at_once(admin: Client) -> None:
    there = await project(admin, await workspace(admin))
    assert (await admin("DELETE", f"/api/v1/projects/{there}")).json() == {"completed": True}
    assert (await admin("GET", f"/api/v1/projects/{there}")).status == 404


async def test_notes_are_added_and_replaced(admin: Client) -> None:
    path = f"/api/v1/projects/{await project(admin, await workspace(admin))}/notes"
    await admin("POST", path, {"name": "a", "contents": "1"})
    answer = await admin("POST", path, {"name": "b", "contents": "2"})
    assert [n["name"] for n in answer.json()["notes"]] == ["a", "b"]
    assert (await admin("POST", path, {"note": {"name": "b"}})).status == 400
    answer = await admin("PUT", path, {"notes": []})
    assert answer.json() == {"notes": []}


async def test_a_deletion_that_a_master_left_half_done_continues(world: World) -> None:
    admin = world.clients["admin"]
    there = await project(admin, await workspace(admin))
    made = await experiment(admin, projectId=there)
    await over(admin, made["id"])
    async with world.services[Projects]._db.acquire() as conn:
        await conn.execute("UPDATE projects SET state = 'DELETING' WHERE id = $1", there)
    await world.services[Projects]._deletions.settle()
    await scene.until_true(
        lambda: admin("GET", f"/api/v1/experiments/{made['id']}"),
        lambda got: got.status == 404,
        [],
    )
    assert await world.services[Projects]._deletions.settle() is False
    assert (await admin("GET", f"/api/v1/projects/{there}")).status == 404


async def test_a_project_whose_experiments_cannot_be_deleted_says_so(world: World) -> None:
    admin = world.clients["admin"]
    workspace_id = await workspace(admin)
    there = await project(admin, workspace_id)
    made = await experiment(admin, projectId=there)
    async with world.services[Projects]._db.acquire() as conn:
        await conn.execute("UPDATE projects SET state = 'DELETING' WHERE id = $1", there)
        await conn.execute("UPDATE workspaces SET state = 'DELETING' WHERE id = $1", workspace_id)
        query = "UPDATE experiments SET state = 'DELETE_FAILED' WHERE id = $1"
        await conn.execute(query, made["id"])
    assert await world.services[Projects]._deletions.settle() is False
    shown = (await admin("GET", f"/api/v1/projects/{there}")).json()["project"]
    assert shown["state"] == "WORKSPACE_STATE_DELETE_FAILED"
    assert str(made["id"]) in shown["errorMessage"]
    shown = (await admin("GET", f"/api/v1/workspaces/{workspace_id}")).json()["workspace"]
    assert shown["state"] == "WORKSPACE_STATE_DELETE_FAILED"


async def test_tasks_run_as_the_workspaces_agent_user_over_their_owners(world: World) -> None:
    admin = world.clients["admin"]
    group = {"agentUid": 7, "agentGid": 8, "agentUser": "w", "agentGroup": "g"}
    there = await project(admin, await workspace(admin, agentUserGroup=group))
    made = await experiment(admin, projectId=there)
    async with world.services[Projects]._db.acquire() as conn:
        link = "UPDATE users SET agent_uid = 1, agent_gid = 1, agent_user = 'u', agent_group = 'u'"
        await conn.execute(link)
        found = [
            await find_agent_user(conn, made["userId"], workspace_id)
            for workspace_id in (made["workspaceId"], 1)
        ]
        await conn.execute("UPDATE users SET agent_uid = NULL, agent_user = NULL")
        assert "uid" not in await find_agent_user(conn, made["userId"], 1)
    assert found == [
        {"user": "w", "uid": 7, "group": "g", "gid": 8},
        {"user": "u", "uid": 1, "group": "u", "gid": 1},
    ]

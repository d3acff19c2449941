"""Views, boards and short links of the web UI."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import EDITOR, VIEWER, give, hidden_world, ok
from tests.store.rows import add_project

from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, Database

STATE = {"columns": ["id", "hp.lr"], "sort": [{"column": "id", "down": True}], "n": 1.5}


async def add_view(client: Client, project: int = 1, **changes: Any) -> dict[str, Any]:
    body = {"name": "best", "scope": "private", "state": STATE, **changes}
    made: dict[str, Any] = await ok(client, "POST", f"/api/ui/v1/projects/{project}/views", body)
    return dict(made["view"])


async def names(client: Client, project: int = 1, what: str = "views") -> list[str]:
    found = await ok(client, "GET", f"/api/ui/v1/projects/{project}/{what}")
    return [one["name"] for one in found[what]]


async def test_a_view_is_stored_and_shown_as_it_was_given(admin: Client) -> None:
    made = await add_view(admin, scope="project", isDefault=True)
    assert (made["state"], made["version"], made["canEdit"]) == (STATE, 1, True)
    assert (made["ownerName"], made["isDefault"], made["workspaceId"]) == ("admin", True, 1)
    found = await ok(admin, "GET", "/api/ui/v1/projects/1/views")
    assert found["views"] == [made]


async def test_private_views_are_seen_and_changed_by_their_owner_alone(
    admin: Client, user: Client
) -> None:
    made = await add_view(user)
    assert await names(user) == ["best"]
    assert await names(admin) == []
    for method, body in (("PATCH", {"version": 1, "name": "x"}), ("DELETE", None)):
        answer = await admin(method, f"/api/ui/v1/views/{made['id']}", body)
        assert (answer.status, f"view '{made['id']}' not found" in answer.text) == (404, True)


async def test_views_of_a_workspace_are_shown_in_all_of_its_projects(
    admin: Client, user: Client
) -> None:
    place = (await ok(admin, "POST", "/api/v1/workspaces", {"name": "w"}))["workspace"]["id"]
    path = f"/api/v1/workspaces/{place}/projects"
    here, other = [
        (await ok(admin, "POST", path, {"name": name}))["project"]["id"] for name in ("a", "b")
    ]
    await add_view(admin, here, name="everywhere", scope="workspace")
    await add_view(admin, here, name="here", scope="project")
    assert await names(user, here) == ["everywhere", "here"]
    assert await names(user) == []
    assert await names(user, other) == ["everywhere"]


async def test_a_change_of_an_old_version_is_refused(admin: Client) -> None:
    path = f"/api/ui/v1/views/{(await add_view(admin))['id']}"
    changed = (await ok(admin, "PATCH", path, {"version": 1, "name": "worst"}))["view"]
    assert (changed["name"], changed["version"], changed["state"]) == ("worst", 2, STATE)
    answer = await admin("PATCH", path, {"version": 1, "state": {}})
    assert (answer.status, "has version 2" in answer.text) == (409, True)
    changed = (await ok(admin, "PATCH", path, {"version": 2, "state": {}}))["view"]
    assert (changed["name"], changed["state"]) == ("worst", {})


async def test_of_two_changes_at_once_one_is_refused(admin: Client) -> None:
    path = f"/api/ui/v1/views/{(await add_view(admin))['id']}"
    answers = await asyncio.gather(
        *(admin("PATCH", path, {"version": 1, "name": f"n{n}"}) for n in range(4))
    )
    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409]


async def test_there_is_one_default_for_each_user_and_one_that_is_shared(
    admin: Client, user: Client
) -> None:
    for client, name, scope in (
        (admin, "a1", "private"),
        (admin, "a2", "private"),
        (user, "u1", "private"),
        (admin, "p1", "project"),
        (admin, "p2", "project"),
        (admin, "w1", "workspace"),
    ):
        await add_view(client, name=name, scope=scope, isDefault=True)
    found = (await ok(admin, "GET", "/api/ui/v1/projects/1/views"))["views"]
    assert [v["name"] for v in found if v["isDefault"]] == ["a2", "p2", "w1"]
    path = f"/api/ui/v1/views/{found[0]['id']}"
    await ok(admin, "PATCH", path, {"version": 1, "isDefault": True})
    found = (await ok(admin, "GET", "/api/ui/v1/projects/1/views"))["views"]
    assert [v["name"] for v in found if v["isDefault"]] == ["a1", "p2", "w1"]
    assert (await ok(user, "GET", "/api/ui/v1/projects/1/views"))["views"][2]["isDefault"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": ""}, "name has 0 characters"),
        ({"name": "  "}, "not only spaces"),
        ({"name": "x" * 201}, "name has 201 characters"),
        ({"scope": "all"}, "scope is 'all': it must be one of private, project, workspace"),
        ({"state": {"x": "y" * 65_536}}, "state has 65544 bytes"),
    ],
)
async def test_values_are_checked(admin: Client, changes: dict[str, Any], text: str) -> None:
    body = {"name": "best", "scope": "private", "state": STATE, **changes}
    answer = await admin("POST", "/api/ui/v1/projects/1/views", body)
    assert (answer.status, text in answer.text) == (400, True), answer.text


async def test_a_project_that_does_not_exist_has_no_views(admin: Client) -> None:
    answer = await admin("GET", "/api/ui/v1/projects/99/views")
    assert (answer.status, "project '99' not found" in answer.text) == (404, True)


async def test_a_user_has_at_most_200_views_in_a_project(user: Client, pool: Database) -> None:
    await pool.execute(
        "INSERT INTO ui_pages (kind, project_id, owner_id, scope, name, body, created_at, "
        "updated_at) SELECT 'view', 1, 2, 'private', 'n' || n, '{}', now(), now() "
        "FROM generate_series(1, 200) n"
    )
    body = {"name": "more", "scope": "private"}
    answer = await user("POST", "/api/ui/v1/projects/1/views", body)
    assert (answer.status, "at most 200 views" in answer.text) == (429, True)
    await ok(user, "POST", "/api/ui/v1/projects/1/boards", body)


@pytest.mark.slow
async def test_with_roles_shared_views_need_the_right_to_edit_the_project(
    postgres: Address, passwords: Passwords
) -> None:
    async with hidden_world(postgres, passwords) as world:
        admin, user = world.clients["admin"], world.clients["user"]
        project, workspace = int(world.names["project"]), int(world.names["workspace"])
        path = f"/api/ui/v1/projects/{project}/views"
        shared = await add_view(admin, project, name="shared", scope="project")
        assert (await user("GET", path)).status == 404
        change = ("PATCH", f"/api/ui/v1/views/{shared['id']}", {"version": 1, "name": "mine"})
        assert (await user(*change)).status == 404
        await give(world, VIEWER, workspace)
        found = (await ok(user, "GET", path))["views"]
        assert [one["canEdit"] for one in found if one["name"] == "shared"] == [False]
        assert (await user(*change)).status == 403
        assert (await user("POST", path, {"name": "x", "scope": "project"})).status == 403
        own = await add_view(user, project)
        share = {"version": 1, "scope": "project"}
        assert (await user("PATCH", f"/api/ui/v1/views/{own['id']}", share)).status == 403
        await give(world, EDITOR, workspace)
        assert (await user(*change)).status == 200
        hide = {"version": 2, "scope": "private"}
        answer = await user("PATCH", f"/api/ui/v1/views/{shared['id']}", hide)
        assert (answer.status, "only the owner" in answer.text) == (403, True)


async def test_a_board_has_text_and_panels_and_versions(admin: Client, user: Client) -> None:
    body = {"name": "weekly", "scope": "project", "text": "# <b>Hi</b>", "panels": [{"a": 1}, 2]}
    made = (await ok(admin, "POST", "/api/ui/v1/projects/1/boards", body))["board"]
    (listed,) = (await ok(user, "GET", "/api/ui/v1/projects/1/boards"))["boards"]
    assert (listed["name"], listed["text"], listed["panels"]) == ("weekly", "", [])
    path = f"/api/ui/v1/boards/{made['id']}"
    shown = (await ok(user, "GET", path))["board"]
    assert (shown["text"], shown["panels"]) == ("# <b>Hi</b>", [{"a": 1}, 2])
    changed = (await ok(admin, "PATCH", path, {"version": 1, "panels": []}))["board"]
    assert (changed["text"], changed["panels"], changed["version"]) == ("# <b>Hi</b>", [], 2)
    assert (await admin("PATCH", path, {"version": 1, "text": ""})).status == 409
    assert (await admin("GET", f"/api/ui/v1/boards/{made['id'] + 1}")).status == 404
    await ok(admin, "DELETE", path)
    assert (await admin("GET", path)).status == 404


async def test_boards_of_all_projects_are_listed_with_their_places(
    admin: Client, user: Client
) -> None:
    place = (await ok(admin, "POST", "/api/v1/workspaces", {"name": "lab"}))["workspace"]["id"]
    path = f"/api/v1/workspaces/{place}/projects"
    project = (await ok(admin, "POST", path, {"name": "vision"}))["project"]["id"]
    for where, name, scope in (
        (project, "weekly", "project"),
        (1, "all", "project"),
        (1, "own", "private"),
    ):
        body = {"name": name, "scope": scope, "text": "# Text"}
        await ok(admin, "POST", f"/api/ui/v1/projects/{where}/boards", body)
    found = (await ok(user, "GET", "/api/ui/v1/boards"))["boards"]
    shown = [(b["name"], b["projectName"], b["workspaceName"], b["text"]) for b in found]
    assert shown == [
        ("all", "Uncategorized", "Uncategorized", ""),
        ("weekly", "vision", "lab", ""),
    ]
    assert len((await ok(admin, "GET", "/api/ui/v1/boards"))["boards"]) == 3


@pytest.mark.slow
async def test_with_roles_boards_of_hidden_projects_are_not_listed(
    postgres: Address, passwords: Passwords
) -> None:
    async with hidden_world(postgres, passwords) as world:
        admin, user = world.clients["admin"], world.clients["user"]
        project, workspace = int(world.names["project"]), int(world.names["workspace"])
        body = {"name": "weekly", "scope": "project"}
        await ok(admin, "POST", f"/api/ui/v1/projects/{project}/boards", body)
        assert (await ok(user, "GET", "/api/ui/v1/boards"))["boards"] == []
        await give(world, VIEWER, workspace)
        assert [b["name"] for b in (await ok(user, "GET", "/api/ui/v1/boards"))["boards"]] == [
            "weekly"
        ]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"scope": "workspace"}, "it must be one of private, project"),
        ({"text": "x" * 262_145}, "text has 262145 bytes"),
        ({"panels": [{"a": "x" * 262_138}]}, "panels has 262148 bytes"),
    ],
)
async def test_boards_are_bounded(admin: Client, changes: dict[str, Any], text: str) -> None:
    body = {"name": "weekly", "scope": "private", **changes}
    answer = await admin("POST", "/api/ui/v1/projects/1/boards", body)
    assert (answer.status, text in answer.text) == (400, True)


async def test_pages_end_with_their_project(admin: Client, pool: Database) -> None:
    project = await add_project(pool, "ONE")
    await add_view(admin, project)
    await pool.execute("DELETE FROM projects WHERE id = $1", project)
    assert await pool.fetchval("SELECT count(*) FROM ui_pages") == 0


async def test_a_link_keeps_a_state_and_has_one_id_for_each(admin: Client, user: Client) -> None:
    made = await ok(admin, "POST", "/api/ui/v1/links", {"state": STATE})
    again = await ok(admin, "POST", "/api/ui/v1/links", {"state": STATE})
    others = await ok(user, "POST", "/api/ui/v1/links", {"state": STATE})
    assert made["id"] == again["id"] != others["id"]
    assert (await ok(user, "GET", f"/api/ui/v1/links/{made['id']}"))["state"] == STATE
    assert (await admin("GET", "/api/ui/v1/links/nothing")).status == 404
    answer = await admin("POST", "/api/ui/v1/links", {"state": {"x": "y" * 65_536}})
    assert (answer.status, "state has 65544 bytes" in answer.text) == (400, True)


async def test_links_expire_and_a_user_keeps_the_newest_2000(user: Client, pool: Database) -> None:
    await pool.execute(
        "INSERT INTO ui_links (id, owner_id, digest, state, created_at) "
        "SELECT 'old' || n, 2, n::text::bytea, '{}', now() - n * interval '1 hour' "
        "FROM generate_series(1, 2000) n"
    )
    assert (await user("GET", "/api/ui/v1/links/old2000")).status == 200
    await ok(user, "POST", "/api/ui/v1/links", {"state": STATE})
    assert (await user("GET", "/api/ui/v1/links/old2000")).status == 404
    await pool.execute("UPDATE ui_links SET created_at = now() - interval '366 days'")
    assert (await user("GET", "/api/ui/v1/links/old1")).status == 404
    await ok(user, "POST", "/api/ui/v1/links", {"state": {}})
    assert await pool.fetchval("SELECT count(*) FROM ui_links") == 1
